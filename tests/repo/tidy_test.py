#!/usr/bin/env python3
"""tidy_test.py BUILD: clang-tidy has nothing to say of the C++ files that changed (changed.py)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import changed

root, build = pathlib.Path(__file__).resolve().parent.parent.parent, pathlib.Path(sys.argv[1])
if not shutil.which("clang-tidy"):
    changed.skip("no clang-tidy here")
# Files that are compiled several at a time have commands of their own only where GEN5_JOIN is off.
known = {os.path.relpath(c["file"], root) for c in json.loads((build / "compile_commands.json").read_text())}
sources = [f for f in changed.changed(root) if f.endswith(".cpp")]
listed = [f for f in sources if f in known]
if not listed:
    changed.skip("no C++ file has changed" if not sources else f"{build} compiles files several at a time: configure it with -DGEN5_JOIN=OFF")
done = subprocess.run(["clang-tidy", "-p", build, "--quiet", "--warnings-as-errors=*", *listed], cwd=root, capture_output=True, text=True)
print(*listed, done.stdout, sep="\n")
sys.exit(done.returncode)
