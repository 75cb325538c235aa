#!/usr/bin/env python3
"""cost_test.py 13_GEMM: what the check for races costs 13_gemm at 512 cubed: at most five times the processor's time and twice the memory."""

import os
import subprocess
import sys

RUNS = 3  # the quickest counts: other programs share the machine


def run(check):
    """Processor seconds and KiB of one run."""
    env = {**os.environ, "GEN5_DEVICE": "tinygpu", "GEN5_THREADS": "1", "GEN5_CHECK": check}
    child = subprocess.Popen([sys.argv[1], "--m", "512", "--n", "512", "--k", "512", "--timeline", "off"], env=env, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"13_gemm with GEN5_CHECK={check} ends with status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss


quick, races = ([run(check) for _ in range(RUNS)] for check in ("quick", "races"))
time = min(r[0] for r in races) / min(r[0] for r in quick)
memory = min(r[1] for r in races) / min(r[1] for r in quick)
print(f"13_gemm at 512 cubed with the check for races: {time:.2f} times the time, {memory:.2f} times the memory")
sys.exit(time > 5 or memory > 2)
