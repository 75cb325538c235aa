#!/usr/bin/env python3
"""captured_test.py BIN NATIVE MODULE.wasm [--long] [--program NAME]: launches of real programs, captured (GEN5_CAPTURE), are run again by the machine
as WebAssembly, in Node, and by the same source compiled for this host: bits of memory, cycles, diagnoses and moments are the same. Default: two
chapters. --long: all parts and mistakes of all chapters in three orders, the conformance suites, and 100 random kernels; ctest has a test for each
program. Says after each run of a program how far it is. Exit code 77 where there is no module (scripts/web) or no node."""
import argparse
import base64
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import same_test

root = same_test.root
sys.path.insert(0, str(root / "book"))
import lessons  # noqa: E402

MOST_MEMORY = 24 << 20  # bytes of a launch
# Conformance suites, and how many of their cases; 0: all, in two orders.
SUITES = {"random_kernels": 100, "mma_sync": 200, "scalar": 400, "video": 100, "warp_matrices": 100, "wgmma": 60, "wgmma_programs": 60, "mbarrier": 0, "bulk_tensor": 0}


def launches(program, arguments, machine, changed, folder):
    """[(name, request)] of a run: each kernel of each module once."""
    environment = {**os.environ, "GEN5_DEVICE": "tinygpu", "GEN5_MACHINE": machine, "GEN5_CHECK": "quick", **changed, "GEN5_CAPTURE": str(folder)}
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=600)
    seen, left_out = set(), 0
    for path in sorted(folder.glob("*.json")):
        launch = json.loads(path.read_text())
        key = (tuple(launch["ptx"]), launch["kernel"])
        if key in seen:
            continue
        seen.add(key)
        if "left_out" in launch or len(launch["ptx"]) != 1 or sum(m["bytes"] for m in launch["memory"]) > MOST_MEMORY:
            left_out += 1
            continue
        yield launch["kernel"], request(folder, launch, machine)
    if not seen:
        print(f"launches nothing: exit code {done.returncode} {done.stderr[-200:]}")
    if left_out:
        print(f"{left_out} kernels left out: linked from several modules, or with more than {MOST_MEMORY >> 20} MiB")


def request(folder, launch, machine):
    def text(file):
        return base64.b64encode((folder / file).read_bytes()).decode()

    return {"do": "run", "machine": machine, "ptx": (folder / launch["ptx"][0]).read_text(), "kernel": launch["kernel"], "grid": launch["grid"], "block": launch["block"], "cluster": launch["cluster"],
            "shared": launch["shared"], "cooperative": launch["cooperative"], "packed": text(launch["parameters"]), "timeline": True, "max_cycles": 2_000_000,
            "memory": [{"address": m["address"], "bytes": m["bytes"], "data": text(m["file"])} for m in launch["memory"]],
            "variables": [{"name": v["name"], "data": text(v["file"])} for v in launch["variables"]]}


def runs(bin, long):
    """(program, arguments, machine, orders, what it sets)"""
    names = lessons.chapters(bin.parent)
    for name in names if long else [n for n in names if n in ("01_mbarrier", "05_mma")]:
        small = lessons.SMALL.get(name, [])
        orders = ("timed", "late", "seeded") if long else ("timed", "seeded")
        for part, _ in lessons.lists(bin / name):
            yield bin / name, ["--part", part, *small, *lessons.LADDERS.get(name, [])], "b200", orders, {}
        for mistake, _, _, _, changed in lessons.mistakes(root / "chapters" / name)[: None if long else 6]:
            yield bin / name, ["--mistake", mistake, "--kernel", "wrong", *small], "b200", orders, changed
    if not long:
        return
    for suite, some in SUITES.items():
        golden = next((root / "tests/conformance" / suite).glob("h200.golden*"))
        yield bin / f"conformance_{suite}", ["--check", str(golden), *(["--to", str(some)] if some else [])], "h200", ("timed",) if some else ("timed", "late"), None


class Compared:
    """Both machines, and in what they have differed."""

    def __init__(self, native, module):
        self.native, self.web = same_test.Side(native), same_test.Side("node", root / "web/page/node.js", module)
        self.count, self.statuses, self.diagnosed, self.different = 0, collections.Counter(), 0, 0

    def run(self, name, asked):
        for side in (self.native, self.web):
            side.ask(asked)
        one, other = self.native.answer(), self.web.answer()
        self.count += 1
        self.statuses[one["status"]] += 1
        self.diagnosed += len(one.get("diagnoses", [])) > 0
        if one["status"] in ("invalid", "refused"):
            print(f"{name}: {one['status']}: {one.get('message')}")
        if one != other:
            self.different += 1
            for k in {**one, **other}:
                if one.get(k) != other.get(k):
                    print(f"{name} differs in {k}: {str(one.get(k))[:160]} natively, {str(other.get(k))[:160]} here")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("native")
    parser.add_argument("module")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--program", default="", help="only this one")
    arguments = parser.parse_args()
    if not shutil.which("node") or not pathlib.Path(arguments.module).exists():
        print("skipped: needs node and scripts/web")
        return 77
    both, kernels = Compared(arguments.native, arguments.module), 0
    for program, words, machine, orders, changed in runs(arguments.bin, arguments.long):
        if arguments.program not in ("", program.name) or not program.exists():
            continue
        begin, before, here = time.monotonic(), both.different, 0
        checks = {} if changed is None else lessons.settings(changed)
        with tempfile.TemporaryDirectory() as made:
            for name, asked in launches(program, words, machine, changed or {}, pathlib.Path(made)):
                here += 1
                for order in orders:
                    both.run(f"{name}, {order}", {**asked, **checks, "order": order, "seed": 5})
        kernels += here
        print(f"{program.name} {' '.join(words)}: {here} kernels in {len(orders)} orders, {both.different - before} differ, {time.monotonic() - begin:.1f} s", flush=True)
    print(f"{both.count} runs of {kernels} kernels ({', '.join(f'{n} {s}' for s, n in sorted(both.statuses.items()))}; {both.diagnosed} with diagnoses), {both.different} differ")
    idle = both.statuses["invalid"] + both.statuses["refused"]
    if not both.count or idle > both.count // 20:
        print("too few of them ran")
        return 1
    return 1 if both.different else 0


if __name__ == "__main__":
    sys.exit(main())
