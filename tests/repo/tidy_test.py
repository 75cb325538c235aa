#!/usr/bin/env python3
"""tidy_test.py BUILD: clang-tidy has nothing to say of the lines of C++ files that changed (changed.py)."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import changed

OF_GCC = ("-fno-gnu-unique", "-mno-stv", "-Wno-restrict", "-Wno-maybe-uninitialized")
root, build = pathlib.Path(__file__).resolve().parent.parent.parent, pathlib.Path(sys.argv[1])
if not shutil.which("clang-tidy"):
    changed.skip("no clang-tidy here")
# Files that are compiled several at a time have commands of their own only where GEN5_JOIN is off.
commands = {os.path.relpath(c["file"], root): c for c in json.loads((build / "compile_commands.json").read_text())}
lines = {}
for line in changed.git(root, "diff", "-U0", changed.base(root), "--", "*.cpp", "*.h").stdout.splitlines():
    if line.startswith("+++ b/"):
        file = line[6:]
    elif at := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
        first, count = int(at[1]), int(at[2] or 1)
        if count:
            lines.setdefault(file, []).append([first, first + count - 1])
sources = [f for f in lines if f.endswith(".cpp")]
listed = [f for f in sources if f in commands]
if not listed:
    changed.skip("no C++ file has changed" if not sources else f"{build} compiles files several at a time: configure it with -DGEN5_JOIN=OFF")
with tempfile.TemporaryDirectory() as folder:
    for c in commands.values():
        c["command"] = " ".join(w for w in c["command"].split() if w not in OF_GCC)
    pathlib.Path(folder, "compile_commands.json").write_text(json.dumps(list(commands.values())))
    wanted = json.dumps([{"name": str(root / f), "lines": of} for f, of in lines.items()])
    done = subprocess.run(["clang-tidy", "-p", folder, "--quiet", "--warnings-as-errors=*", f"--line-filter={wanted}", *listed], cwd=root,
                          capture_output=True, text=True)
print(*listed, done.stdout, sep="\n")
sys.exit(done.returncode)
