"""A note's block of a program's output is made anew, whether the output has grown or shrunk since.

refresh_test.py BUILD: with notes/mistakes.md, which quotes the whole of `gen5 explain --codes`, and notes/start_here.md, which
quotes sources.
"""
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
note = (root / "notes/mistakes.md").read_text()


def refreshed(text):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "note.md"
        copy.write_text(text)
        subprocess.run([root / "scripts/refresh_notes", "--build", sys.argv[1], copy], check=True)
        return copy.read_text()


lines = note.splitlines(keepends=True)
gone = [l for l in lines if not l.startswith(("  tmem-leak ", "  out-of-memory "))]
assert len(gone) == len(lines) - 2
assert refreshed("".join(gone)) == note, "codes that are new are missing"
at = next(i for i, l in enumerate(lines) if l.startswith("  tmem-leak "))
assert refreshed("".join(lines[:at] + ["  no-such-code  E  Not there.\n"] * 3 + lines[at:])) == note, "codes that are gone stay"
changed = note.replace("A CTA exits with columns", "A CTA leaves with columns")
assert changed != note and refreshed(changed) == note

# A block quoted from a source file is that file's.
here = (root / "notes/start_here.md").read_text()
altered = here.replace("  const uint32_t row = threadIdx.x;\n", "  const uint32_t row = 0;\n")
assert altered != here and refreshed(altered) == here
