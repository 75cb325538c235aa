#!/usr/bin/env python3
"""doubt_test.py GEN5 PROGRAM: gen5 machine NAME --doubt finds the estimates that a tiny launch hangs on, and says what is wrong with
its arguments."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

machines = pathlib.Path(__file__).resolve().parents[2] / "probes" / "machines"
gen5, program = sys.argv[1:]


def doubt(*arguments):
    return subprocess.run([gen5, "machine", *arguments], capture_output=True, text=True)


def expect(what, truth, done=None):
    if not truth:
        sys.exit(f"failed: {what}" + (f"\n{done.stdout}{done.stderr}" if done else ""))
    print(f"holds: {what}")


with tempfile.TemporaryDirectory() as folder:
    few = json.loads((machines / "b200.json").read_text())
    kept = {"launch.latency": few["numbers"]["launch.latency"], "launch.cta": few["numbers"]["launch.cta"], "fence.sys": few["numbers"]["fence.sys"]}
    for section in ("device", "instructions", "numbers"):
        for entry in few[section].values():
            for e in [entry] if "value" in entry else entry.values():
                if e not in kept.values():
                    for name in ("low", "high", "spread"):
                        e.pop(name, None)
    path = pathlib.Path(folder) / "few.json"
    path.write_text(json.dumps(few))
    done = doubt(path, "--jobs", "2", "--doubt", program)
    expect("it runs", done.returncode == 0, done)
    rows = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^(\S+) +\S+ +\S+ +\S+ +([+-]\d+) +([+-]\d+) ", done.stdout, re.M)}
    wanted = {k: (round(e["low"] - e["value"]), round(e["high"] - e["value"])) for k, e in kept.items() if k.startswith("launch")}
    expect(f"a launch's latency, and a CTA's, are in its cycles by as much as they are varied: {rows}", rows == wanted, done)
    expect("a fence that nothing waits for is not", "fence.sys" not in rows and "1 do not, a group at a time" in done.stdout, done)
    for e in kept.values():
        del e["low"], e["high"], e["spread"]
    path.write_text(json.dumps(few))
    done = doubt(path, "--doubt", program)
    expect("without spreads there is nothing to vary", done.returncode == 1 and "estimates has a spread" in done.stderr, done)

for what, arguments, said in (("a program is asked for", ["b200", "--doubt"], "PROGRAM"),
                              ("a machine too", ["--doubt"], "NAME"),
                              ("an unknown machine", ["b300x", "--doubt", program], 'no machine is called "b300x"'),
                              ("a program that is not there", ["b200", "--doubt", "/no/such/program"], "/no/such/program"),
                              ("a number of jobs", ["b200", "--jobs", "0", "--doubt", program], "--jobs"),
                              ("a program without --doubt", ["b200", program], program)):
    done = doubt(*arguments)
    expect(what, done.returncode not in (0, 139) and said in done.stdout + done.stderr, done)
