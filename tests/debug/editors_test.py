#!/usr/bin/env python3
"""Real editors without a display debug a kernel, with the settings of notes/debugging.md.

  editors_test.py BUILD emacs     Debian's emacs-nox and elpa-dap-mode (scripts/setup --debug)
  editors_test.py BUILD neovim    Debian's neovim, and nvim-dap 0.6.0 or later (the last for Neovim 0.7): the folder GEN5_NVIM_DAP
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


def skipped(why):
    print(why)
    sys.exit(77)


def debugs(*editor, **environment):
    """The editor's script stops at the breakpoint, steps forward and back, and reads Tensor Memory."""
    with tempfile.TemporaryDirectory() as home:
        environment |= {
            "HOME": home, "GEN5": str(build.gen5), "PROGRAM": str(build.program("05_mma")[0]), "SOURCE": str(SOURCE), "LINE": str(LINE),
            "PATH": f"{build.gen5.parent}:{os.environ['PATH']}",
        }
        run = subprocess.run(editor, env=os.environ | environment, cwd=home, capture_output=True, text=True, timeout=180)
    said = run.stdout
    expect(run.returncode == 0, f"{editor[0]} did not come to the end", said, run.stderr[-2000:])
    lines = [int(n) for n in re.findall(r"line (\d+)", said)]
    expect(lines and lines[0] == LINE, "the breakpoint", said)
    expect(len(lines) == 3 and lines[1] != lines[0], "a step forward", said)
    expect(lines[2] != lines[1], "a step back", said)
    expect(re.search(r"^ +0 +-?\d+\.\d", said, re.M), "Tensor Memory", said)
    print(said)


def emacs():
    if not shutil.which("emacs") or subprocess.run(["emacs", "--batch", "-l", "dap-mode"], capture_output=True).returncode:
        skipped("Emacs and its dap-mode are not installed: scripts/setup --debug")
    debugs("emacs", "--batch", "-l", root / "tests/debug/emacs_test.el")


def neovim():
    dap = os.environ.get("GEN5_NVIM_DAP", "")
    if not shutil.which("nvim") or not os.path.isdir(dap):
        skipped("Neovim is not installed (scripts/setup --debug), or GEN5_NVIM_DAP names no folder with nvim-dap, which Debian does not have")
    settings = "\n".join(re.findall(r"^ +(require\(\"dap\"\).*)$", (root / "notes/debugging.md").read_text(), re.M))
    expect(settings.count("require") >= 2, "the note has no settings for Neovim", settings)
    debugs("nvim", "--headless", "-u", "NONE", "-i", "NONE", "--cmd", f"set runtimepath+={dap}", "-S", root / "tests/debug/neovim_test.lua", SETTINGS=settings)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
