#!/usr/bin/env python3
"""Every C++ file is as clang-format has it, by the version that formats this tree: others break lines elsewhere."""
import pathlib
import re
import subprocess
import sys

import changed

VERSION = "14"
UNSTABLE = {"common/tinygpu/isa/families.h"}  # formatted again, it is another
root = pathlib.Path(__file__).resolve().parent.parent.parent


def version_of(program):
    try:
        return re.search(r"version (\d+)", subprocess.run([program, "--version"], capture_output=True, text=True).stdout)[1]
    except OSError:
        return None


program = next((p for p in (f"clang-format-{VERSION}", "clang-format") if version_of(p) == VERSION), None)
if not program:
    changed.skip(f"no clang-format {VERSION} here (Debian 12 has it)")
listed = [f for f in changed.files(root) if not f.endswith(".inc") and f not in UNSTABLE]
done = subprocess.run([program, "--dry-run", "-Werror", *listed], cwd=root, capture_output=True, text=True)
wrong = sorted({line.split(":", 1)[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
print(f"{len(listed)} files, {len(wrong)} not formatted", *wrong, sep="\n  ")
if wrong:
    print(f"  mend with: {program} -i {' '.join(wrong)}")
sys.exit(1 if wrong or done.returncode else 0)
