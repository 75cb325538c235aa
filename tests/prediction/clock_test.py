#!/usr/bin/env python3
"""clock_test.py GEN5 HELD_OUT: seconds follow the clock that is asked for, and cycles do not."""

import json
import re
import subprocess
import sys


def run(clock, kernel, *more):
    command = [sys.argv[1], "run", "--machine", "h200", *(["--clock", clock] if clock else []), *more, sys.argv[2], kernel]
    return subprocess.run(command, capture_output=True, text=True)


def microseconds(clock, kernel):
    done = run(clock, kernel)
    if done.returncode:
        sys.exit(f"{clock}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)["microseconds"][-1]


def expect(what, truth):
    if not truth:
        sys.exit(f"failed: {what}")
    print(f"holds: {what}")


plain = "function/hash"
highest = microseconds(None, plain)
expect("without tensor cores, power leaves the highest clock", abs(microseconds("power", plain) / highest - 1) < 1e-6)
expect("half the clock takes twice the time", abs(microseconds("990", plain) / highest - 2) < 1e-3)
product = "gemm_ring/tile:128x256/stages:3/m:1024/n:1024/k:1024"
slower = microseconds("power", product) / microseconds("highest", product)
expect(f"tensor cores lower the clock: {slower:.3f} times as long", 1.02 < slower < 1.4)
done = run(None, product, "--counters")
clock = re.search(r"MHz that power leaves +(\d+)", done.stderr)
expect("--counters says which clock that is", clock and abs(1980 / int(clock[1]) - slower) < 0.002)
for wrong in ("fast", "50", "1e3"):
    done = run(wrong, plain)
    expect(f"--clock {wrong} is refused", done.returncode != 0 and f"--clock: {wrong}: write highest, power, or 100 to 10000 MHz" in done.stderr)
