#!/usr/bin/env python3
"""Builds those of NVIDIA's cuda-samples that are sized for a GPU, with nvcc, from a copy in which one constant is smaller. The copy lies in the folder
that is named, never in this repository.

  samples_small.py CLONE FOLDER [NAME…]   builds FOLDER/NAME/NAME (default: all of CHANGES) from a clone of github.com/NVIDIA/cuda-samples, whose
                                          runs `GEN5_CUDA_SAMPLES=FOLDER samples.py NAME…` keeps with what was changed
  --published                             without the changes, as published: what is slow on one core may end on another machine

Repetitions go first, since they add no work of another kind; the sizes of arrays only where one repetition is too much. A sample that compares with
its own CPU reference only under a macro (CPU_DEBUG) is built with it."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

CHANGED = "changed.txt"
GENCODE = [f"-gencode=arch=compute_{a},code=[sm_{a},compute_{a}]" for a in ("100a", "90a")]


def tiles(before, after):
    return [(f"#define {d}_TILES {before}", f"#define {d}_TILES {after}") for d in "MNK"]


# Name: what stands in one of its files, and what the copy has instead.
CHANGES = {
    "simpleStreams": [("nreps = 100;", "nreps = 1;")],
    "simplePitchLinearTexture": [("#define NUM_REPS 100", "#define NUM_REPS 1")],
    "convolutionSeparable": [("iterations = 16;", "iterations = 1;")],
    "convolutionTexture": [("iterations = 10;", "iterations = 1;")],
    "scan": [("iCycles = 100;", "iCycles = 1;")],
    "histogram": [("numRuns    = 16;", "numRuns    = 1;")],
    "graphMemoryFootprint": [("kernelTime            = 5;", "kernelTime            = 0.05;")],
    "bf16TensorCoreGemm": tiles(512, 32),
    "cudaTensorCoreGemm": tiles(256, 32),
    "dmmaTensorCoreGemm": tiles(1024, 64),
    "immaTensorCoreGemm": tiles(256, 32),
    "tf32TensorCoreGemm": tiles(512, 32),
    "BlackScholes": [("NUM_ITERATIONS = 512;", "NUM_ITERATIONS = 1;")],
    "BlackScholes_nvrtc": [("NUM_ITERATIONS = 512;", "NUM_ITERATIONS = 1;")],
    "HSOpticalFlow": [("nSolverIters = 500;", "nSolverIters = 5;")],
    "quasirandomGenerator": [("numIterations = 20;", "numIterations = 1;")],
    "MonteCarloMultiGPU": [("nOptions = 8 * 1024;", "nOptions = 64;")],
    "UnifiedMemoryPerf": [("maxSampleSizeInMb = 64;", "maxSampleSizeInMb = 1;")],
    "alignedTypes": [("NUM_ITERATIONS = 32;", "NUM_ITERATIONS = 1;")],
}
MACROS = {name: ["-DCPU_DEBUG=1"] for name in CHANGES if name.endswith("TensorCoreGemm")}
LIBRARIES = {"MonteCarloMultiGPU": ["-lcurand"], "BlackScholes_nvrtc": ["-lnvrtc", "-lcuda"], "quasirandomGenerator_nvrtc": ["-lnvrtc", "-lcuda"]}


def described(name):
    """The changes as the note's table shows them."""
    short = lambda text: re.sub(r"\s+", " ", text.removeprefix("#define ")).rstrip(";")  # noqa: E731
    return ", ".join([*(f"`{short(new)}` for `{short(old)}`" for old, new in CHANGES[name]), *(f"`{macro}`" for macro in MACROS.get(name, []))])


def change(folder, name):
    """Each `old` stands in exactly one place of the sources."""
    for old, new in CHANGES[name]:
        found = [path for path in sorted(folder.glob("*")) if path.suffix in (".cu", ".cpp", ".cuh", ".h") and old in path.read_text(errors="replace")]
        if len(found) != 1 or found[0].read_text().count(old) != 1:
            raise SystemExit(f"{name}: {old!r} stands in {len(found)} files")
        found[0].write_text(found[0].read_text().replace(old, new))


def sources(folder, name):
    """Those that NVIDIA's CMake file names."""
    named = re.search(rf"add_executable\({name}\s+([^)]*)\)", (folder / "CMakeLists.txt").read_text())
    return [word for word in named[1].split() if word.endswith((".cu", ".cpp"))]


def build(clone, out, name, published):
    folders = sorted(clone.glob(f"Samples/*/{name}"))
    if not folders:
        return f"{name}: not in {clone}"
    folder = out / name
    shutil.copytree(folders[0], folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("doc", ".vscode", CHANGED))
    flags = []
    if not published and name in CHANGES:
        change(folder, name)
        (folder / CHANGED).write_text(described(name) + "\n")
        flags = MACROS.get(name, [])
    for data in folder.glob("data/*"):
        shutil.copy2(data, folder)
    cuda = pathlib.Path(shutil.which("nvcc")).resolve().parent.parent
    command = ["nvcc", "-O2", "-std=c++17", "-rdc=true", "-lineinfo", "--extended-lambda", *GENCODE, *flags, "-I.", f"-I{clone}/Common",
               *sources(folder, name), "-o", name, f"-L{cuda}/lib64/stubs", "-lcudadevrt", *LIBRARIES.get(name, [])]
    made = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return f"{name}: " + ("built" if made.returncode == 0 else "does not compile\n" + made.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--published", action="store_true")
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda name: build(options.clone.resolve(), options.folder.resolve(), name, options.published), options.names or CHANGES))
    print("\n".join(said))
    return any(not line.endswith("built") for line in said)


if __name__ == "__main__":
    sys.exit(main())
