#!/usr/bin/env python3
"""list_test.py HELD_OUT: the list that was written down before anything was measured is still what the program runs, and every row of
it was measured. Triton's kernels are listed by triton_kernels.py, which needs Triton: here their number stands for them."""

import json
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
listed = [l for l in (here / "held_out.txt").read_text().splitlines() if l and not l.startswith("#")]
now = subprocess.run([sys.argv[1], "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
own = [l for l in listed if not l.startswith("triton_")]
if now != own:
    sys.exit("held_out --list and held_out.txt differ:\n" + "\n".join(sorted(set(now) ^ set(own))))
names = [l.split(" | ")[0] for l in listed]
measured = json.loads((here / "h200.json").read_text())["rows"]
missing = [n for n in names if n not in measured] + [n for n in measured if n not in names]
if missing or len(set(names)) != len(names) or len(names) < 150:
    sys.exit(f"{len(names)} names; in one of list and results alone: {missing}")
print(f"{len(names)} kernels, {len(own)} of them the program's own, all measured")
