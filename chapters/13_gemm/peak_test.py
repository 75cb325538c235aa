"""Each kind's peak, of which the chapter prints shares, is the machine profile's.

peak_test.py PROGRAM PROFILE
"""
import json
import subprocess
import sys

program, profile = sys.argv[1], sys.argv[2]
with open(profile, encoding="utf-8") as f:
    numbers = json.load(f)["numbers"]
for kind, name in {"bf16": "peak.f16", "fp8": "peak.f8", "mxf8": "peak.f8", "nvf4": "peak.f4"}.items():
    command = [program, "--kind", kind, "--m", "128", "--n", "128", "--k", "128", "--timeline", "off", "--json"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert said["parts"][0]["values"]["peak"] == numbers[name]["value"], (kind, said["parts"][0]["values"])
