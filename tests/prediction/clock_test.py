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
highest = microseconds("highest", plain)
expect("without tensor cores, power leaves the highest clock", abs(microseconds("power", plain) / highest - 1) < 1e-6)
expect("power is what seconds are by", microseconds(None, plain) == microseconds("power", plain))
expect("half the clock takes twice the time", abs(microseconds("990", plain) / highest - 2) < 1e-3)
product = "gemm_ring/tile:128x256/stages:3/m:1024/n:1024/k:1024"
highest = microseconds("highest", product)
slower = microseconds(None, product) / highest
expect(f"tensor cores lower the clock: {slower:.3f} times as long", 1.02 < slower < 1.4)
expect("a loop is never faster than one launch", microseconds("sustained", product) / highest >= slower)
done = run(None, product, "--counters")
both = re.search(r"MHz, cold and sustained +(\d+) (\d+)", done.stderr)
expect("--counters says which clock that is", both and abs(1980 / int(both[1]) - slower) < 0.002)
rates = re.search(r"TFLOP/s, the same +([\d.]+) ([\d.]+)", done.stderr)
cycles, launches = (int(re.search(rf"^  {what} +(\d+)$", done.stderr, re.M)[1]) for what in ("cycles", "launches"))
expect("and how many operations a second", abs(float(rates[1]) * 1e6 * cycles / int(both[1]) / (launches * 2 * 1024**3) - 1) < 0.01)
toggled, looked = (int(re.search(rf"operand bits {what} +(\d+)", done.stderr)[1]) for what in ("that toggle", "looked at"))
expect(f"operands' bits toggle: {toggled / looked:.2f}", 0.2 < toggled / looked < 0.5)
expect("its cycles have a band", re.search(r"cycles' error +± \d+ %, nine in ten within \d+ %: mean of \d+ held-out rows on an H200 \(tensor cores, wgmma", done.stderr))
alone = run(None, product, "--counters", "--timing-only")
expect("without values, power is that of usual operands", "power is that of normally distributed ones" in alone.stderr)
pinned = run("1500", product, "--counters").stderr
expect("at a clock that is asked for, power says nothing", f"microseconds                     {cycles / 1500:.2f}" in pinned and "joules" not in pinned)
for wrong in ("fast", "50", "1e3"):
    done = run(wrong, plain)
    expect(f"--clock {wrong} is refused", done.returncode != 0 and f"--clock: {wrong}: write power, sustained, highest, or 100 to 10000 MHz" in done.stderr)
