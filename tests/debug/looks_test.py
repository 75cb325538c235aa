#!/usr/bin/env python3
"""looks_test.py BUILD: a lesson of wrong numbers names commands of the debugger that lead to the fault (`look:` in chapters/*/mistakes.txt). Runs them all:
each is understood, and each view shows something."""
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
import make_mistakes  # noqa: E402

bin = pathlib.Path(sys.argv[1]).resolve() / "bin"
WRONG = re.compile(r"^(there is no|no such|.* has no |.* takes |the program has ended: |this CTA has issued no|no kernel has|nothing )", re.M)
looks = 0
for file in sorted(root.glob("chapters/*/*mistakes.txt")):
    for mistake in make_mistakes.parse(file):
        commands = [c for c in mistake.fields.get("look", "").split("; ") if c]
        if not commands:
            continue
        looks += 1
        line = [bin / "gen5", "debug", "--batch", *(word for c in commands for word in ("-x", c)), bin / file.parent.name, "--mistake", mistake.name, "--kernel", "wrong"]
        done = subprocess.run(line, capture_output=True, text=True, cwd=root, timeout=300, env={**os.environ, "GEN5_DEVICE": "tinygpu"})
        answers = re.split(r"^\(gen5\) (.*)\n", done.stdout, flags=re.M)
        where = f"{file.parent.name} --mistake {mistake.name}"
        if list(answers[1::2]) != commands:
            sys.exit(f"{where}: not all commands were run\n{done.stdout}{done.stderr}")
        for command, answer in zip(answers[1::2], answers[2::2]):
            if WRONG.search(answer) or (command.startswith("show") and answer.count("\n") < 2):
                sys.exit(f"{where}: `{command}` shows nothing\n{answer}")
        print(f"holds: {where}", flush=True)
if not looks:
    sys.exit("no lesson has commands of the debugger")
