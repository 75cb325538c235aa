#!/usr/bin/env python3
"""misuse_test.py PROGRAM GOLDEN: every answer of PROGRAM is the golden file's, but for those listed here, which differ."""

import subprocess
import sys

# Answers that tinygpu does not give, by how their questions begin, and why.
DIFFERENT = {
    **{f"{place}: {what}": "a fault by chance (notes/evidence.md); tinygpu warns"
       for place in ("exited CTA", "exited CTA, full grid", "exited CTA, and the other exits at once", "CTA that exited a microsecond ago")
       for what in ("arrive", "expect_tx", "complete_tx", "store", "generic store")},
    "tensor map replaced before its first use": "the H200 reads the map as it was, and the data is wrong; tinygpu stops",
    "tensor map replaced after a use": "the same",
    "tensor map stored to after a use": "the same",
    "reserved shared memory": "tinygpu has nothing in the first KiB of shared memory, and stops",
    "bulk copy, mbarrier in another CTA": "the mbarrier is never completed and its waiters hang; tinygpu stops",
    "st.async, mbarrier in another CTA": "the same",
    "refused map: ": "the driver has written some fields by the time it refuses; tinygpu leaves the object alone",
}
# Of questions that begin like those above: the ones that are answered alike.
ALIKE = ["tensor map replaced after a use, acquired", "refused map: none", "refused map: rank", "refused map: no ", "refused map: dim",
         "refused map: box 0", "refused map: step 0"]


def answers(text):
    out, name = {}, None
    for line in text.splitlines():
        if line.startswith(" "):
            out[name] += "\n" + line
        else:
            name, _, answer = line.rpartition(": ")
            out[name] = answer
    return out


program, golden = sys.argv[1:]
want = answers(open(golden).read())
got = answers(subprocess.run([program], capture_output=True, text=True).stdout)
wrong = [f"{n}: not asked" for n in want.keys() - got.keys()] + [f"{n}: not in {golden}" for n in got.keys() - want.keys()]
known = 0
for name in want.keys() & got.keys():
    listed = any(name.startswith(d) for d in DIFFERENT) and not any(name.startswith(a) for a in ALIKE)
    known += listed
    if (want[name] != got[name]) != listed:
        wrong.append(f"{name}: {got[name]}, the H200 says {want[name]}" + (", and the list says that they differ" if listed else ""))
print(*sorted(wrong), f"{len(want)} questions, {known} of them known to differ, {len(wrong)} wrong", sep="\n")
sys.exit(bool(wrong))
