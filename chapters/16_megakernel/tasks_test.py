"""A diagnosis of a mistake says which tasks its places belong to. Expected is what plan and kernel say on paper: hidden 256, 4 heads of 64 (2 kv heads),
intermediate 512, two sequences, 200 keys, tasks for 8 SMs. Then qkv has 4 tiles of two parts each, the first two tiles are kv head 0's, and an attention
has two parts, as 200 keys are two chunks. On Hopper qkv has 32 tiles of 16 rows, the first 16 of them kv head 0's, of a page each.

tasks_test.py PROGRAM MISTAKE CODE LINE...

Some diagnosis with that code has a line for each LINE, a regular expression.
"""
import os
import re
import subprocess
import sys

program, mistake, code, *lines = sys.argv[1:]
ORDERS = {"timed": {"GEN5_ORDER": "timed"}, "late": {"GEN5_ORDER": "late"}, "seed 1": {"GEN5_SEED": "1"}}

for order, setting in ORDERS.items():
    done = subprocess.run([program, "--mistake", mistake, "--kernel", "wrong"], capture_output=True, text=True, env={**os.environ, **setting})
    told = [d for d in re.split(r"^(?=tinygpu (?:error|warning|note)\[)", done.stderr, flags=re.M) if re.match(rf"tinygpu (?:error|warning)\[(?:{code})\]", d)]
    tasks = [re.findall(r"^    = task: (.*)", d, flags=re.M) for d in told]
    found = [t for t in tasks if all(any(re.search(line, one) for one in t) for line in lines)]
    assert found, f"{order}: {lines} is in no {code}:\n" + "\n\n".join("\n".join(t) for t in tasks)
    # Nothing of this kind happens before a warp's first task.
    assert all(tasks), (order, done.stderr)
    # The log is no fault itself.
    assert "log_taken" not in done.stderr, (order, done.stderr)
