#!/usr/bin/env python3
"""figures_test.py BUILD: scripts/figures --check sees a figure that is not what would be drawn."""
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent


def figures(folder, *words):
    run = subprocess.run([root / "scripts" / "figures", "--build", sys.argv[1], "--folder", folder, *words], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def check(folder, *names):
    return figures(folder, "--check", *names)


def altered(folder, name, pattern, replacement):
    path = folder / f"{name}.svg"
    text = path.read_text()
    changed = re.sub(pattern, replacement, text, count=1)
    if changed == text:
        sys.exit(f"{name}.svg has no {pattern}")
    path.write_text(changed)


def main():
    faults = []

    def expect(what, holds, text):
        if not holds:
            faults.append(f"{what}; it said:\n{text}")

    with tempfile.TemporaryDirectory() as place:
        # Drawn now: whether those of the notes are old is another test's question.
        folder = pathlib.Path(place)
        figures(folder, "pair", "ring")
        status, text = check(folder, "pair", "ring")
        expect("what lies there is what would be drawn", status == 0, text)
        altered(folder, "pair", "A0 · B1", "A1 · B0")
        status, text = check(folder, "pair", "ring")
        expect("a cell that says something else", status == 1 and "scripts/figures pair" in text and "ring" not in text, text)
        # A tenth of the picture is eight columns.
        place_of = r'(data-lane="consumer" data-mark="1" data-from=")(\d+)'
        altered(folder, "ring", place_of, lambda m: m[1] + str(int(m[2]) + 4))
        status, text = check(folder, "ring")
        expect("a mark that stands a little later", status == 0, text)
        altered(folder, "ring", place_of, lambda m: m[1] + str(int(m[2]) + 20))
        status, text = check(folder, "ring")
        expect("a mark that stands much later", status == 1, text)
        (folder / "ring.svg").unlink()
        status, text = check(folder, "ring")
        expect("a figure that is not there", status == 1, text)
        status, text = check(folder, "nonsense")
        expect("a name that is not there", status == 1 and "there is no nonsense" in text, text)
        # Every figure stands in a note, and every note's figure is drawn.
        shown = {name for note in (root / "notes").rglob("*.md") for name in re.findall(r"\(figures/(\w+)\.svg\)", note.read_text())}
        drawn = {path.stem for path in (root / "notes" / "figures").glob("*.svg")}
        expect("figures of notes", shown == drawn, f"shown but not drawn: {shown - drawn}; drawn but not shown: {drawn - shown}")
    print("\n".join(faults) or "what differs is seen")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
