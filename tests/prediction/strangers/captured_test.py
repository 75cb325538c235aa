#!/usr/bin/env python3
"""captured_test.py GEN5 STRANGERS: what is kept of other libraries' launches is what the list says, and can be launched again."""
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

here = pathlib.Path(__file__).resolve().parent
gen5, strangers = sys.argv[1:]


def said(*command, code=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as folder:
    with tarfile.open(here / "captured.tar.xz") as kept:
        kept.extractall(folder, filter="data")
    captured = pathlib.Path(folder) / "captured"
    listed = [l for l in (here / "list.txt").read_text().splitlines() if not l.startswith("#")]
    own = [l for l in said(strangers, "--captured", captured, "--list").splitlines()]
    if [l for l in own if not l.startswith("cutlass/")] != [l for l in listed if not l.startswith("cutlass/")]:
        sys.exit("list.txt is not what captured.tar.xz holds")
    if any(l.startswith("cutlass/") for l in own) and own != listed:
        sys.exit("list.txt is not what the program has")
    for name in ("liger_group_norm/group_norm_forward_kernel", "inductor_group_norm_silu/per_fused_native_group_norm_1"):
        rows = said(gen5, "run", "--machine", "h200", "--timing-only", strangers, "--captured", captured, "--no-check", name)
        rows = [json.loads(l) for l in rows.splitlines() if l.startswith("{")]
        if not rows or any(r["cycles"] < 1000 for r in rows):
            sys.exit(f"{name}: {rows}")

refusal = said(strangers, "--captured", "/nowhere", code=1)
if "/nowhere/manifest.json cannot be read: capture.py writes it" not in refusal:
    sys.exit(f"a folder that is not there: {refusal}")
