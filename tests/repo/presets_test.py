#!/usr/bin/env python3
"""presets_test.py BUILD: every test preset of the build `default` that asks for a label finds tests with it. Nothing else notices a suite that CMake
leaves out."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

said = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--print-labels"], capture_output=True, text=True, check=True).stdout
labels = {line.strip() for line in said.partition("All Labels:")[2].splitlines()} - {""}
wanted = {p["name"]: p["filter"]["include"]["label"] for p in json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]
          if p["configurePreset"] == "default" and "include" in p["filter"]}
missing = [f"ctest --preset {name}: no test has a label like {label}" for name, label in wanted.items() if not any(re.search(label, l) for l in labels)]
print(f"{len(wanted) - len(missing)} of {len(wanted)} presets find tests among {len(labels)} labels", *missing, sep="\n")
sys.exit(bool(missing))
