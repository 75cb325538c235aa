#!/usr/bin/env python3
"""Builds and runs programs that nobody of this repository wrote, on tinygpu.

  run.py NAME [--order late|seeded]    one program; exit 0 right, 1 wrong, 77 it cannot be had here (with the reason)
  run.py --list                        their names
  run.py --table                       what the runs so far said, as a table for notes/your_kernels.md

GEN5 names the gen5 program (default: build/default/bin/gen5), NVCC the compiler. Builds are kept in the cache of fetch.py.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import fetch

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GEN5 = os.environ.get("GEN5", str(ROOT / "build/default/bin/gen5"))
NVCC = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"

TUTORIAL = "examples/cute/tutorial"
VERIFIED = "Execution is successful"


class Program:
    def __init__(self, kind, source, args=(), expect="", arch="100a", machine="b200", needs=None):
        self.kind, self.source, self.args, self.expect, self.arch, self.machine = kind, source, list(args), expect, arch, machine
        self.needs = needs  # an instruction that tinygpu does not model yet: the program must stop at it, by name


PROGRAMS = {
    "cutlass.mma": Program("cutlass", f"{TUTORIAL}/blackwell/01_mma_sm100.cu", expect=VERIFIED),
    "cutlass.mma_tma": Program("cutlass", f"{TUTORIAL}/blackwell/02_mma_tma_sm100.cu", expect=VERIFIED),
    "cutlass.mma_multicast": Program("cutlass", f"{TUTORIAL}/blackwell/03_mma_tma_multicast_sm100.cu", expect=VERIFIED),
    "cutlass.mma_epilogue": Program("cutlass", f"{TUTORIAL}/blackwell/05_mma_tma_epi_sm100.cu", expect=VERIFIED, needs="tcgen05.mma.cta_group::2"),
    "cutlass.sgemm_1": Program("cutlass", f"{TUTORIAL}/sgemm_1.cu", ["256", "256", "64"], "CUTE_GEMM"),
    "cutlass.sgemm_2": Program("cutlass", f"{TUTORIAL}/sgemm_2.cu", ["256", "256", "64"], "CUTE_GEMM"),
    "cutlass.sgemm_sm80": Program("cutlass", f"{TUTORIAL}/sgemm_sm80.cu", ["256", "256", "64", "T", "N"], "CUTE_GEMM"),
    "cutlass.tiled_copy": Program("cutlass", f"{TUTORIAL}/tiled_copy.cu", expect="Success"),
    "cutlass.wgmma": Program("cutlass", f"{TUTORIAL}/hopper/wgmma_sm90.cu", ["256", "256", "128"], "CUTE_GEMM", "90a", "h200"),
    "cutlass.wgmma_tma": Program("cutlass", f"{TUTORIAL}/hopper/wgmma_tma_sm90.cu", ["256", "256", "128"], "CUTE_GEMM", "90a", "h200"),
    **{f"cccl.{p.stem}": Program("cccl", p.name, expect=": .*right") for p in sorted((HERE / "cccl").glob("*.cu"))},
    "triton.vector_add": Program("triton", "vector_add.py"),
    "triton.softmax": Program("triton", "softmax.py"),
    "triton.layer_norm": Program("triton", "layer_norm.py"),
    "triton.dropout": Program("triton", "dropout.py"),
    "triton.blocks": Program("triton", "blocks.py"),
    "triton.matmul_fp16": Program("triton", "matmul.py", ["fp16"]),
    "triton.matmul_bf16": Program("triton", "matmul.py", ["bf16"]),
    "triton.matmul_tf32": Program("triton", "matmul.py", ["fp32"]),
    "triton.matmul_two_ctas": Program("triton", "matmul.py", ["fp16", "--num-ctas", "2"]),
    "triton.matmul_descriptor": Program("triton", "matmul_descriptor.py", ["tile"]),
    "triton.matmul_persistent": Program("triton", "matmul_descriptor.py", ["persistent"]),
    "triton.matmul_warp_specialized": Program("triton", "matmul_descriptor.py", ["warp_specialized"]),
    "triton.attention": Program("triton", "attention.py", ["pointers"]),
    "triton.attention_descriptor": Program("triton", "attention.py", ["descriptors"]),
    "triton.attention_warp_specialized": Program("triton", "attention.py", ["warp_specialized"]),
}


def build(name, program):
    """The executable of a C++ program, from the cache if nothing changed."""
    source = (fetch.cutlass() if program.kind == "cutlass" else HERE / "cccl") / program.source
    version = subprocess.run([NVCC, "--version"], capture_output=True, text=True).stdout
    gencode = f"-gencode=arch=compute_{program.arch},code=[sm_{program.arch},compute_{program.arch}]"
    command = [NVCC, "-std=c++17", "-O2", "-cudart", "shared", gencode, "--expt-relaxed-constexpr", "-lcuda"]
    if program.kind == "cutlass":
        root = fetch.cutlass()
        command += [f"-I{root}/include", f"-I{root}/tools/util/include", f"-I{root}/examples/common"]
    key = hashlib.sha256((version + " ".join(command) + source.read_text()).encode()).hexdigest()[:16]
    executable = fetch.cache() / "programs" / f"{name}-{key}"
    if not executable.exists():
        executable.parent.mkdir(parents=True, exist_ok=True)
        libraries = pathlib.Path(GEN5).resolve().parent.parent / "lib"
        done = subprocess.run([*command, f"-L{libraries}", "-o", f"{executable}.new", str(source)], capture_output=True, text=True)
        if done.returncode:
            print(done.stdout + done.stderr)
            sys.exit(f"{name}: nvcc failed")
        os.rename(f"{executable}.new", executable)
    return [str(executable)]


def counters(text):
    """Warp instructions and MMAs of all kernels, from the lines that --counters prints."""
    instructions = sum(int(n) for n in re.findall(r"^  warp instructions +(\d+)$", text, re.M))
    mmas = sum(int(n) for n in re.findall(r"^  \S*mma\S* +(\d+)$", text, re.M))
    return instructions, mmas


def run(name, order):
    program = PROGRAMS[name]
    if program.kind != "cccl":
        fetch.fetch()
    environment = dict(os.environ, TRITON_CACHE_DIR=str(fetch.cache() / "triton"), TRITON_DEFAULT_FP_FUSION="1")
    command = [str(fetch.python()), str(HERE / "triton" / program.source)] if program.kind == "triton" else build(name, program)
    options = ["--counters", "--machine", program.machine] + (["--order", order] if order else [])
    start = time.monotonic()
    done = subprocess.run([GEN5, "run", *options, *command, *program.args], capture_output=True, text=True, env=environment)
    seconds = time.monotonic() - start
    text = done.stdout + done.stderr
    right = done.returncode == 0 and re.search(program.expect, done.stdout) is not None
    missing = re.search(r"not modelled: (.*)", text)
    verdict = "right" if right else f"not modelled: {missing[1]}" if missing else "wrong"
    instructions, mmas = counters(text)
    record = {"name": name, "order": order or "timed", "verdict": verdict, "seconds": round(seconds, 1), "instructions": instructions, "mmas": mmas}
    results = fetch.cache() / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{name}.{record['order']}.json").write_text(json.dumps(record))
    print(f"{name} ({record['order']}): {verdict}, {seconds:.1f} s, {instructions} warp instructions" + (f", {mmas} MMAs" if mmas else ""))
    if right or (program.needs and missing and missing[1].startswith(program.needs)):
        return 0
    print(text[-6000:])
    return 1


def table():
    rows = [json.loads(p.read_text()) for p in sorted((fetch.cache() / "results").glob("*.json"))]
    print("| program | as timed | latest | seconds | warp instructions |\n|---|---|---|---|---|")
    for name in PROGRAMS:
        by_order = {r["order"]: r for r in rows if r["name"] == name}
        if timed := by_order.get("timed"):
            late = by_order.get("late", {"verdict": ""})["verdict"]
            print(f"| {name} | {timed['verdict']} | {late} | {timed['seconds']} | {timed['instructions']:,} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--order", choices=["timed", "late", "seeded"])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(PROGRAMS))
    elif args.table:
        table()
    elif args.name in PROGRAMS:
        sys.exit(run(args.name, args.order if args.order != "timed" else None))
    else:
        parser.error("name one of: " + " ".join(PROGRAMS))


if __name__ == "__main__":
    main()
