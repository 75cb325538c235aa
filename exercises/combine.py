#!/usr/bin/env python3
"""Makes one source of several exercises, each in a namespace of its own: combine.py unsolved|solved OUT.cu NAME…

The tests judge all exercises, before and after their solutions, with few runs of the compiler. scripts/learn compiles an
exercise by itself.
"""
import pathlib
import re
import sys

import judge
import make_mistakes


def combined(exercises, solved):
    includes, bodies = [], []
    for e in exercises:
        if solved and e.session:  # its kernel stays as it is
            continue
        body = []
        for number, line in enumerate((e.solved() if solved else e.text).splitlines(), 1):
            if re.match(r"#include ", line):
                includes += [line] if line not in includes else []
                line = ""
            elif line.startswith("#include"):
                raise judge.Error(f"{e.source}:{number}: this include is not understood")
            body.append(line)
        bodies += [
            "#undef GEN5_EXERCISE",
            f'#define GEN5_EXERCISE "{e.name}"',
            f"namespace exercise_{e.name} {{",
            f'#line 1 "{e.source}"',
            *body,
            f"}}  // namespace exercise_{e.name}",
        ]
    # A hole may leave variables without use.
    return "\n".join(["// Made by exercises/combine.py.", *includes, make_mistakes.QUIET, *bodies]) + "\n"


if __name__ == "__main__":
    state, out, *names = sys.argv[1:]
    try:
        made = combined([judge.Exercise(judge.root / "exercises" / n) for n in names], state == "solved")
    except judge.Error as error:
        sys.exit(str(error))
    pathlib.Path(out).write_text(made)
