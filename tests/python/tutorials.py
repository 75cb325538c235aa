#!/usr/bin/env python3
"""Runs Triton's tutorials, their code as published, on tensors with device="cuda", and says what came of each.

  tutorials.py MACHINE [NAME…]   runs those whose names begin so (default: all); exit 77 where torch or the tutorials are not there
  tutorials.py --table           what they said so far, for notes/python_kernels.md
  tutorials.py --check-table     whether the note still says so; exit 77 where some have not run

GEN5_TRITON_TUTORIALS names python/tutorials of a clone of github.com/triton-lang/triton at the pinned version. Kernels stay as they are.
Sizes are a GPU's: what CUTS changes stands in the table, and a cut that does not fit fails.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import run

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "foreign"))

import fetch  # noqa: E402

RESULTS = run.LIBRARIES.parent / "tutorial_results"
MACHINES = ("b200", "h200")
END_OF_09 = '        proton.start("matmul", hook="triton")\n'

# Name: what is cut, in words; the lines that are replaced; pytest's arguments where the tutorial's check is a test.
CUTS = {
    "01-vector-add": ("the sweep ends at 32 Ki elements", [("range(12, 28, 1)", "range(12, 16, 1)")], None),
    "02-fused-softmax": ("two widths in the sweep", [("range(2, 100)", "range(2, 4)")], None),
    # A GPU compares two products of its tensor cores. torch's on the CPU sums without their truncation: some elements are one step of f16
    # away, which beyond 16 is more than the tutorial's 0.01.
    "03-matrix-multiplication": ("256 cubed, as in the sweep's first size; f16 may be one step from torch's",
                                 [("(512, 512)", "(256, 256)"), ("range(2, 33)", "range(2, 3)"), ("rtol = 1e-2 if is_hip_cdna2() else 0", "rtol = 2**-10")], None),
    "04-low-memory-dropout": ("nothing", [], None),
    # A GPU sums its gradients in f32; the CPU's f16 layer norm does not, and is 0.07 off.
    "05-layer-norm": ("no sweep; torch's own is asked for in f32",
                      [("bench_layer_norm.run(save_path='.', print_data=True)", ""),
                       ("layer_norm(x, w_shape, weight, bias, eps).to(dtype)", "layer_norm(x.float(), w_shape, weight.float(), bias.float(), eps).to(dtype)")],
                      None),
    "06-fused-attention": ("its test, with 1 x 2 heads of 256; no sweep",
                           [('"Z", [1, 4]', '"Z", [1]'), ('"H", [2, 48]', '"H", [2]'),
                            ('"N_CTX", [128, 1024, (2 if is_hip() else 4) * 1024]', '"N_CTX", [256]')], ["-q"]),
    "07-extern-functions": ("nothing", [], None),
    "08-grouped-gemm": ("groups to 256, as in the sweep's first size",
                        [("[1024, 512, 256, 128]", "[256, 128]"), ("range(7, 11)", "range(7, 8)"),
                         ("benchmark_batches.run(show_plots=True, print_data=True)", "")], None),
    "09-persistent-matmul": ("256 x 256 for 8192 x 8192, 2 of 24 configurations, no Proton",
                             [("validate(8192, 8192, args", "validate(256, 256, args"), (END_OF_09, "        raise SystemExit\n" + END_OF_09),
                              ("for BN in [128, 256]", "for BN in [128]"), ("for BK in [64, 128]", "for BK in [64]"),
                              ("for s in ([2, 3, 4])", "for s in ([3])")], None),
    "10-block-scaled-matmul": ("256 x 512 x 1024 for 8192 cubed, no Proton",
                               [("validate_block_scaled(8192, 8192, 8192, block_scale_type=args.format)",
                                 "validate_block_scaled(256, 512, 1024, block_scale_type=args.format)"), ("if args.bench:", "if False:")], None),
}


def verdict(code, said):
    if code or "❌" in said:
        return "wrong"
    return "not for this machine" if "⛔" in said else "right"


def run_one(folder, name, machine):
    _, changes, tests = CUTS[name]
    text = (folder / f"{name}.py").read_text()
    for old, new in changes:
        if old not in text:
            sys.exit(f"{name}.py has no {old!r} any more: the cuts are of another version")
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as temporary:
        # 07 names a library beside the tutorials, in a tree like that of Triton's repository.
        here = pathlib.Path(temporary) / "python" / "tutorials"
        here.mkdir(parents=True)
        script = here / f"{name}.py"
        script.write_text(text)
        packages = next((run.with_torch().parent.parent / "lib").glob("python3*/site-packages"))
        (pathlib.Path(temporary) / "third_party/nvidia/backend").mkdir(parents=True)
        (pathlib.Path(temporary) / "third_party/nvidia/backend/lib").symlink_to(packages / "triton/backends/nvidia/lib")
        environment = run.environment() | {"MPLBACKEND": "agg"}
        start = time.monotonic()
        if tests:
            command = ["-m", "pytest", "-p", "gen5._pytest", "-p", "no:cacheprovider", "--gen5", machine, "--gen5-orders", "timed", *tests, script]
        else:
            command = ["-m", "gen5", "--machine", machine, script]
        done = subprocess.run([run.with_torch(), *command], cwd=here, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return verdict(done.returncode, done.stdout), time.monotonic() - start, done.stdout


def run_all(machine, names):
    run.with_torch()
    if "GEN5_TRITON_TUTORIALS" not in os.environ:
        fetch.skip("Triton's tutorials are on no package index: GEN5_TRITON_TUTORIALS names python/tutorials of a clone of its repository")
    folder = pathlib.Path(os.environ["GEN5_TRITON_TUTORIALS"])
    RESULTS.mkdir(exist_ok=True)
    wrong = 0
    for name in CUTS:
        if names and not name.startswith(tuple(names)):
            continue
        result, seconds, said = run_one(folder, name, machine)
        print(f"{name} on {machine}: {result}, {seconds:.0f} s", flush=True)
        if result == "wrong":
            print(said[-4000:])
            wrong += 1
        (RESULTS / f"{name}.{machine}.json").write_text(json.dumps({"verdict": result}))
    return wrong > 0


def table():
    lines, missing = ["| tutorial | cut | b200 | h200 |", "|---|---|---|---|"], 0
    for name, (words, _, _) in CUTS.items():
        said = []
        for machine in MACHINES:
            path = RESULTS / f"{name}.{machine}.json"
            missing += not path.exists()
            said.append(json.loads(path.read_text())["verdict"] if path.exists() else "not run")
        lines.append(f"| {name} | {words} | {' | '.join(said)} |")
    return lines, missing


def check_table():
    lines, missing = table()
    if missing:
        fetch.skip("some tutorials have not run on both machines")
    note = (run.ROOT / "notes/python_kernels.md").read_text().splitlines()
    if wrong := [line for line in lines if line not in note]:
        print("notes/python_kernels.md does not say what `tests/python/tutorials.py --table` prints now:", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(*table()[0], sep="\n")
    elif sys.argv[1:] == ["--check-table"]:
        sys.exit(check_table())
    elif sys.argv[1:2] and sys.argv[1] in MACHINES:
        sys.exit(run_all(sys.argv[1], sys.argv[2:]))
    else:
        sys.exit(__doc__)
