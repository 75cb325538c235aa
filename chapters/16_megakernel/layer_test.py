"""What the chapter refuses, what its steps gain, and a layer of full size by the clock alone.

layer_test.py PROGRAM
"""
import json
import subprocess
import sys

program = sys.argv[1]


def run(*words):
    return subprocess.run([program, *words], capture_output=True, text=True)


# A sentence each, and exit code 2.
for words, sentence in {
    ("--graph", "cycle"): "The graph has a cycle: norm1.0, gate_up.0, norm2.0, out.0, attend.0, qkv.0, norm1.0.",
    ("--graph", "orphan"): "gate_up.0 reads z0, which no operation makes and which is not given.",
    ("--batch", "65"): "A batch of 65 does not fit",
    ("--prefill", "0"): "--prefill: Value 0 not in range",
    ("--prefill", "513"): "A prefill of 513 tokens does not fit: it may have 512.",
    ("--prefill", "200", "--batch", "2"): "A prefill is of one sequence, and the batch has 2",
    ("--prefill", "200", "--step", "6"): "Step 6 decodes, and takes no prefill",
    ("--ctas", "149"): "149 CTAs cannot all be on a chip of 148 SMs",
}.items():
    done = run(*words)
    assert done.returncode == 2 and sentence in done.stderr, (words, done.returncode, done.stderr)
    assert "All checks hold" not in done.stdout


def cycles(done, steps):
    assert done.returncode == 0, done.stderr
    assert "uninitialised" not in done.stderr, done.stderr
    values = json.loads(done.stdout)["parts"][0]["values"]
    return [values[f"step{s}.cycles"] for s in steps]


# A graph of launches waits between operations, dependent launches wait less, tasks least. At this size nothing but hand-overs counts, and one by a
# counter takes an H200 about as long as one by a dependent launch (1,000 and 1,050 cycles, probe_16_handover): so no margin is asked for. What tasks
# gain with weights to load is in predicted.json.
small = run("--all", "--timeline", "off", "--json")
two, three, four, five = cycles(small, (2, 3, 4, 5))
assert two > 1.1 * three and three > four and abs(four - five) < 0.1 * four, (two, three, four, five)
values = json.loads(small.stdout)["parts"][0]["values"]
assert values["step1.hand_over"] > 4 * values["step4.hand_over"], values

# Nothing is computed: no word about Tensor Memory that no MMA has written. The clock is nearly that of a run that computes: here no step
# has run before, and weights come from device memory.
timed = cycles(run("--step", "4", "--timeline", "off", "--json", "--timing-only"), (4,))[0]
assert abs(timed - four) < 0.1 * four, (timed, four)
# The second run, in which tasks write down their times, changes nothing in the first.
quick = run("--step", "4", "--timeline", "off", "--json", "--timing-only", "--no-notes")
assert cycles(quick, (4,))[0] == timed, (quick.stdout, timed)
assert "step4.hand_over" not in json.loads(quick.stdout)["parts"][0]["values"]
