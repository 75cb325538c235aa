"""The tiny machine's numbers are those of the machine's profile that stand behind them.

numbers_test.py numbers.h PROFILE
"""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    said = re.findall(r"^constexpr \w+ (k\w+) = ([\d.]+);\s*// ([a-z0-9_.]+)$", file.read(), re.M)
with open(sys.argv[2], encoding="utf-8") as file:
    document = json.load(file)
profile = document["numbers"] | {f"device.{name}": number for name, number in document["device"].items()}
assert len(said) > 29, f"only {len(said)} numbers were found"
wrong = [f"{name} = {value}, and {key} is {profile[key]['value']}" for name, value, key in said if float(value) != profile[key]["value"]]
print("\n".join(wrong) or f"{len(said)} numbers are the profile's")
sys.exit(1 if wrong else 0)
