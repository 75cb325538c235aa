#!/usr/bin/env python3
"""What the debugger costs: a 1024 x 1024 x 1024 GEMM with it and without, and one step back in its middle.

  cost.py BUILD [RUNS]    processor seconds, the least of RUNS (default 5); seconds of steps back
"""
import os
import resource
import subprocess
import sys
import time

from session import Build, position_in

build = Build(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
GEMM = build.program("13_gemm", "--step", "8", "--timeline", "off")


def processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"GEN5_THREADS": "1", "GEN5_DEVICE": "tinygpu"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


off = min(processor_seconds(GEMM) for _ in range(RUNS))
on = min(processor_seconds([build.gen5, "debug", "--batch", "-x", "run", *GEMM]) for _ in range(RUNS))
print(f"without {off:.2f} s, with the debugger and no breakpoint {on:.2f} s: {on / off:.2f} times")

end = build.session("run", program=GEMM, code=0)[0]
middle = int(end.split("after ")[1].split(" steps")[0].replace(",", "")) // 2
shell = subprocess.Popen([build.gen5, "debug", *GEMM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def ask(command):
    """The answer's line with the position, and how long it took."""
    start = time.monotonic()
    shell.stdin.write(command + "\n")
    shell.stdin.flush()
    while "position" not in (line := shell.stdout.readline()):
        if not line:
            raise SystemExit(f"{command}: no answer")
    return position_in(line), time.monotonic() - start


print(f"goto {middle}: {ask(f'goto {middle}')[1]:.2f} s")
took = []
for command in ("backi", "backi", "back", "backi", "backi"):
    position, seconds = ask(command)
    took.append(f"{command} {seconds:.2f} s")
print(", ".join(took))
shell.stdin.write("quit\n")
shell.communicate()
