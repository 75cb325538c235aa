#!/usr/bin/env python3
"""Follows notes/python.md word for word: its commands, in an empty directory, in a home where the clone is ~/gen5. Exits 77 where
the wheels cannot be had."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/foreign"))

import fetch  # noqa: E402

fetch.fetch()
NOTE = (ROOT / "notes/python.md").read_text()
commands = re.findall(r"^```bash\n(.*?)^```$", NOTE, re.M | re.S)
expected = [line for block in re.findall(r"^```text\n(.*?)^```$", NOTE, re.M | re.S) for line in block.splitlines()]
with tempfile.TemporaryDirectory() as home:
    (pathlib.Path(home) / "gen5").symlink_to(ROOT)
    (pathlib.Path(home) / "empty").mkdir()
    # The compiler, flags and language of the default build: its objects are in ccache.
    environment = {"PATH": os.environ["PATH"], "HOME": home, "PIP_FIND_LINKS": str(fetch.wheels()), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                   "PIP_QUIET": "1", "CC": "/usr/bin/cc", "CXX": "/usr/bin/c++", "SKBUILD_CMAKE_DEFINE": "GEN5_WERROR=ON",
                   "CCACHE_DIR": os.environ.get("CCACHE_DIR") or str(pathlib.Path.home() / ".cache/ccache")}
    environment |= {k: v for k, v in os.environ.items() if k.startswith(("LANG", "LC_"))}
    done = subprocess.run(["bash", "--norc", "-c", "set -e\ncd ~/empty\n" + "\n".join(commands)], capture_output=True, text=True, env=environment)
lines = done.stdout.splitlines()
missing = [e for e in expected if e not in lines]
print(f"exit status {done.returncode}; {len(expected) - len(missing)} of {len(expected)} lines of the note came out")
if done.returncode or missing:
    print(done.stdout[-3000:], done.stderr[-4000:], "missing:", *missing, sep="\n")
    sys.exit(1)
