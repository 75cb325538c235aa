#!/usr/bin/env python3
"""Runs CUTLASS's own unit tests for sm_90 and sm_100, a seeded fifth of their files and small ones beside, on tinygpu. cutlass_build.py compiles them.

  cutlass_tests.py [WORD…]      those files whose path contains one of these words (default: all), each on its machine; exit 1 where a case is wrong,
                                77 where nothing is built
  cutlass_tests.py --chip       the same programs on the GPU that is there instead, for those files that are for it
  cutlass_tests.py --keep       puts what these runs said into cutlass_said.json, which makes the note's table
  cutlass_tests.py --table      that table; --write-note renews it in notes/reference/cutlass_tests.md, --check-note looks whether it is there
  cutlass_tests.py --check-results  whether the runs said what cutlass_said.json says; exit 77 where none has run

A test compares with a reference that it computes on the host; cutlass_faults.txt names the cases that end by a fault of their own. Each case is a process,
small tiles first. --seconds is the limit of a case, --for that of all; --continue runs what has not run."""

import argparse
import collections
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import cutlass_build as build
import fetch
import kept

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GEN5 = os.environ.get("GEN5", str(ROOT / "build/default/bin/gen5"))
RESULTS = pathlib.Path(GEN5).resolve().parent.parent / "cutlass_results"
NOTE = ROOT / "notes/reference/cutlass_tests.md"
SAID = pathlib.Path(__file__).resolve().parent / "cutlass_said.json"
FAULTS = pathlib.Path(__file__).resolve().parent / "cutlass_faults.txt"
VERDICTS = {"right": "right", "fault": "own fault", "wrong": "wrong", "refused": "refused", "slow": "slow"}  # and what the table calls them
OTHERS = ("fault", "wrong", "refused")  # listed below the table
ENDS = re.compile(r"^\[\s+(OK|FAILED|SKIPPED)\s+\] ([^\s,]+)", re.MULTILINE)
REFUSED = re.compile(r"error\[(?:not-modelled|not-implemented|private-interface)\]: (.*)")


class Machine:
    """tinygpu with a profile, or the GPU that is there."""

    def __init__(self, name, threads):
        self.prefix = [] if name == "chip" else [GEN5, "run", "--exit-code", "0", "--machine", name, "--threads", str(threads)]
        self.environment = dict(os.environ, GEN5_DEVICE="hardware") if name == "chip" else os.environ

    def start(self, program, *arguments, output):
        return subprocess.Popen([*self.prefix, str(program), *arguments], cwd=program.parent, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                env=self.environment, start_new_session=True)

    def cases(self, program):
        """What gtest lists: a suite's name without blanks before it, and its cases below."""
        process = self.start(program, "--gtest_list_tests", output=subprocess.PIPE)
        said = process.communicate()[0].decode(errors="replace")
        out, suite = [], ""
        for line in said.splitlines():
            name = line.partition("#")[0].rstrip()
            if re.fullmatch(r"\S+\.", name):
                suite = name
            elif suite and re.fullmatch(r"  \S+", name):
                out.append(suite + name.strip())
        return out


def verdict(word, said):
    """Of a case that has ended with gtest's word, or whose process has ended without one."""
    refused = REFUSED.search(said)
    codes = sorted(set(re.findall(r"tinygpu (?:warning|error)\[([\w-]+)\]", said)))
    if word in ("OK", "SKIPPED"):
        return {"verdict": "right" if word == "OK" else "skipped", "why": "", "codes": codes}
    if refused:
        return {"verdict": "refused", "why": refused[1][:200], "codes": codes}
    lines = [line for line in said.splitlines() if "tinygpu error[" in line] or [line for line in said.splitlines() if "Failure" in line or "rror" in line]
    return {"verdict": "wrong", "why": (lines[0].strip() if lines else f"ended without a verdict: {said[-150:]}")[:200], "codes": codes}


@functools.cache
def faults():
    """(code, reason) of each (file, case) that ends by a fault of its own."""
    out = {}
    for line in FAULTS.read_text().splitlines():
        if line and not line.startswith("#"):
            words, _, reason = line.partition(" -- ")
            if len(words.split()) != 3 or not reason.strip():
                sys.exit(f"{FAULTS.name}: not FILE CASE CODE -- REASON: {line}")
            path, case, code = words.split()
            out[path, case] = code, reason.strip()
    return out


def argued(path, case, line):
    """What a case said, its own fault told from what is wrong here."""
    code, reason = faults().get((path, case), (None, None))
    return line | {"verdict": "fault", "why": f"`{code}`: {reason}"} if line["verdict"] == "wrong" and code in line["codes"] else line


def stop(process):
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()


def run_case(machine, program, case, seconds, until, log):
    """What came of it, in a process of its own; nothing where the time of all is over before its own."""
    begin = time.monotonic()
    limit = min(seconds, until - begin)
    with open(log, "wb") as output:
        process = machine.start(program, "--gtest_filter=" + case, output=output)
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        stop(process)
        return {"verdict": "slow", "why": f"more than {seconds:.0f} s", "codes": [], "seconds": round(seconds, 1)} if limit == seconds else None
    text = log.read_text(errors="replace")
    ends = next((end for end in ENDS.finditer(text) if end[2] == case), None)
    return verdict(ends[1] if ends else "", text[: ends.start()] if ends else text) | {"seconds": round(time.monotonic() - begin, 1)}


def size(case):
    """The tile's, as its name has it: the time that a case takes goes with it."""
    tile = re.search(r"\d+(?:x\d+)+", case)
    return math.prod(map(int, tile[0].split("x"))) if tile else 0


def path_of(path, chip):
    return RESULTS / f"{build.program_of(path).name}{'.chip' if chip else ''}.json"


def load(path, chip):
    """What has run of a file, each case's own fault told from what is wrong here."""
    file = path_of(path, chip)
    if not file.exists():
        return None
    record = json.loads(file.read_text())
    return record | {"said": {name: argued(path, name, line) for name, line in record["said"].items()}}


def sampled(words):
    """(path, its parts.json) of each file that cutlass_build.py was asked for; of some nothing may be built."""
    for file in sorted(build.folder().glob("*.parts.json")):
        said = json.loads(file.read_text())
        if not words or any(word in said["file"] for word in words):
            yield said["file"], said


def built(words):
    return ((path, parts) for path, parts in sampled(words) if parts["built"])


class Run:
    def __init__(self, options):
        self.options, self.until, self.lock = options, time.monotonic() + options.limit, threading.Lock()
        threads = max(1, (os.cpu_count() or 1) // options.jobs)
        self.machines = {name: Machine(name, threads) for name in ("b200", "h200", "chip")}
        self.records = {}

    def machine(self, path):
        return self.machines["chip" if self.options.chip else build.machine_of(path)]

    def begin(self, path):
        """The file's record; its cases that are to run."""
        record = (load(path, self.options.chip) if self.options.go_on else None) or {"file": path, "said": {}}
        record |= {"cases": self.machine(path).cases(build.program_of(path))}
        self.records[path] = record
        return [(path, name) for name in record["cases"] if name not in record["said"]]

    def case(self, case):
        path, name = case
        if time.monotonic() >= self.until:
            return
        log = path_of(path, self.options.chip).with_suffix(f".{threading.get_ident()}.log")
        said = run_case(self.machine(path), build.program_of(path), name, self.options.seconds, self.until, log)
        if said is None:
            return
        said = argued(path, name, said)
        with self.lock:
            self.records[path]["said"][name] = said
            path_of(path, self.options.chip).write_text(json.dumps(self.records[path], indent=1))
        print(f"{path} {name}: {said['verdict']} {said['why']} {' '.join(said['codes'])} {said['seconds']} s", flush=True)

    def all(self, files):
        RESULTS.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            cases = [case for some in pool.map(self.begin, files) for case in some]
            list(pool.map(self.case, sorted(cases, key=lambda case: size(case[1]))))
        return any(said["verdict"] == "wrong" for record in self.records.values() for said in record["said"].values())


def keep():
    said = kept.load(SAID)
    for path, parts in sampled([]):
        file = said.setdefault(path, {"cases": parts["cases"], "parts": parts["parts"], "built": 0})
        file["built"] = max(file["built"], parts["built"])
        for chip in (False, True):
            record = load(path, chip)
            if record is None:
                continue
            if parts["built"] == parts["parts"]:
                file["cases"] = len(record["cases"])  # some of the text's are left out by macros
            count = collections.Counter(line["verdict"] for line in record["said"].values())
            file["chip" if chip else "tinygpu"] = {
                **{v: count[v] for v in (*VERDICTS, "skipped") if count[v]},
                "others": {name: [line["verdict"], line["why"]] for name, line in record["said"].items() if line["verdict"] in OTHERS},
                "told": dict(collections.Counter(code for line in record["said"].values() if line["verdict"] == "right" for code in line["codes"]))}
    kept.save(SAID, dict(sorted(said.items())))


def counts(file, where):
    """How many cases ended in which way there, tinygpu or chip."""
    return collections.Counter({key: n for key, n in file.get(where, {}).items() if isinstance(n, int)})


def row(path, file):
    n, chip = counts(file, "tinygpu"), counts(file, "chip")
    compiled = "" if file["built"] == file["parts"] else ", of which a part is compiled" if file["built"] else ", not compiled"
    ran = f"{chip['right']} of {chip.total()}" if chip else ""
    told = ", ".join(f"`{code}`" for code in sorted(file.get("tinygpu", {}).get("told", {})))
    numbers = " | ".join(str(n[v]) for v in VERDICTS)
    return f"| {path.removesuffix('.cu')} | {build.machine_of(path)} | {file['cases']}{compiled} | {numbers} | {file['cases'] - n.total()} | {ran} | {told} |"


def summary(what, files):
    sums = sum((counts(file, "tinygpu") for file in files), collections.Counter())
    on_chip = sum((counts(file, "chip") for file in files), collections.Counter())
    cases, answered = sum(file["cases"] for file in files), sum(sums[v] for v in ("right", *OTHERS))
    return (f"{what}: {len(files)} files, of which {sum(file['built'] > 0 for file in files)} are compiled, with {cases:,} cases: " +
            ", ".join(f"{sums[v]:,} {word}" for v, word in VERDICTS.items()) + f", {cases - sums.total():,} not run. Of {answered:,} that ended {sums['right'] / max(answered, 1):.1%} are right. "
            f"On an H200 {on_chip['right']:,} of {on_chip.total():,} that ran there are right.")


def table():
    said = kept.load(SAID)
    lines = []
    for what, beside in (("The fifth", False), ("Beside it", True)):
        files = {path: file for path, file in said.items() if path.startswith(build.BESIDE) == beside}
        if files:
            lines += ["| file of test/unit | machine | cases | " + " | ".join(VERDICTS.values()) + " | not run | on an H200, right of run | told beside |",
                      "|---|---|" + "---|" * (len(VERDICTS) + 4), *(row(path, file) for path, file in files.items()), "", summary(what, files.values()), ""]
    lines += [f"* {path.rpartition('/')[2].removesuffix('.cu')}, `{name}`: {VERDICTS[what]}: {why}" for path, file in said.items()
              for name, (what, why) in file.get("tinygpu", {}).get("others", {}).items()]
    return lines if lines[-1] else lines[:-1]


def check_results():
    said = kept.load(SAID)
    ran, others = 0, []
    for path, _ in built([]):
        known = said.get(path, {}).get("tinygpu", {}).get("others", {})
        for name, line in ((load(path, False) or {}).get("said") or {}).items():
            ran += 1
            if (line["verdict"] in OTHERS) != (name in known) and line["verdict"] != "slow":
                others.append(f"{path} {name}: {line['verdict']} {line['why']}; {SAID.name} has {known.get(name)}")
    if not ran:
        fetch.skip("no test has run")
    print(*others, sep="\n")
    return bool(others)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--chip", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--for", dest="limit", type=float, default=1e9, metavar="SECONDS")
    parser.add_argument("--continue", dest="go_on", action="store_true")
    kept.add_options(parser, "--keep", "--check-results")
    options = parser.parse_args()
    if options.keep:
        return keep()
    if options.check_results:
        return check_results()
    if (code := kept.answer(options, NOTE, lambda: {"cutlass": table()}, __file__)) is not None:
        return code
    files = [path for path, _ in built(options.words) if not options.chip or build.machine_of(path) == "h200"]
    if not files:
        fetch.skip(f"nothing is built in {build.folder()}: tests/foreign/cutlass_build.py")
    return Run(options).all(files)


if __name__ == "__main__":
    sys.exit(main())
