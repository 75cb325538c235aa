#!/usr/bin/env python3
"""Every PTX instruction that a chapter uses is explained before or there: its name stands in notes/start_here.md, or in the note of
the chapter that uses it first, or of one before it, in the order in which start_here tells to read them."""
import sys

import instructions

# What every CUDA programmer knows.
KNOWN = {"ld", "st", "mov", "red", "atom"}


def main():
    explained = (instructions.root / "notes" / "start_here.md").read_text()
    missing, count, chapters = [], 0, instructions.first_uses()
    for chapter, new in chapters:
        note = instructions.root / "notes" / f"{chapter}.md"
        explained += note.read_text() if note.exists() else ""
        for path, line, name, ptx in new:
            for family in {instructions.family_of(p) for p in ptx} - KNOWN:
                count += 1
                if family not in explained:
                    missing.append(f"{path.relative_to(instructions.root)}:{line}: {name} is {family}, and no note so far names it")
    with_source = {f.name for f in (instructions.root / "chapters").glob("[0-9]*")}
    missing += [f"notes/start_here.md does not say when to read {c}" for c in sorted(with_source - {c for c, _ in chapters})]
    if count < 40:
        missing.append(f"only {count} first uses were found: common/ptx/ is not read any more")
    print("\n".join(missing) or f"{count} instructions are explained before their first use or there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
