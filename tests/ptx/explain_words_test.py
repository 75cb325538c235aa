#!/usr/bin/env python3
"""gen5 explain OPCODE: each instruction that the chapters teach has words, and what they name exists.

  explain_words_test.py GEN5 ROOT
"""
import pathlib
import re
import subprocess
import sys

gen5, root = sys.argv[1], pathlib.Path(sys.argv[2])
TAUGHT = ("mbarrier.", "cp.async.bulk", "cp.reduce.async.bulk", "tcgen05.", "clusterlaunchcontrol.", "wgmma.")
# Variants that share a page of the manual with one that has words, or that no chapter uses.
WITHOUT = {"mbarrier.check_layout", "tcgen05.mma.ws.sp", "tcgen05.ld.red", "wgmma.mma_async.sp"}
headers = "\n".join(p.read_text() for p in sorted((root / "common/ptx").glob("*.h")))
wrong = []


def run(*words):
    done = subprocess.run([gen5, *words], capture_output=True, text=True)
    return done.returncode, done.stdout


names = re.findall(r"^ *([a-z][\w.]*) ", run("isa")[1], re.M)
taught = [n for n in names if n.startswith(TAUGHT) and n not in WITHOUT]
for name in sorted({*taught, "elect.sync", "griddepcontrol", "fence.mbarrier_init", "barrier.cluster.arrive", "setmaxnreg"}):
    code, text = run("explain", name)
    said = dict(re.findall(r"^  (\w[\w ]*?) {2,}(.*)$", text, re.M))
    missing = {"does", "executed by", "waits", "chapter"} - set(said)
    if code or missing:
        wrong.append(f"{name}: exit code {code}, without {', '.join(sorted(missing)) or 'nothing'}")
        continue
    chapter = said["chapter"]
    if not (root / "chapters" / chapter).exists() and not (root / "notes" / f"{chapter}.md").exists():
        wrong.append(f"{name}: there is no chapter {chapter}")
    for wrapper in re.findall(r"\w+", said.get("in CUDA", "").split(" (")[0]):
        stem = re.sub(r"_(32x32b|f16|mxf4)$", "", wrapper)
        if not re.search(rf"\b{stem}\w*\b", headers) and not re.search(rf"{stem}_##", headers):
            wrong.append(f"{name}: common/ptx has no {wrapper}")
    example = re.search(r"^  example +gen5 explain '(.*)'$", text, re.M)
    if example and example[1] != name:  # the opcode alone is explained in words
        target = ["--target", "sm_90a"] if name.startswith("wgmma") else []
        code, text = run("explain", *target, example[1])
        if code or "executes" not in text or name not in text:
            wrong.append(f"{name}: the example does not execute: {example[1]}\n{text}")
if len(taught) < 35:
    wrong.append(f"`gen5 isa` lists only {len(taught)} of the instructions that are taught: {taught}")
print("\n".join(wrong) or f"{len(taught)} instructions have words")
sys.exit(bool(wrong))
