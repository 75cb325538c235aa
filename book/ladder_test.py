#!/usr/bin/env python3
"""The README's ladder says, in TFLOP/s, what notes/reference/ladder.md has in cycles (a test of label `book` runs that), and quotes the same
published figures."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = 2 * 4096**3


def main():
    note, readme = (root / "notes" / "reference" / "ladder.md").read_text(), (root / "README.md").read_text()
    hertz = float(re.search(r"Predicted at ([\d.]+) GHz throughout", readme)[1]) * 1e9
    predicted = {step: OPERATIONS / (int(cycles.replace(",", "")) / hertz) / 1e12 for step, cycles in re.findall(r"^  (\d) \w+ .*?([\d,]+) +[\d.]+ % +[\d.]+ %", note, re.M)}
    published = [float(n.replace(",", "")) for n in re.findall(r"(?<![\d.])(\d[\d,]*\.\d+)(?=[;,]|\. )", note[note.index("Published for") :])]
    faults, seen = [], set()
    for row in re.findall(r"^\| ((?:\d \w+(?:, )?)+|cuBLAS) \|[^|]*\|([^|]*)\|([^|]*)\|$", readme, re.M):
        steps, said = re.findall(r"(\d) \w+", row[0]), [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", row[1])]
        if len(steps) != len(said):
            faults.append(f"README: {row[0]}: {len(said)} figures for {len(steps)} steps")
        for step, number in zip(steps, said):
            seen.add(step)
            if number != round(predicted[step]):
                faults.append(f"README: step {step} is {number} TFLOP/s, and notes/reference/ladder.md has {predicted[step]:.1f}")
        for number in re.findall(r"^ (\d[\d,]*)", row[2]):
            if int(number.replace(",", "")) not in [round(p) for p in published]:
                faults.append(f"README: {number} is none of the published figures of notes/reference/ladder.md")
    if len(predicted) != 8 or seen != set(predicted):
        faults.append(f"the ladder has steps {sorted(predicted)}, and the README shows {sorted(seen)}")
    print("\n".join(faults) or "the README's ladder is that of notes/reference/ladder.md")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
