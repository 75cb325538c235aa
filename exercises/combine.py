#!/usr/bin/env python3
"""Makes one source of several exercises, each in a namespace of its own: combine.py unsolved|solved|others|projects OUT.cu NAME…

The tests judge all exercises, before and after their solutions, other solutions, and the projects' reference solutions, with few runs of
the compiler. scripts/learn compiles a file by itself.
"""
import pathlib
import re
import sys

import judge
import make_mistakes
import projects


def combined(sources):
    """`sources`: (name, text, path) of each."""
    includes, bodies = [], []
    for name, text, path in sources:
        body = []
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(r"#include ", line):
                includes += [line] if line not in includes else []
                line = ""
            elif line.startswith("#include"):
                raise judge.Error(f"{path}:{number}: this include is not understood")
            body.append(line)
        bodies += [
            "#undef GEN5_EXERCISE",
            f'#define GEN5_EXERCISE "{name}"',
            f"namespace exercise_{re.sub('[^a-z0-9]', '_', name)} {{",
            f'#line 1 "{path}"',
            *body,
            "}",
        ]
    # A hole may leave variables without use.
    return "\n".join(["// Made by exercises/combine.py.", *includes, make_mistakes.QUIET, *bodies]) + "\n"


if __name__ == "__main__":
    state, out, *names = sys.argv[1:]
    try:
        if state == "projects":
            found = [(f"{p.name}.{r['name']}", p.solution(r)) for p in projects.all_projects() for r in p.references]
            made = combined([(name, path.read_text(), path) for name, path in found])
        exercises = [judge.Exercise(judge.root / "exercises" / n) for n in names]
        if state == "others":
            made = combined([(v.name, v.text, e.source) for e in exercises for v in e.variants()])
        elif state != "projects":
            # The kernel of an exercise whose answer is a place stays as it is.
            made = combined([(e.name, e.solved() if state == "solved" else e.text, e.source) for e in exercises if state == "unsolved" or e.hunks])
    except judge.Error as error:
        sys.exit(str(error))
    pathlib.Path(out).write_text(made)
