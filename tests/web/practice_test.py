#!/usr/bin/env python3
"""practice_test.py NATIVE|MODULE.wasm [NAME…]: the exercises in PTX, judged as the page judges them: each solution is right, the untouched file and
typical wrong solutions end as their solution.txt says, with the words that it names. Exit code 77 where there is no node or no such machine."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(root / "web"))
import practice  # noqa: E402


def attempts(exercises):
    """(exercise, what it is, text, how it ends, words of the sentence)."""
    for e in exercises:
        yield e, "untouched", e.text, e.fields["says"], e.fields["sees"]
        yield e, "solved", e.solution.text, "right", ""
        for w in e.wrong:
            yield e, w.name, w.text, w.says, w.sees


def patterns(machine):
    """Faults of buffers' patterns: mod7 is one, mod0 and modx are none, for the page and for the machine."""
    code = "for (const p of ['mod7', 'mod0', 'modx']) console.log(p, require(process.argv[1]).read(`//! buffer x: u32[4] = ${p}`).messages.map((m) => m.text).join())"
    said = subprocess.run(["node", "-e", code, str(root / "web/page/launch.js")], capture_output=True, text=True).stdout.splitlines()
    faults = [] if len(said) == 3 and said[0] == "mod7 " and all("is none of" in line for line in said[1:]) else [f"patterns in a page: {said}"]
    if machine.suffix != ".wasm":
        kernel = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 x)\n{\n  ret;\n}\n"
        ask = [{"do": "run", "ptx": kernel, "buffers": [{"name": "x", "type": "u32", "count": 8, "pattern": p}], "parameters": [{"buffer": 0}]} for p in ("mod7", "mod0", "modx")]
        lines = subprocess.run([machine], input="".join(json.dumps(a) + "\n" for a in ask), capture_output=True, text=True).stdout.splitlines()
        answers = [json.loads(line) for line in lines]
        if answers[0].get("buffers", [{}])[0].get("values") != [0, 1, 2, 3, 4, 5, 6, 0] or any("there is no pattern" not in a.get("message", "") for a in answers[1:]):
            faults.append(f"patterns of the machine: {[a.get('message') for a in answers]}")
    return faults


def main():
    machine = pathlib.Path(sys.argv[1])
    if not shutil.which("node") or not machine.exists():
        print("skipped: needs node and scripts/web")
        return 77
    how = [str(machine)] if machine.suffix == ".wasm" else ["--native", str(machine)]
    exercises = [e for e in practice.all_exercises() if not sys.argv[2:] or e.name in sys.argv[2:]]
    tried = list(attempts(exercises))
    asked = "".join(json.dumps({"exercise": e.page(), "text": text}) + "\n" for e, _, text, _, _ in tried)
    said = subprocess.run(["node", root / "tests/web/judge.js", *how], input=asked, capture_output=True, text=True)
    verdicts = [json.loads(line) for line in said.stdout.splitlines()]
    faults = [] if len(verdicts) == len(tried) else [f"{len(tried)} texts, {len(verdicts)} verdicts: {said.stderr}"]
    for (e, what, _, says, sees), v in zip(tried, verdicts):
        if v["ends"] != says:
            faults.append(f"{e.name}, {what}: should end in {says}, and ends in {v['ends']}: {v['sentence']}")
        elif sees not in v["sentence"]:
            faults.append(f"{e.name}, {what}: {sees!r} is not said: {v['sentence']}")
        budget = int(e.fields.get("cycles", 0))
        if what == "solved" and budget and v.get("cycles", 0) > 0.97 * budget:
            faults.append(f"{e.name}: its solution takes {v['cycles']} cycles: the budget of {budget} leaves no room")
        if sys.argv[2:]:
            print(f"{e.name}, {what}: {v['ends']}, {v.get('cycles')} cycles: {v['sentence']}")
    if not sys.argv[2:]:
        faults += patterns(machine)
        if [int(e.name[:2]) for e in exercises] != list(range(1, 16)):
            faults.append("the exercises are not numbered from 1 to 15")
        for e in exercises:
            if not e.wrong:
                faults.append(f"{e.name} has no wrong solution")
            if not 2 <= len(re.findall(r"[.!?:](?:\s|$)", e.task)) <= 6:
                faults.append(f"{e.name}: a task has two to six sentences")
    print("\n".join(faults) or f"{len(exercises)} exercises, {len(tried)} texts: each ends as it should")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
