#!/usr/bin/env python3
"""run.py --check-table compares the note with what has run: a program may have run in some orders only, and what it said there counts."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
NOTE = (here.parent.parent / "notes/your_kernels.md").read_text()


def records():
    """What the runs must have said for the note's table."""
    for line in NOTE[NOTE.index("\n| program | as timed") :].split("\n\n")[0].splitlines()[3:]:
        name, timed, late, seeded, seconds, instructions, matrix, operations = (c.strip() for c in line.split("|")[1:-1])
        mmas = {i: int(n.replace(",", "")) for n, i in re.findall(r"([\d,]+) `([^`]+)`", matrix)}
        for order, verdict in (("timed", timed), ("late", late), ("seeded", seeded)):
            yield {"name": name, "order": order, "verdict": verdict, "seconds": float(seconds), "instructions": int(instructions.replace(",", "")),
                   "mmas": mmas, "operations": int(operations.replace(",", "") or 0)}


def check(said):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "foreign_results"
        folder.mkdir()
        for r in said:
            (folder / f"{r['name']}.{r['order']}.json").write_text(json.dumps(r))
        done = subprocess.run([sys.executable, here / "run.py", "--check-table"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=os.environ | {"GEN5": f"{name}/bin/gen5"})
        return done.returncode, done.stdout


every = list(records())
names = sorted({r["name"] for r in every})
assert len(names) > 40 and len(every) == 3 * len(names)
wrong = next(r for r in every if r["order"] == "late" and r["mmas"])
for said, code, says in (
    (every, 0, ""),
    ([r for r in every if r["order"] != ("late" if names.index(r["name"]) % 2 else "seeded")], 0, ""),
    ([r | {"verdict": "wrong"} if r is wrong else r for r in every], 1, f"| {wrong['name']} | right | wrong |"),
    ([r | {"operations": 1} if (r["name"], r["order"]) == (wrong["name"], "timed") else r for r in every], 1, f"| {wrong['name']} |"),
    ([r for r in every if (r["name"], r["order"]) != (wrong["name"], "timed")], 77, "some programs have not run"),
):
    done = check(said)
    assert done[0] == code and says in done[1], done
