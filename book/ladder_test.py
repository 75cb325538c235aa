#!/usr/bin/env python3
"""The README's ladder is that of notes/reference/ladder.md (scripts/ladder writes both, and a test of label `book` runs it): its rates fit
its cycles at clocks that a B200 has, and its published figures are those that the note quotes."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = 2 * 4096**3
LEAST, HIGHEST = 1.2, 1.965  # GHz


def rows(text):
    place = re.search(r"<!-- ladder: scripts/ladder -->\n(.*?)\n<!-- end -->", text, re.S)
    cells = [[c.strip().replace(",", "") for c in line.strip("|").split("|")] for line in place[1].splitlines()[2:]]
    return {int(row[0].split()[0]): [float(c) if c else None for c in row[2:]] for row in cells}


def main():
    note, readme = (root / "notes" / "reference" / "ladder.md").read_text(), (root / "README.md").read_text()
    ladder, faults = rows(readme), []
    if ladder != rows(note):
        faults.append("README.md and notes/reference/ladder.md show different ladders")
    if list(ladder) != list(range(1, 9)):
        faults.append(f"the ladder has steps {list(ladder)}")
    quoted = [float(n.replace(",", "")) for n in re.findall(r"(?<![\d.])(\d[\d,]*\.\d+)(?=[;,]|\. )", note[note.index("Published for") :])]
    for step, (cycles, cold, loop, published, ratio) in ladder.items():
        for what, rate in (("one launch", cold), ("a loop", loop)):
            if not LEAST < rate * cycles / OPERATIONS * 1e3 <= HIGHEST + 0.01:
                faults.append(f"step {step}: {rate} TFLOP/s in {what} are {cycles} cycles at {rate * cycles / OPERATIONS * 1e3:.3f} GHz")
        if loop > cold:
            faults.append(f"step {step} is faster in a loop than alone")
        if published and published not in [round(q) for q in quoted]:
            faults.append(f"step {step}: {published} is none of the published figures of notes/reference/ladder.md")
        if published and abs(loop / published - ratio) > 0.01:
            faults.append(f"step {step}: {loop} / {published} is not {ratio}")
    print("\n".join(faults) or "the README's ladder is that of notes/reference/ladder.md")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
