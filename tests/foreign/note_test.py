#!/usr/bin/env python3
"""Follows notes/your_kernels.md word for word: its commands, in an empty directory with an empty environment, in a home where the
clone is ~/gen5. Its pip takes the wheels from the cache of fetch.py; exits 77 where they cannot be had."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import fetch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NOTE = (ROOT / "notes" / "your_kernels.md").read_text()

fetch.fetch()  # skips without a network
commands = "\n".join(re.findall(r"^```bash\n(.*?)^```$", NOTE, re.M | re.S))
expected = ["62", "Execution is successful."] + re.findall(r"^```text\n(.*?)^```$", NOTE, re.M | re.S)[0].splitlines()
with tempfile.TemporaryDirectory() as home:
    (pathlib.Path(home) / "gen5").symlink_to(ROOT)
    (pathlib.Path(home) / "empty").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": home, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(fetch.wheels())}
    script = f"set -e\nshopt -s expand_aliases\ncd ~/empty\n{commands}"
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, env=environment)
lines = done.stdout.splitlines()
missing = [e for e in expected if e not in lines]
print(f"exit status {done.returncode}; {len(expected) - len(missing)} of {len(expected)} lines of the note came out")
if done.returncode or missing:
    print(done.stdout[-3000:], done.stderr[-3000:], "missing:", *missing, sep="\n")
    sys.exit(1)
