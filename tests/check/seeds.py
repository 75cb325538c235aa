#!/usr/bin/env python3
"""No false alarm: programs that are right, under `gen5 check` with twenty seeds.

  seeds.py [NAME…] [--seeds 20] [--cores N] [--seconds S]   checks all or these, those that take longest first; what is found goes to RESULTS
  seeds.py --list                                           their names
  seeds.py --table                                          what was found, by program, of all that RESULTS has
  seeds.py --write-note, --check-note                       that table in notes/mistakes.md: renews it, or says whether it holds

The programs are the chapters, with the ladder's steps and the Hopper twins, the conformance programs that have kernels which keep the rules, and
those that tests/foreign/run.py lists. Exit 1 if one of them has an error, ends otherwise than it should in any order, or has a warning that is in no
list: what kernels rely on is in common/tinygpu/base/relied_on.h, what is true of one program and harmless there in TRUE_WARNINGS below. Those that cannot be had here are named and left out. A program that takes longer than S seconds is
stopped, and counts as not checked.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NOTE = ROOT / "notes" / "mistakes.md"
sys.path.insert(0, str(ROOT / "tests" / "foreign"))
import kept
import run as foreign
import short_fill


class Program:
    def __init__(self, command, machine="b200", two_sms=False, seconds=1):
        self.command, self.machine, self.two_sms = command.split(), machine, two_sms
        self.seconds = seconds  # that one run takes, about: the longest begin first, and get several cores


def golden(subject, seconds, options="", kind=""):
    return Program(f"conformance_{subject} --check {ROOT}/tests/conformance/{subject}/h200.golden{kind} {options}", "h200", seconds=seconds)


PROGRAMS = {
    **{name: Program(name) for name in ("01_mbarrier", "02_bulk_tensor", "03_tmem_alloc", "04_tmem_ld_st", "05_mma", "06_mma_operands",
                                        "07_tmem_cp_shift", "08_mma_block_scaled", "09_mma_sparse", "10_mma_ws", "11_cta_pair", "12_launch_control")},
    **{f"13_gemm step {step}": Program(f"13_gemm --step {step} --m 256 --n 256 --k 320 --timeline off") for step in range(1, 9)},
    # On a machine of two SMs a CTA takes several tiles, and comes back to what it has used.
    **{f"13_gemm step {step}, two SMs": Program(f"13_gemm --step {step} --m 512 --n 512 --k 704 --timeline off", two_sms=True, seconds=2)
       for step in range(5, 9)},
    **{f"13_gemm {kind}": Program(f"13_gemm --kind {kind} --all --m 300 --n 424 --k 416 --timeline off", seconds=3) for kind in ("fp8", "mxf8", "nvf4")},
    "13_gemm_hopper": Program("13_gemm_hopper --m 256 --n 256 --k 320", "h200"),
    "13_gemm_hopper, two SMs": Program("13_gemm_hopper --m 512 --n 512 --k 704", "h200", two_sms=True, seconds=2),
    "14_attention": Program("14_attention --all --timeline off --heads 2 --batch 1 --queries 300 --keys 700", seconds=3),
    "14_attention causal": Program("14_attention --all --timeline off --heads 3 --batch 1 --queries 400 --keys 400 --dim 64 --causal", seconds=3),
    "14_attention_hopper": Program("14_attention_hopper --heads 1 --batch 2 --queries 400 --keys 700 --dim 64", "h200", seconds=2),
    "15_search": Program("15_search --part proof", seconds=2),
    "16_megakernel": Program("16_megakernel --all --timeline off --batch 3 --cache 130", seconds=3),
    "16_megakernel, three CTAs": Program("16_megakernel --timeline off --ctas 3 --batch 3 --cache 300 --layers 2", seconds=3),
    "conformance.random_kernels": golden("random_kernels", 2),
    "conformance.mma_sync": golden("mma_sync", 4, kind=".zst"),
    "conformance.video": golden("video", 3, kind=".zst"),
    "conformance.warp_matrices": golden("warp_matrices", 8, kind=".zst"),
    "conformance.wgmma": golden("wgmma", 9),
    "conformance.wgmma_programs": golden("wgmma_programs", 5),
}
# 00_order runs its wrong kernels beside the right ones, to show what is said of them.
# conformance_mbarrier and misuse break rules on purpose; so does bulk_tensor, whose kernels wait by the clock, since what is refused never lands; ordering
# asks what happens where nothing is promised; conformance_scalar has one access a thread and no synchronisation.

# Warnings that are true of these programs and harmless on hardware, as far as is known. What kernels rely on although no manual promises
# it is in common/tinygpu/base/relied_on.h; such a warning names its kernels itself.
RELIED_ON = "Known kernels do so"
TRUE_WARNINGS = {
    # Its last commits arrive at mbarriers that have been invalidated: an H200 goes on there (gen5 explain mbarrier-not-initialised).
    "triton.matmul_warp_specialized_two_ctas": ("mbarrier-not-initialised",),
    # Its descriptors are random: operands that lie over each other, and over those of other operations.
    "conformance.wgmma": ("operand-layout",),
    # Its producer asks for stages that are not read any more.
    "cutlass.wgmma_tma": ("group-not-waited",),
}
# With arguments of their own where their problems are larger than needed; and without a comparison by 65,536 threads that all update one word.
ARGUMENTS = {
    "cutlass.mma": "256 256 128", "cutlass.mma_tma": "256 256 128", "cutlass.mma_multicast": "512 1024 128", "cutlass.mma_pair": "512 1024 128",
    "cutlass.mma_epilogue": "512 1024 128", "cutlass.wgmma": "128 128 128",
    "cutlass.hopper_fmha": "--b=1 --h=1 --q=128 --k=256 --d=64 --iterations=0",
}
# Foreign programs of which one run takes long, in seconds.
SECONDS = {"cutlass.blackwell_schedules": 30, "cutlass.blackwell_preferred_cluster": 12, "cutlass.sgemm_1": 11, "cutlass.sgemm_2": 11, "cccl.thrust_sort": 10,
           "cutlass.mma_multicast": 5, "cutlass.mma_pair": 5, "cutlass.mma_epilogue": 5, "cutlass.blackwell_stream_k": 5, "cutlass.blackwell_grouped": 5}
SLOTS = 8  # cores that one long program gets at most
LONG = 10  # seconds


def names():
    return [*PROGRAMS, *foreign.PROGRAMS]


def seconds_of(name):
    return PROGRAMS[name].seconds if name in PROGRAMS else SECONDS.get(name, 2)


def two_sms(machine, folder):
    profile = json.loads((ROOT / "probes" / "machines" / f"{machine}.json").read_text())
    profile["device"]["sms"]["value"] = 2
    (folder / f"{machine}.json").write_text(json.dumps(profile))


def dump(gen5, machine, command, environment, folder):
    """The program's PTX, short where it fills its operands; how many ways have been left out."""
    subprocess.run([gen5, "run", "--machine", machine, "--max-cycles", "1", "--dump-ptx", folder, *command], capture_output=True, env=environment)
    ways = 0
    for file in folder.glob("*.ptx"):
        text, n = short_fill.shorten(file.read_text())
        ways += n
        file.write_text(text) if n else file.unlink()
    return ways


def place(result):
    """Where a finding lies: the source line, or the line of the PTX."""
    at = result["locations"][0]
    p = at.get("physicalLocation", {})
    file = pathlib.Path(p.get("artifactLocation", {}).get("uri", "")).name
    line = p.get("region", {}).get("startLine")
    return f"{file}:{line}" if file and line else f"ptx line {at.get('properties', {}).get('ptxLine', '?')}"


def check(name, build, seeds, jobs, limit):
    """What `gen5 check` says of a program."""
    gen5, environment = str(build / "bin" / "gen5"), dict(os.environ, GEN5_DEVICE="tinygpu")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if name in PROGRAMS:
            program = PROGRAMS[name]
            machine, command = program.machine, [str(build / "bin" / program.command[0]), *program.command[1:]]
            if program.two_sms:
                two_sms(machine, folder)
                environment["GEN5_MACHINE_DIR"] = str(folder)
        else:
            program = foreign.PROGRAMS[name]
            command, machine, environment = foreign.command_of(name)
            if name in ARGUMENTS:
                command[1:] = ARGUMENTS[name].split()
            if program.kind == "cutlass" and (n := dump(gen5, machine, command, environment, folder)):
                environment["GEN5_REPLACE_PTX"] = str(folder)
        sarif = folder / "found.sarif"
        start = time.monotonic()
        try:
            done = subprocess.run([gen5, "check", "--keep-going", "--threads", "1", "--jobs", str(jobs), "--seeds", str(seeds), "--machine", machine,
                                   "--sarif", str(sarif), *command],
                                  capture_output=True, text=True, errors="replace", env=environment, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"name": name, "too long": limit}
        seconds = time.monotonic() - start
        log = json.loads(sarif.read_text())["runs"][0] if sarif.exists() else {}
    record = {"name": name, "runs": 2 + seeds, "seconds": round(seconds, 1), "code": done.returncode, "errors": [], "listed": [], "unknown": []}
    for f in log.get("results", ()):
        known = RELIED_ON in f["message"]["text"] or f["ruleId"] in TRUE_WARNINGS.get(name, ())
        if f["level"] in ("error", "warning"):
            kind = "errors" if f["level"] == "error" else "listed" if known else "unknown"
            record[kind].append([f["ruleId"], place(f), f["message"]["text"][:300]])
    failed = [n["message"]["text"] for i in log.get("invocations", ()) for n in i.get("toolExecutionNotifications", ())]
    if not log or (done.returncode and not record["errors"] and not failed):
        failed.append((done.stdout + done.stderr)[-2000:])
    record["failed"] = failed
    return record


def bad(record):
    return "too long" in record or record["errors"] or record["unknown"] or record["failed"]


def table(results):
    last = {r["name"]: r for r in results if "too long" not in r}
    lines = [f"{'program':<44}{'runs':>6}  errors  warnings, all in the list"]
    for name in names():
        if r := last.get(name):
            counts = collections.Counter(w[0] for w in r["listed"])
            found = ", ".join(sorted(counts)) or "none"
            wrong = ", ".join(sorted({e[0] for e in r["errors"] + r["unknown"]}) + (["failed"] if r["failed"] else []))
            lines.append(f"{name:<44}{r['runs']:>6}  {wrong or 'none':<6}  {found}")
    return "\n".join(lines) + "\n"


class Cores:
    """So many at once; a task that needs several waits for all of them."""

    def __init__(self, count):
        self.free, self.turn, self.changed = count, threading.Lock(), threading.Condition()

    def take(self, count):
        with self.turn, self.changed:
            self.changed.wait_for(lambda: self.free >= count)
            self.free -= count

    def give(self, count):
        with self.changed:
            self.free += count
            self.changed.notify_all()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("name", nargs="*")
    options.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "default")
    options.add_argument("--results", type=pathlib.Path)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--cores", type=int, default=os.cpu_count())
    options.add_argument("--seconds", type=float, default=3600)
    for what in ("list", "table", "write-note", "check-note"):
        options.add_argument(f"--{what}", action="store_true")
    o = options.parse_args()
    build = o.build.resolve()
    results = o.results or build / "seeds.jsonl"
    if o.list:
        return print("\n".join(names()))
    if o.table or o.write_note or o.check_note:
        text = table(map(json.loads, results.read_text().splitlines()))
        if o.table:
            return print(text, end="")
        sys.exit(kept.settle(NOTE, {"tests/check/seeds.py --table": text.splitlines()}, o.write_note, __file__))
    for name in set(o.name) - set(names()):
        sys.exit(f"there is no program {name}: --list")
    if not o.name:
        results.unlink(missing_ok=True)
    foreign.GEN5 = str(build / "bin" / "gen5")
    cores, writing, wrong = Cores(o.cores), threading.Lock(), []

    def one(name):
        jobs = min(SLOTS, o.cores) if seconds_of(name) >= LONG else 1
        cores.take(jobs)
        try:
            record = check(name, build, o.seeds, jobs, o.seconds)
        except SystemExit as why:  # it cannot be had here; fetch.py has said why
            print(f"{name}: not checked{'' if why.code in (None, 77) else f': {why.code}'}", flush=True)
            return
        finally:
            cores.give(jobs)
        with writing:
            with open(results, "a") as out:
                out.write(json.dumps(record) + "\n")
            if "too long" in record:
                print(f"NOT {name}: not over after {o.seconds:.0f} s", flush=True)
            else:
                print(f"{'NOT' if bad(record) else 'ok '} {name}: {record['runs']} runs, {record['seconds']} s, {len(record['errors'])} errors, "
                      f"{len(record['listed']) + len(record['unknown'])} warnings, {len(record['unknown'])} of them in no list", flush=True)
                for f in record["errors"] + record["unknown"]:
                    print(f"      {f[0]} at {f[1]}: {f[2]}", flush=True)
                for f in record["failed"]:
                    print(f"      {f}", flush=True)
            if bad(record):
                wrong.append(name)

    work = sorted(o.name or names(), key=seconds_of, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(o.cores) as pool:
        list(pool.map(one, work))
    sys.exit(f"{len(wrong)} of {len(work)}: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
