#!/usr/bin/env python3
"""A real editor without a display, Emacs with dap-mode (Debian's emacs-nox and elpa-dap-mode), debugs a kernel.

  emacs_test.py BUILD emacs
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from session import Build, expect, line_of, root

build = Build(sys.argv[1])
SOURCE = root / "chapters/05_mma/main.cu"
LINE = line_of(SOURCE, "for (uint32_t n = 0; n < kN; ++n) d[row * kN + n] = r[n];")


def emacs():
    if not shutil.which("emacs") or subprocess.run(["emacs", "--batch", "-l", "dap-mode"], capture_output=True).returncode:
        print("Emacs and its dap-mode are not installed: scripts/setup --debug")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "HOME": home, "GEN5": str(build.gen5), "PROGRAM": str(build.program("05_mma")[0]), "SOURCE": str(SOURCE), "LINE": str(LINE)
        }
        run = subprocess.run(
            ["emacs", "--batch", "-l", root / "tests/debug/emacs_test.el"], env=environment, cwd=home, capture_output=True, text=True, timeout=180
        )
    said = run.stdout
    expect(run.returncode == 0, "Emacs did not come to the end", said, run.stderr[-2000:])
    lines = [int(n) for n in re.findall(r"line (\d+)", said)]
    expect(lines and lines[0] == LINE, "the breakpoint", said)
    expect(len(lines) == 3 and lines[1] != lines[0], "a step forward", said)
    expect(lines[2] != lines[1], "a step back", said)
    expect(re.search(r"^ +0 +-?\d+\.\d", said, re.M), "Tensor Memory", said)
    print(said)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
