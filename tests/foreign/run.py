#!/usr/bin/env python3
"""Builds and runs programs that others wrote, on tinygpu.

  run.py NAME [--order late|seeded]    one program; exit 0 right, 1 wrong, 77 it cannot be had here (with the reason)
  run.py --list [--long]               their names
  run.py --table [--long]              what the runs so far said, as a table for notes/your_kernels.md
  run.py --check-table [--long]        whether the note's table still says so; exit 77 where some have not run

--long: those that take more than about a minute to compile or to run (ctest's label foreign_long).
GEN5_FOREIGN_PROGRAMS names a folder in which programs lie built, each under its name: nothing is fetched or compiled then, and those of
Python are not there. GEN5 names the gen5 program (default: build/default/bin/gen5), NVCC the compiler. Builds are kept in the cache of fetch.py,
what the runs said beside that gen5.
"""

import argparse
import fcntl
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
RESULTS = pathlib.Path(GEN5).resolve().parent.parent / "foreign_results"
NVCC = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"

TUTORIAL = "examples/cute/tutorial"
VERIFIED = "Execution is successful"
PASSED = r"Disposition: Passed|: Passed$|^ \[OK\]|^Passed validation|verification passed"


class Program:
    def __init__(self, kind, source, args=(), expect=": .*right", arch="100a", machine="b200", needs=None, flags=(), times=1, long=False,
                 ptx_only=False):
        self.kind, self.source, self.args, self.expect, self.arch, self.machine = kind, source, list(args), expect, arch, machine
        self.needs = needs  # an instruction that tinygpu does not model yet: the program must stop at it, by name
        self.flags = list(flags)  # of nvcc, as the program's own CMakeLists.txt has them
        self.times = times  # how often `expect` must come
        self.ptx_only = ptx_only  # ptxas is left out: tinygpu reads the PTX
        self.long = long


def hopper(example, arguments, times=1, long=True, **more):
    """An example of CUTLASS for Hopper that compares with its own reference: the small problem that `arguments` name."""
    return Program("cutlass", f"examples/{example}", arguments.split(), PASSED, "90a", "h200", times=times, long=long, **more)


def blackwell(example, arguments, **more):
    """An example of CUTLASS for Blackwell that compares with its own reference: the small problem that `arguments` name."""
    return Program("cutlass", f"examples/{example}", [*arguments.split(), "--iterations=0"], PASSED, long=True, ptx_only=True, **more)


NARROW, SPARSE = "72_blackwell_narrow_precision_gemm", "84_blackwell_narrow_precision_sparse_gemm"

PROGRAMS = {
    "cutlass.mma": Program("cutlass", f"{TUTORIAL}/blackwell/01_mma_sm100.cu", expect=VERIFIED),
    "cutlass.mma_tma": Program("cutlass", f"{TUTORIAL}/blackwell/02_mma_tma_sm100.cu", expect=VERIFIED),
    "cutlass.mma_multicast": Program("cutlass", f"{TUTORIAL}/blackwell/03_mma_tma_multicast_sm100.cu", expect=VERIFIED),
    "cutlass.mma_pair": Program("cutlass", f"{TUTORIAL}/blackwell/04_mma_tma_2sm_sm100.cu", expect=VERIFIED),
    "cutlass.mma_epilogue": Program("cutlass", f"{TUTORIAL}/blackwell/05_mma_tma_epi_sm100.cu", expect=VERIFIED),
    "cutlass.sgemm_1": Program("cutlass", f"{TUTORIAL}/sgemm_1.cu", ["256", "256", "64"], "CUTE_GEMM"),
    "cutlass.sgemm_2": Program("cutlass", f"{TUTORIAL}/sgemm_2.cu", ["256", "256", "64"], "CUTE_GEMM"),
    "cutlass.sgemm_sm80": Program("cutlass", f"{TUTORIAL}/sgemm_sm80.cu", ["256", "256", "64", "T", "N"], "CUTE_GEMM"),
    "cutlass.tiled_copy": Program("cutlass", f"{TUTORIAL}/tiled_copy.cu", expect="Success"),
    "cutlass.wgmma": Program("cutlass", f"{TUTORIAL}/hopper/wgmma_sm90.cu", ["256", "256", "128"], "CUTE_GEMM", "90a", "h200"),
    "cutlass.wgmma_tma": Program("cutlass", f"{TUTORIAL}/hopper/wgmma_tma_sm90.cu", ["256", "256", "128"], "CUTE_GEMM", "90a", "h200"),
    "cutlass.hopper_gemm": hopper("48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu",
                                  "--m=256 --n=256 --k=128 --iterations=0", long=False),
    "cutlass.hopper_fp8": hopper("54_hopper_fp8_warp_specialized_gemm/54_hopper_fp8_warp_specialized_gemm.cu",
                                 "--m=256 --n=256 --k=256 --iterations=0", long=False),
    "cutlass.hopper_fmha": hopper("88_hopper_fmha/88_hopper_fmha.cu", "--b=1 --h=1 --q=128 --k=256 --d=64 --iterations=0 --verify",
                                  times=3, flags=["--use_fast_math"]),
    "cutlass.hopper_epilogue_swizzle": hopper("50_hopper_gemm_with_epilogue_swizzle/50_hopper_gemm_with_epilogue_swizzle.cu",
                                              "--m=256 --n=256 --k=128"),
    "cutlass.hopper_gett": hopper("51_hopper_gett/51_hopper_gett.cu",
                                  "--modeC=m,a,b,p,q,n,l --modeA=m,l,b,k,a --modeB=k,n,p,q,l --extents=m:32,a:4,b:2,n:32,k:64,l:2,p:2,q:2"),
    "cutlass.hopper_gather_scatter": hopper("52_hopper_gather_scatter_fusion/52_hopper_gather_scatter_fusion.cu",
                                            "--m=256 --n=256 --k=128 --batch_size=1 --index_size=128 --mode=n --iterations=1"),
    "cutlass.hopper_int4_bf16": hopper("55_hopper_mixed_dtype_gemm/55_hopper_int4_bf16_gemm.cu", "--m=256 --n=256 --k=256 --iterations=0"),
    "cutlass.hopper_grouped": hopper("57_hopper_grouped_gemm/57_hopper_grouped_gemm.cu",
                                     "--m=128 --n=128 --k=128 --groups=2 --iterations=0", times=4),
    "cutlass.hopper_topk_softmax": hopper("61_hopper_gemm_with_topk_and_softmax/61_hopper_gemm_with_topk_and_softmax.cu", "--iterations=0"),
    "cutlass.hopper_sparse": hopper("62_hopper_sparse_gemm/62_hopper_sparse_gemm.cu", "--m=256 --n=256 --k=256 --iterations=0"),
    "cutlass.hopper_weight_prefetch": hopper("63_hopper_gemm_with_weight_prefetch/63_hopper_gemm_with_weight_prefetch.cu",
                                             "--m=256 --n=64 --k=256 --iterations=0"),
    "cutlass.hopper_fp8_blockwise": hopper("67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling/"
                                           "67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling.cu",
                                           "--m=256 --n=256 --k=256 --iterations=0"),
    "cutlass.blackwell_fp16": blackwell("70_blackwell_gemm/70_blackwell_fp16_gemm.cu", "--m=256 --n=256 --k=256"),
    "cutlass.blackwell_fp8": blackwell("70_blackwell_gemm/70_blackwell_fp8_gemm.cu", "--m=256 --n=256 --k=256"),
    "cutlass.blackwell_nvfp4": blackwell(f"{NARROW}/72a_blackwell_nvfp4_bf16_gemm.cu", "--m=256 --n=256 --k=1024"),
    "cutlass.blackwell_nvfp4_out": blackwell(f"{NARROW}/72b_blackwell_nvfp4_nvfp4_gemm.cu", "--m=256 --n=256 --k=1024"),
    "cutlass.blackwell_mxfp8_mxfp4": blackwell(f"{NARROW}/72c_blackwell_mixed_mxfp8_bf16_gemm.cu", "--m=256 --n=256 --k=512"),
    "cutlass.blackwell_schedules": blackwell("71_blackwell_gemm_with_collective_builder/71_blackwell_gemm_with_collective_builder.cu",
                                             "--m=256 --n=256 --k=128", times=10),
    "cutlass.blackwell_preferred_cluster": blackwell("73_blackwell_gemm_preferred_cluster/blackwell_gemm_preferred_cluster.cu",
                                                     "--m=1024 --n=1024 --k=128"),
    "cutlass.blackwell_stream_k": blackwell("74_blackwell_gemm_streamk/blackwell_gemm_streamk.cu", "--m=256 --n=256 --k=512"),
    "cutlass.blackwell_grouped": blackwell("75_blackwell_grouped_gemm/75_blackwell_grouped_gemm.cu", "--m=256 --n=128 --k=128 --groups=2", times=2),
    "cutlass.blackwell_grouped_nvfp4": blackwell("75_blackwell_grouped_gemm/75_blackwell_grouped_gemm_block_scaled.cu",
                                                 "--m=256 --n=256 --k=256 --groups=2", times=2),
    "cutlass.blackwell_fp8_groupwise": blackwell("81_blackwell_gemm_blockwise/81_blackwell_gemm_groupwise.cu", "--m=256 --n=256 --k=256"),
    "cutlass.blackwell_sparse_fp16": blackwell("83_blackwell_sparse_gemm/83_blackwell_sparse_gemm.cu", "--m=256 --n=128 --k=128"),
    "cutlass.blackwell_sparse_nvfp4": blackwell(f"{SPARSE}/84a_blackwell_nvfp4_bf16_sparse_gemm.cu", "--m=256 --n=256 --k=512"),
    "cutlass.blackwell_sparse_mxfp8": blackwell(f"{SPARSE}/84b_blackwell_mixed_mxfp8_bf16_sparse_gemm.cu", "--m=256 --n=256 --k=512"),
    "deepgemm.scaled": Program("deepgemm", "scaled.cu", expect=": right", times=3, ptx_only=True),
    "deepgemm.hopper_scaled": Program("deepgemm", "hopper.cu", [], ": right", "90a", "h200", times=2, ptx_only=True),
    **{f"cccl.{p.stem}": Program("cccl", p.name) for p in sorted((HERE / "cccl").glob("*.cu"))},
    "triton.vector_add": Program("triton", "vector_add.py"),
    "triton.softmax": Program("triton", "softmax.py"),
    "triton.layer_norm": Program("triton", "layer_norm.py"),
    "triton.dropout": Program("triton", "dropout.py"),
    "triton.blocks": Program("triton", "blocks.py"),
    "triton.matmul_fp16": Program("triton", "matmul.py", ["fp16"]),
    "triton.matmul_bf16": Program("triton", "matmul.py", ["bf16"]),
    "triton.matmul_tf32": Program("triton", "matmul.py", ["fp32"]),
    "triton.matmul_two_ctas": Program("triton", "matmul.py", ["--num-ctas", "2"]),
    "triton.matmul_descriptor": Program("triton", "matmul_descriptor.py", ["tile"]),
    "triton.matmul_descriptor_two_ctas": Program("triton", "matmul_descriptor.py", ["tile", "--num-ctas", "2"]),
    "triton.matmul_persistent": Program("triton", "matmul_descriptor.py", ["persistent"]),
    "triton.matmul_persistent_two_ctas": Program("triton", "matmul_descriptor.py", ["persistent", "--num-ctas", "2"]),
    "triton.matmul_warp_specialized": Program("triton", "matmul_descriptor.py", ["warp_specialized"]),
    "triton.matmul_warp_specialized_two_ctas": Program("triton", "matmul_descriptor.py", ["warp_specialized", "--num-ctas", "2"]),
    "triton.gluon_pair": Program("triton", "gluon_pair.py"),
    "triton.gluon_scaled": Program("triton", "gluon_scaled.py", times=3),
    "triton.matmul_fp8": Program("triton", "matmul_scaled.py", ["plain"]),
    "triton.matmul_block_scaled": Program("triton", "matmul_scaled.py", ["scaled"]),
    "triton.dot_scaled_e5m2_e4m3": Program("triton", "dot_scaled.py", ["e5m2", "e4m3"]),
    "triton.dot_scaled_e4m3_mxfp4": Program("triton", "dot_scaled.py", ["e4m3", "e2m1"]),
    "triton.dot_scaled_mxfp4": Program("triton", "dot_scaled.py", ["e2m1", "e2m1"]),
    "triton.dot_scaled_nvfp4": Program("triton", "dot_scaled.py", ["e2m1", "e2m1", "nv"]),
    "triton.hopper_matmul_fp16": Program("triton", "matmul.py", ["fp16"], machine="h200"),
    "triton.hopper_matmul_tf32": Program("triton", "matmul.py", ["fp32"], machine="h200"),
    "triton.hopper_matmul_descriptor": Program("triton", "matmul_descriptor.py", ["tile"], machine="h200"),
    "triton.hopper_matmul_persistent": Program("triton", "matmul_descriptor.py", ["persistent"], machine="h200"),
    "triton.hopper_matmul_warp_specialized": Program("triton", "matmul_descriptor.py", ["warp_specialized"], machine="h200"),
    "triton.hopper_attention": Program("triton", "attention.py", ["pointers"], machine="h200"),
    "triton.hopper_attention_descriptor": Program("triton", "attention.py", ["descriptors"], machine="h200"),
    "triton.attention": Program("triton", "attention.py", ["pointers"]),
    "triton.attention_descriptor": Program("triton", "attention.py", ["descriptors"]),
    "triton.attention_warp_specialized": Program("triton", "attention.py", ["warp_specialized"]),
}


def build(name, program):
    """The executable of a C++ program, from the cache if nothing changed."""
    source = (fetch.cutlass() if program.kind == "cutlass" else HERE / program.kind) / program.source
    version = subprocess.run([NVCC, "--version"], capture_output=True, text=True).stdout
    code = f"compute_{program.arch}" if program.ptx_only else f"[sm_{program.arch},compute_{program.arch}]"
    gencode = f"-gencode=arch=compute_{program.arch},code={code}"
    command = [NVCC, "-std=c++20" if program.kind == "deepgemm" else "-std=c++17", "-O2", "-cudart", "shared", gencode, "--expt-relaxed-constexpr", "-lcuda"]
    if program.kind == "cutlass":
        root = fetch.cutlass()
        command += [f"-I{root}/include", f"-I{root}/tools/util/include", f"-I{root}/examples/common", *program.flags]
    if program.kind == "deepgemm":
        command.append(f"-I{fetch.deepgemm()}/{fetch.DEEPGEMM_HEADERS}")
    texts = [source.read_text(), *(h.read_text() for h in sorted((HERE / program.kind).glob("*.h")))]
    key = hashlib.sha256((version + " ".join(command) + "".join(texts)).encode()).hexdigest()[:16]
    executable = fetch.cache() / "programs" / f"{name}-{key}"
    executable.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{executable}.lock", "w") as lock:  # the same program in another order of completion may be building it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not executable.exists():
            libraries = pathlib.Path(GEN5).resolve().parent.parent / "lib"
            done = subprocess.run([*command, f"-L{libraries}", "-o", f"{executable}.new", str(source)], capture_output=True, text=True)
            if done.returncode:
                print(done.stdout + done.stderr)
                sys.exit(f"{name}: nvcc failed")
            os.rename(f"{executable}.new", executable)
    return [str(executable)]


MATRIX_INSTRUCTIONS = ["tcgen05.mma", "wgmma.mma_async", "mma.sync"]


def counter(text, name):
    """The sum over all kernels of what --counters prints under that name."""
    return sum(int(n) for n in re.findall(rf"^  {re.escape(name)} +(\d+)$", text, re.M))


def command_of(name):
    """A program's command line, its machine, and its environment."""
    program = PROGRAMS[name]
    if built := os.environ.get("GEN5_FOREIGN_PROGRAMS"):
        if program.kind == "triton":
            fetch.skip("it is no program that lies built")
        return [f"{built}/{name}", *program.args], program.machine, dict(os.environ)
    if program.kind == "deepgemm":
        fetch.fetch_deepgemm()
    elif program.kind != "cccl":
        fetch.fetch()
    environment = dict(os.environ, TRITON_CACHE_DIR=str(fetch.cache() / "triton"), TRITON_DEFAULT_FP_FUSION="1")
    command = [str(fetch.python()), str(HERE / "triton" / program.source)] if program.kind == "triton" else build(name, program)
    return [*command, *program.args], program.machine, environment


def run(name, order):
    program = PROGRAMS[name]
    command, _, environment = command_of(name)
    options = ["--counters", "--machine", program.machine] + (["--order", order] if order else [])
    start = time.monotonic()
    done = subprocess.run([GEN5, "run", *options, *command], capture_output=True, text=True, env=environment)
    seconds = time.monotonic() - start
    text = done.stdout + done.stderr
    right = done.returncode == 0 and len(re.findall(program.expect, done.stdout, re.M)) >= program.times
    missing = re.search(r"not modelled: (.*)", text)
    verdict = "right" if right else f"not modelled: {missing[1]}" if missing else "wrong"
    instructions = counter(text, "warp instructions")
    mmas = {i: n for i in MATRIX_INSTRUCTIONS if (n := counter(text, i))}
    operations = sum(counter(text, i + " operations") for i in mmas)
    record = {"name": name, "order": order or "timed", "verdict": verdict, "seconds": round(seconds, 1),
              "instructions": instructions, "mmas": mmas, "operations": operations}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.{record['order']}.json").write_text(json.dumps(record))
    print(f"{name} ({record['order']}): {verdict}, {seconds:.1f} s, {instructions:,} warp instructions", *(f"{n:,} {i}" for i, n in mmas.items()), sep=", ")
    if right and program.needs:
        print(f"it needs {program.needs} no more: take that off its line in run.py")
        return 1
    if right or (program.needs and missing and missing[1].startswith(program.needs)):
        return 0
    print(text[-6000:])
    return 1


ORDERS = ("timed", "late", "seeded")


def table(long, partly=False):
    """The lines of the table; None in place of a row whose program has not run in every order. `partly`: one that has run as timed has a row, without
    the verdicts of orders in which it has not run."""
    rows = [json.loads(p.read_text()) for p in sorted(RESULTS.glob("*.json"))]
    programs = {name: p for name, p in PROGRAMS.items() if p.long == long}
    lines = [f"| {'long ' if long else ''}program | as timed | latest | seeded | seconds | warp instructions | matrix instructions | their operations |",
             "|---|---|---|---|---|---|---|---|"]
    for name in programs:
        by_order = {r["order"]: r for r in rows if r["name"] == name}
        if "timed" not in by_order or (len(by_order) < len(ORDERS) and not partly):
            lines.append(None)
            continue
        # What stops at an instruction is named below the table.
        verdicts = " | ".join(by_order[o]["verdict"].partition(":")[0] if o in by_order else "" for o in ORDERS)
        timed = by_order["timed"]
        matrix = ", ".join(f"{n:,} `{i}`" for i, n in timed["mmas"].items())
        operations = f"{timed['operations']:,}" if matrix else ""
        lines.append(f"| {name} | {verdicts} | {timed['seconds']} | {timed['instructions']:,} | {matrix} | {operations} |")
    return lines + [""] + [f"* {name} stops with `not modelled: {p.needs}`." for name, p in programs.items() if p.needs]


def check_table(long):
    def lasting(lines):  # seconds differ from run to run, and instructions a little where a kernel polls
        return [[c for i, c in enumerate(line.split("|")) if i not in (5, 6)] for line in lines]

    def agree(made, noted):  # a verdict that is not there is of an order in which the program has not run here
        return len(made) == len(noted) and all(m == n or (i in (2, 3, 4) and not m.strip()) for i, (m, n) in enumerate(zip(made, noted)))

    now = table(long, partly=True)
    if None in now:
        fetch.skip("some programs have not run")
    note = (ROOT / "notes" / "your_kernels.md").read_text().splitlines()
    written = note[note.index(now[0]):] if now[0] in note else []
    wrong = [n for n, line in zip(now, written + [""] * len(now)) if not agree(*lasting([n, line]))]
    if wrong:
        print("notes/your_kernels.md does not say what `run.py --table` prints now:", *wrong, sep="\n")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--order", choices=ORDERS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check-table", action="store_true")
    parser.add_argument("--long", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(name for name, p in PROGRAMS.items() if p.long == args.long))
    elif args.table:
        print(*filter(lambda line: line is not None, table(args.long)), sep="\n")
    elif args.check_table:
        sys.exit(check_table(args.long))
    elif args.name in PROGRAMS:
        sys.exit(run(args.name, args.order if args.order != "timed" else None))
    else:
        parser.error("name one of: " + " ".join(PROGRAMS))


if __name__ == "__main__":
    main()
