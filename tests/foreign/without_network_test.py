#!/usr/bin/env python3
"""With an empty cache and an index that cannot be reached, a foreign program exits 77 and says why."""

import os
import pathlib
import subprocess
import sys
import tempfile

RUN = pathlib.Path(__file__).resolve().parent / "run.py"

with tempfile.TemporaryDirectory() as empty:
    environment = dict(os.environ, XDG_CACHE_HOME=empty, PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL="http://127.0.0.1:9/simple",
                       PIP_RETRIES="0", PIP_NO_CACHE_DIR="1")
    done = subprocess.run([sys.executable, str(RUN), "triton.vector_add"], capture_output=True, text=True, env=environment)
    print(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    if done.returncode != 77 or not done.stdout.startswith("skipped: ") or "(is there a network?)" not in done.stdout:
        sys.exit("expected exit status 77 and the reason")
    if left := list(pathlib.Path(empty).rglob("*.json")) + list(pathlib.Path(empty).rglob("*.ready")):
        sys.exit(f"left behind, as if something had run: {left}")
