#!/usr/bin/env python3
"""captured_test.py BIN NATIVE MODULE.wasm [--long] [--only NAME]: launches of real programs, captured (GEN5_CAPTURE), are run again by the machine
as WebAssembly, in Node, and by the same source compiled for this host: bits of memory, cycles, diagnoses and moments are the same. Default: two
chapters. --long: all parts and mistakes of all chapters in three orders, the conformance suites, and 100 random kernels. Exit code 77 where
there is no module (scripts/web) or no node."""
import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import same_test

root = same_test.root
sys.path.insert(0, str(root / "book"))
import lessons  # noqa: E402

MOST_MEMORY = 24 << 20  # bytes of a launch


def launches(program, arguments, machine, folder, seconds=600):
    """[(name, request)] of a run: each kernel of each module once."""
    environment = {**os.environ, "GEN5_DEVICE": "tinygpu", "GEN5_MACHINE": machine, "GEN5_CAPTURE": str(folder), "GEN5_CHECK": "quick"}
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=seconds)
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
        yield f"{program.name} {' '.join(arguments)}: {launch['kernel']}", request(folder, launch, machine)
    if not seen:
        print(f"{program.name} {' '.join(arguments)} launches nothing: exit code {done.returncode} {done.stderr[-200:]}")
    if left_out:
        print(f"{program.name} {' '.join(arguments)}: {left_out} kernels left out: linked from several modules, or with more than {MOST_MEMORY >> 20} MiB")


def request(folder, launch, machine):
    def text(file):
        return base64.b64encode((folder / file).read_bytes()).decode()

    return {"do": "run", "machine": machine, "ptx": (folder / launch["ptx"][0]).read_text(), "kernel": launch["kernel"], "grid": launch["grid"], "block": launch["block"], "cluster": launch["cluster"],
            "shared": launch["shared"], "cooperative": launch["cooperative"], "packed": text(launch["parameters"]), "timeline": True, "max_cycles": 2_000_000,
            "memory": [{"address": m["address"], "bytes": m["bytes"], "data": text(m["file"])} for m in launch["memory"]],
            "variables": [{"name": v["name"], "data": text(v["file"])} for v in launch["variables"]]}


def runs(bin, long):
    """(program, arguments, machine, orders)"""
    names = lessons.chapters(bin.parent)
    for name in names if long else [n for n in names if n in ("01_mbarrier", "05_mma")]:
        small = lessons.SMALL.get(name, [])
        orders = ("timed", "late", "seeded") if long else ("timed", "seeded")
        for part, _ in lessons.lists(bin / name):
            yield bin / name, ["--part", part, *small, *lessons.LADDERS.get(name, [])], "b200", orders
        for mistake, *_ in lessons.mistakes(root / "chapters" / name)[: None if long else 6]:
            yield bin / name, ["--mistake", mistake, "--kernel", "wrong", *small], "b200", orders
    if not long:
        return
    for suite, some in (("random_kernels", 100), ("mma_sync", 200), ("scalar", 400), ("video", 100), ("warp_matrices", 100), ("wgmma", 60), ("wgmma_programs", 60)):
        golden = next((root / "tests/conformance" / suite).glob("h200.golden*"))
        yield bin / f"conformance_{suite}", ["--check", str(golden), "--to", str(some)], "h200", ("timed",)
    for suite, to in (("mbarrier", []), ("bulk_tensor", [])):
        yield bin / f"conformance_{suite}", ["--check", str(root / "tests/conformance" / suite / "h200.golden"), *to], "h200", ("timed", "late")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("native")
    parser.add_argument("module")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    arguments = parser.parse_args()
    if not shutil.which("node") or not pathlib.Path(arguments.module).exists():
        print("skipped: needs node and scripts/web")
        return 77
    native, web = same_test.Side(arguments.native), same_test.Side("node", root / "web/page/node.js", arguments.module)
    different, count, statuses, diagnosed, kernels = [], 0, {}, 0, {}
    for program, words, machine, orders in runs(arguments.bin, arguments.long):
        if arguments.only not in program.name or not program.exists():
            continue
        with tempfile.TemporaryDirectory() as made:
            for name, asked in launches(program, words, machine, pathlib.Path(made)):
                kernels[program.name] = kernels.get(program.name, 0) + 1
                for order in orders:
                    said = []
                    for side in (native, web):
                        side.ask({**asked, "order": order, "seed": 5})
                    for side in (native, web):
                        said.append(side.answer())
                    one, other = said
                    count += 1
                    statuses[one["status"]] = statuses.get(one["status"], 0) + 1
                    diagnosed += len(one.get("diagnoses", [])) > 0
                    if one["status"] in ("invalid", "refused"):
                        print(f"{name}, {order}: {one['status']}: {one.get('message')}")
                    if one != other:
                        keys = [k for k in {**one, **other} if one.get(k) != other.get(k)]
                        different.append(f"{name}, {order}: {', '.join(f'{k}: {str(one.get(k))[:160]} natively, {str(other.get(k))[:160]} here' for k in keys)}")
    print("\n".join(different[:40]))
    print(", ".join(f"{name} {n}" for name, n in kernels.items()))
    print(f"{count} runs of {sum(kernels.values())} kernels ({', '.join(f'{n} {s}' for s, n in sorted(statuses.items()))}; {diagnosed} with diagnoses), {len(different)} differ")
    idle = statuses.get("invalid", 0) + statuses.get("refused", 0)
    if not count or idle > count // 20:
        print("too few of them ran")
        return 1
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
