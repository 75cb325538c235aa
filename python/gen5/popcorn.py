"""gen5 popcorn FOLDER: judges a submission to a GPU MODE problem on the machine model, without a GPU.

FOLDER has a task.yml and the files that it lists: reference.py, task.py, submission.py. The tests run in full. Each benchmark is one run in
which only the machine's clock runs, with an empty L2. eval.py is not needed: this program calls reference.py and submission.py as it
does."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import typing

from gen5 import _library


class Wrong(Exception):
    """A sentence for the user."""


# ---- The problem

@dataclasses.dataclass
class Problem:
    folder: pathlib.Path
    files: dict[str, str]  # by their name for the submission: where they are, or @SUBMISSION@
    tests: list[dict]
    benchmarks: list[dict]
    ranking: str
    light: list[dict]  # speed of light, as the description tells it: {"m": 128, …, "us": 8.994}


def read_problem(folder: pathlib.Path) -> Problem:
    try:
        import yaml
    except ImportError:
        raise Wrong("reading task.yml needs PyYAML: pip install pyyaml") from None
    file = folder / "task.yml"
    if not file.is_file():
        raise Wrong(f"{folder}: there is no task.yml in it")
    try:
        task = yaml.safe_load(file.read_text())
        if not isinstance(task, dict):
            raise ValueError("it is no list of keys and values")
        files = {f["name"]: f["source"] for f in task["files"]}
        tests, benchmarks = list(task.get("tests") or []), list(task.get("benchmarks") or [])
        if not all(isinstance(case, dict) for case in (*tests, *benchmarks)):
            raise ValueError("a test or benchmark is not a set of keys and values")
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as e:
        raise Wrong(f"{file}: {' '.join(str(e).split())}: write it as GPU MODE's reference-kernels have it") from None
    if task.get("lang", "py") != "py":
        raise Wrong(f"{file}: lang: {task['lang']}: gen5 popcorn runs submissions in Python (lang: py)")
    if "reference.py" not in files:
        raise Wrong(f"{file}: no reference.py among its files")
    return Problem(folder, files, tests, benchmarks, str(task.get("ranking_by", "last")), read_light(str(task.get("description", ""))))


def read_light(description: str) -> list[dict]:
    """Reads the rows below a line such as `M N K L time[us]`."""
    rows: list[dict] = []
    names: list[str] = []
    for line in description.splitlines():
        words = re.findall(r"\[[^\]]*\]|[^\s\[]+(?:\[[^\]]*\])?", line.strip())
        if words and re.fullmatch(r"time\s*\[us\]", words[-1]):
            names = [w.lower().removesuffix("_values") for w in words[:-1]] + ["us"]
        elif names and len(words) == len(names):
            try:
                rows.append(dict(zip(names, (json.loads(w) for w in words))))
            except ValueError:
                names = []
        elif names and words:
            names = []
    return rows


def light_of(case: dict, rows: list[dict]) -> float | None:
    """Returns the row that has the benchmark's numbers."""
    for row in rows:
        told = {k: v for k, v in row.items() if k != "us"}
        if all(case.get(k, 1) == v for k, v in told.items()):
            return row["us"]
    return None


def set_up(problem: Problem, submission: pathlib.Path, to: pathlib.Path) -> None:
    for name, source in problem.files.items():
        place = submission if source == "@SUBMISSION@" else problem.folder / source
        if name == "eval.py" and not place.exists():
            continue
        if not place.is_file():
            raise Wrong(f"{place}: there is no such file ({'the submission' if source == '@SUBMISSION@' else f'task.yml names it as {name}'})")
        shutil.copyfile(place, to / name)


# ---- Cases, in a process that is started anew where one dies or takes too long

class Worker:
    def __init__(self, folder: pathlib.Path, settings: dict, environment: dict[str, str]):
        self.command = [sys.executable, "-m", "gen5._popcorn_worker", str(folder), json.dumps(settings)]
        package = str(_library.PACKAGE.parent)
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
        self.environment = {k: v for k, v in os.environ.items() if k != "GEN5_MACHINE"} | environment | {"PYTHONPATH": path}
        self.process: subprocess.Popen | None = None

    def run(self, kind: str, case: dict, seconds: float) -> dict:
        if self.process is None:
            ours, theirs = os.pipe()
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, pass_fds=[theirs], env=self.environment | {"GEN5_POPCORN_FD": str(theirs)})
            os.close(theirs)
            self.answers = ours
        assert self.process.stdin
        deadline, said = time.monotonic() + seconds, b""
        try:
            self.process.stdin.write(json.dumps([kind, case]).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.close(kill=True)
                return {"error": f"it took longer than {seconds:g} s (--seconds)"}
            part = os.read(self.answers, 1 << 16)
            if not part:
                code = self.close()
                return {"error": f"its process ended with {code}"}
            said += part
        return json.loads(said)

    def close(self, kill: bool = False) -> int:
        if self.process is None:
            return 0
        if kill:
            self.process.kill()
        assert self.process.stdin
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        code = self.process.wait()
        os.close(self.answers)
        self.process = None
        return code


@dataclasses.dataclass
class Result:
    submission: str
    tests: list[dict] = dataclasses.field(default_factory=list)
    benchmarks: list[dict] = dataclasses.field(default_factory=list)

    def passed(self) -> bool:
        return all("error" not in r for r in (*self.tests, *self.benchmarks))

    def score(self, ranking: str) -> float | None:
        """The time in µs by which the problem ranks."""
        times = [b["us"] for b in self.benchmarks if "us" in b]
        if not times or not self.passed():
            return None
        if ranking == "geom":
            return math.exp(sum(map(math.log, times)) / len(times))
        return sum(times) / len(times) if ranking == "mean" else times[-1]


def spec(case: dict) -> str:
    return " ".join(f"{k} {v}" for k, v in case.items() if k != "seed")


def _say(*words: object) -> None:
    print(*words, flush=True)


def _shortened(text: str, most: int = 240) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most - 1] + "…"


def judge(problem: Problem, submission: pathlib.Path, options: argparse.Namespace) -> Result:
    result = Result(submission.name)
    settings = {"machine": options.machine, "order": options.order, "check": options.check}
    with tempfile.TemporaryDirectory(prefix="gen5-popcorn-") as name:
        folder = pathlib.Path(name)
        set_up(problem, submission, folder)
        if tests := problem.tests[:options.tests]:
            _say(f"tests, {options.order}")
            worker = Worker(folder, settings | {"timing_only": False}, {})
            for case in tests:
                said = worker.run("test", case, options.seconds)
                result.tests.append(said)
                _say(f"  {'fail' if 'error' in said else 'pass'}  {spec(case)}" + (f": {_shortened(said['error'])}" if "error" in said else ""))
            worker.close()
        if cases := problem.benchmarks[:options.benchmarks]:
            _say(f"{'benchmarks':<44} {'µs':>10} {'cycles':>12} {'light µs':>9} {'share':>6}  limited by")
            environment = {"GEN5_REPORT": str(pathlib.Path(options.report).resolve())} if options.report else {}
            worker = Worker(folder, settings | {"timing_only": not options.report, "order": "timed", "profile": options.profile}, environment)
            for case in cases:
                said = worker.run("benchmark", case, options.seconds)
                if "error" not in said:
                    told = light_of(case, problem.light)
                    light, mark = (told, "*") if told else (said["floor_us"], " ")
                    said["light_us"] = light
                    _say(f"  {_shortened(spec(case), 42):<42} {said['us']:>10.2f} {said['cycles']:>12,} {light:>8.2f}{mark} {light / said['us']:>6.0%}  "
                         f"{said['limiter']} ({said['busy']:.0%}){_note(said)}")
                else:
                    _say(f"  {_shortened(spec(case), 42):<42} fail: {_shortened(said['error'])}")
                result.benchmarks.append(said)
            worker.close()
            if any(light_of(c, problem.light) for c in cases):
                _say("  * the problem's own figure; otherwise the tensors' bytes through device memory once, or this kernel's MMAs back to back")
            score = result.score(problem.ranking)
            if score is not None:
                _say(f"  {'ranked by ' + {'geom': 'the geometric mean', 'mean': 'the mean'}.get(problem.ranking, 'the last one'):<42} {score:>10.2f}")
            if options.report and pathlib.Path(options.report).exists():
                _say(f"report: {options.report}")
    found: dict[str, int] = {}
    for r in (*result.tests, *result.benchmarks):
        for text in r.get("diagnoses", ()):
            found[text] = found.get(text, 0) + 1
    for text, times in found.items():
        _say(f"{text.rstrip()}\n   (in {times} of {len(result.tests) + len(result.benchmarks)} cases)")
    return result


def _note(said: dict) -> str:
    notes = []
    if said["in_full"]:
        notes.append("in full: its branches depend on data")
    if operators := said["operators"]:
        notes.append(f"{operators} of torch's own operators take none of this time")
    return f"; {'; '.join(notes)}" if notes else ""


# ---- The command

def _count(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: write all, or how many")
    return int(text)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="gen5 popcorn", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("folder", type=pathlib.Path, help="the problem's folder, with task.yml")
    made.add_argument("submissions", nargs="*", type=pathlib.Path, metavar="submission.py", help="default: submission.py in the folder")
    made.add_argument("--leaderboard", action="store_true", help="compare several submissions by their predicted time")
    made.add_argument("--machine", default=os.environ.get("GEN5_MACHINE") or "b200", metavar="NAME|FILE")
    made.add_argument("--tests", type=_count, default=None, metavar="all|N", help="only the first N of the tests")
    made.add_argument("--benchmarks", type=_count, default=None, metavar="all|N", help="only the first N of the benchmarks")
    made.add_argument("--order", choices=["timed", "late", "seeded"], default="timed", help="when asynchronous effects land in tests; late shows missing waits")
    made.add_argument("--check", choices=["quick", "races"], default="quick", help="which checks run in tests")
    made.add_argument("--seconds", type=float, default=300, metavar="N", help="how long a test or a benchmark may take here (default: 300)")
    made.add_argument("--profile", action="store_true", help="print where each benchmark's time went")
    made.add_argument("--report", metavar="FILE", help="write a page about the benchmarks for a browser; the benchmarks then run in full")
    return made


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    submissions = options.submissions or [options.folder / "submission.py"]
    try:
        problem = read_problem(options.folder)
        if len(submissions) > 1 and not options.leaderboard:
            raise Wrong(f"{len(submissions)} submissions: --leaderboard compares several")
        for s in submissions:
            if not s.is_file():
                raise Wrong(f"{s}: there is no such submission")
        try:
            _library.machine(options.machine)
        except ValueError as e:
            raise Wrong(str(e)) from None
        results = []
        for s in submissions:
            _say(f"{options.folder.resolve().name}: {s.name} on {options.machine}")
            results.append(judge(problem, s, options))
    except Wrong as e:
        print(f"gen5 popcorn: {e}", file=sys.stderr)
        return 2
    if options.leaderboard:
        scores = [(r.score(problem.ranking), r) for r in results]
        _say("leaderboard")
        for i, (score, r) in enumerate(sorted(((s, r) for s, r in scores if s is not None), key=lambda x: x[0]), 1):
            _say(f"  {i}. {r.submission:<40} {score:>10.2f} µs")
        for _, r in ((s, r) for s, r in scores if s is None):
            _say(f"  –  {r.submission:<40} {'not ranked: it fails' if not r.passed() else 'not ranked: no benchmark ran'}")
    return 0 if all(r.passed() for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
