#!/usr/bin/env python3
"""Runs NVIDIA's cuda-samples, which lie built somewhere, on tinygpu.

  samples.py [WORD…] [--machine M]   those whose names are or contain one of these words (default: all), on both machines; exit 1 where one is
                                     wrong, 77 where they are not there
  samples.py --list                  what runs, with its arguments, and what does not, with the reason
  samples.py --keep                  puts what these runs said into samples_said.json, which makes the note's table
  samples.py --table                 that table; --write-note renews it in notes/reference/cuda_samples.md, --check-note looks whether it is there
  samples.py --check-results         whether the runs said what samples_said.json says; exit 77 where none has run

GEN5_CUDA_SAMPLES names the folder that NVIDIA's build left, or several with colons between: a program NAME lies in a folder NAME. A program that
samples_small.py built says in changed.txt beside it what is smaller in its source, and so does the table. GEN5 names the gen5 program. A sample compares with its own reference, and its exit code says how that went; 2 is its own word for "I cannot run here"."""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import fetch
import kept
import samples_small

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GEN5 = os.environ.get("GEN5", str(ROOT / "build/default/bin/gen5"))
RESULTS = pathlib.Path(GEN5).resolve().parent.parent / "sample_results"
NOTE = ROOT / "notes/reference/cuda_samples.md"
SAID = pathlib.Path(__file__).resolve().parent / "samples_said.json"
MACHINES = ("b200", "h200")
SECONDS = float(os.environ.get("GEN5_SAMPLE_SECONDS", 300))
SMALL_MATRICES = "-wA=96 -hA=64 -wB=128 -hB=96"

# Name: arguments. Without any it runs as it is. They make a problem smaller, where the sample can be asked to.
SAMPLES = {name: "" for name in """
    vectorAdd vectorAddDrv vectorAddMMAP vectorAdd_nvrtc asyncAPI clock clock_nvrtc fp16ScalarProduct simpleAssert simpleAssert_nvrtc simplePrintf
    simpleTemplates simpleVoteIntrinsics template simpleAtomicIntrinsics simpleAtomicIntrinsics_nvrtc simpleAttributes simpleCallback
    simpleCooperativeGroups simpleOccupancy simpleDrvRuntime simpleHyperQ simpleMultiCopy simpleMultiGPU simpleStreams simpleZeroCopy simpleTexture
    simpleTextureDrv simpleLayeredTexture simpleCubemapTexture simplePitchLinearTexture simpleSurfaceWrite matrixMul matrixMulDrv
    matrixMulDynlinkJIT matrixMul_nvrtc mergeSort simpleAWBarrier systemWideAtomics cudaOpenMP
    deviceQuery deviceQueryDrv topologyQuery
    inlinePTX inlinePTX_nvrtc shfl_scan streamOrderedAllocation threadFenceReduction scalarProd scan sortingNetworks convolutionSeparable
    convolutionTexture histogram reductionMultiBlockCG reduction interval MC_EstimatePiInlineP MC_EstimatePiInlineQ
    MC_SingleAsianOptionP dct8x8 eigenvalues radixSortThrust segmentationTreeThrust threadMigration
    StreamPriorities binaryPartitionCG newdelete ptxjit simpleCudaGraphs warpAggregatedAtomicsCG cudaCompressibleMemory graphMemoryNodes
    graphMemoryFootprint graphConditionalNodes jacobiCudaGraphs globalToShmemAsyncCopy bf16TensorCoreGemm cudaTensorCoreGemm dmmaTensorCoreGemm
    immaTensorCoreGemm tf32TensorCoreGemm cdpSimplePrint cdpSimpleQuicksort cdpQuadtree cdpBezierTessellation cdpAdvancedQuicksort
    BlackScholes BlackScholes_nvrtc FDTD3d binomialOptions binomialOptions_nvrtc dxtc fastWalshTransform HSOpticalFlow quasirandomGenerator
    quasirandomGenerator_nvrtc SobolQRNG stereoDisparity MonteCarloMultiGPU p2pBandwidthLatencyTest
    conjugateGradientMultiBlockCG lineOfSight NV12toBGRandResize dwtHaar1D LargeKernelParameter UnifiedMemoryPerf alignedTypes cudaGraphsPerfScaling transpose
    """.split()} | {
    "matrixMul": SMALL_MATRICES,
    "matrixMul_nvrtc": SMALL_MATRICES,
    "threadFenceReduction": "--n=65536",
    "reduction": "--n=65536",
    "reductionMultiBlockCG": "--n=65536",
    "shfl_scan": "",
    "histogram": "--sizemult=1",
    "transpose": "-dimX=128 -dimY=128",
    "eigenvalues": "--matrix-size=64 --iters-timing=1",
    "radixSortThrust": "-n=16384 -iterations=1",
    "FDTD3d": "--dimx=96 --dimy=96 --dimz=96 --timesteps=1",
    "SobolQRNG": "--vectors=1000 --dimensions=20",
    "UnifiedMemoryPerf": "-kernel-iterations=1",
    "globalToShmemAsyncCopy": "-wA=64 -hA=64 -wB=64 -hB=64",
    "NV12toBGRandResize": "-input=data/test1920x1080.nv12 -width=1920 -height=1080 -dst_width=640 -dst_height=480 -batch=1",
    "p2pBandwidthLatencyTest": "--numElems=10000",
    "cdpSimplePrint": "-depth=2",
    "cdpAdvancedQuicksort": "-size=5000",
    "MC_EstimatePiInlineP": "--sims=100000",
    "MC_EstimatePiInlineQ": "--sims=100000",
    "MC_SingleAsianOptionP": "--sims=100000",
}

# What has not been run, for its size, which no argument changes.
LARGE = {"segmentationTreeThrust": "the spanning tree of 1.2 million pixels"}

# Why the others do not run.
LEFT_OUT = {
    "a window, OpenGL, EGL, Vulkan or Direct3D": """
        simpleCUDA2GL simpleTexture3D EGLStream_CUDA_CrossGPU EGLStream_CUDA_Interop FunctionPointers boxFilter imageDenoising particles bindlessTexture
        Mandelbrot SobelFilter bicubicTexture bilateralFilter fluidsGL marchingCubes nbody postProcessGL recursiveGaussian simpleD3D11
        simpleD3D11Texture simpleD3D12 simpleGL simpleVulkan simpleVulkanMMAP smokeParticles volumeFiltering volumeRender vulkanImageCUDA oceanFFT
        randomFog""",
    "machine code of NVIDIA's libraries (cuBLAS, cuFFT, cuSPARSE, cuSOLVER, cuRAND, NPP, nvJPEG, nvJitLink, libNVVM)": """
        FilterBorderControlNPP MersenneTwisterGP11213 batchCUBLAS boxFilterNPP cannyEdgeDetectorNPP conjugateGradient conjugateGradientCudaGraphs
        conjugateGradientPrecond conjugateGradientUM cuSolverDn_LinearSolver cuSolverRf cuSolverSp_LinearSolver cuSolverSp_LowlevelCholesky
        cuSolverSp_LowlevelQR freeImageInteropNPP histEqualizationNPP matrixMulCUBLAS nvJPEG nvJPEG_encoder simpleCUBLAS simpleCUBLASXT
        UnifiedMemoryStreams MC_EstimatePiP MC_EstimatePiQ simpleCUBLAS_LU simpleCUFFT simpleCUFFT_callback watershedSegmentationNPP convolutionFFT2D cuda-c-linking jitLto""",
    "a second GPU": "simpleP2P streamOrderedAllocationP2P conjugateGradientMultiDeviceCG simpleCUFFT_2d_MGPU simpleCUFFT_MGPU",
    "a second process, MPI or NvSci": "simpleIPC simpleMPI memMapIPCDrv streamOrderedAllocationIPC cudaNvSci",
}


def program_of(name):
    for folder in os.environ.get("GEN5_CUDA_SAMPLES", "").split(":"):
        if folder:
            for path in sorted(pathlib.Path(folder).glob(f"**/{name}/{name}")):
                if path.is_file() and os.access(path, os.X_OK):
                    return path.resolve()
    return None


def verdict(code, said):
    """In words, and why where it is not right."""
    refusals = r"error\[(?:not-modelled|not-implemented|private-interface)\]: (.*)"
    refused = re.search(refusals, said) or re.search(r"(\w+ is not implemented by tinygpu.*)", said)
    broken = re.search(r"\bFAIL(?:ED)?\b|[Tt]est failed|Result = FAIL|Errors detected|mismatch i=", said)
    if code == 0 and not broken:
        return "right", ""
    if code == 2:
        lines = [line for line in said.splitlines() if re.search(r"waiv|require|not support|does not|need", line, re.I)]
        return "declines", lines[-1].strip() if lines else ""
    if refused:
        return "refused", refused[1]
    lines = [line for line in said.splitlines() if "tinygpu error[" in line] or [line for line in said.splitlines() if broken and broken[0] in line]
    return "wrong", lines[0].strip() if lines else f"exit code {code}"


def path_of(name, machine):
    return RESULTS / f"{name}.{machine}.json"


def run_one(program, name, machine):
    start = time.monotonic()
    # Its own exit code counts, though a diagnosis may say more.
    command = [GEN5, "run", "--exit-code", "0", "--machine", machine, str(program), *SAMPLES[name].split()]
    process = subprocess.Popen(command, cwd=program.parent, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
    try:
        said = process.communicate(timeout=SECONDS)[0]
        result, why = verdict(process.returncode, said)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        said = process.communicate()[0]
        result, why = "slow", f"more than {SECONDS:.0f} s"
    codes = sorted(set(re.findall(r"tinygpu (?:warning|error)\[([\w-]+)\]", said)))
    changed = program.parent / samples_small.CHANGED
    return {"verdict": result, "why": why[:160], "codes": codes, "seconds": round(time.monotonic() - start),
            "changed": changed.read_text().strip() if changed.exists() else ""}, said


def run_all(words, machines):
    if not os.environ.get("GEN5_CUDA_SAMPLES"):
        fetch.skip("GEN5_CUDA_SAMPLES names no folder of built samples (github.com/NVIDIA/cuda-samples)")
    RESULTS.mkdir(parents=True, exist_ok=True)
    wrong = ran = 0
    for name in SAMPLES:
        if words and not any(word == name or (word not in SAMPLES and word in name) for word in words):
            continue
        program = program_of(name)
        if program is None:
            print(f"{name}: no such program in {os.environ['GEN5_CUDA_SAMPLES']}", flush=True)
            continue
        for machine in machines:
            result, said = run_one(program, name, machine)
            ran += 1
            wrong += result["verdict"] == "wrong"
            print(f"{name} on {machine}: {result['verdict']} {result['why']} {' '.join(result['codes'])} {result['seconds']} s", flush=True)
            path_of(name, machine).with_suffix(".txt").write_text(said)
            path_of(name, machine).write_text(json.dumps(result))
    if not ran:
        fetch.skip("none of these samples lies built there")
    return wrong > 0


def cell(said, name):
    if said is None:
        return "not run" + (f": {LARGE[name]}" if name in LARGE else "")
    codes = ", ".join(f"`{c}`" for c in said["codes"] if c not in ("not-implemented", "not-modelled"))
    if said["verdict"] == "right":
        return "right" + (f"; told: {codes}" if codes else "")
    why = said["why"].replace("|", "/").replace("<", "‹").partition(": a machine belongs")[0]
    return said["verdict"] + (f": {why}" if why else "")


def results():
    """(name, machine, what the last run said) of each that has run."""
    for name in SAMPLES:
        for machine in MACHINES:
            if path_of(name, machine).exists():
                yield name, machine, json.loads(path_of(name, machine).read_text())


def keep():
    said = kept.load(SAID)
    for name, machine, result in results():
        said.setdefault(name, {})[machine] = {key: result[key] for key in ("verdict", "why", "codes", "changed") if result[key] or key != "changed"}
    kept.save(SAID, {name: said[name] for name in SAMPLES if name in said})


def asked(name, runs):
    """Its arguments, and what is smaller in its source."""
    words = [f"`{SAMPLES[name]}`"] if SAMPLES[name] else []
    for changed in sorted({run["changed"] for run in runs.values() if "changed" in run}):
        of = [machine for machine in MACHINES if runs.get(machine, {}).get("changed") == changed]
        words.append(f"in the source {changed}" + (f" ({of[0]})" if len(of) == 1 else ""))
    return "; ".join(words)


def table():
    said = kept.load(SAID)
    lines = ["| sample | arguments | " + " | ".join(MACHINES) + " |", "|---|---|" + "---|" * len(MACHINES)]
    for name in SAMPLES:
        cells = [cell(said.get(name, {}).get(machine), name) for machine in MACHINES]
        lines.append(f"| {name} | {asked(name, said.get(name, {}))} | " + " | ".join(cells) + " |")
    runs = [run for name in SAMPLES for run in said.get(name, {}).values()]
    count = collections.Counter(run["verdict"] for run in runs)
    answered = len(runs) - count["slow"]
    return lines + ["", f"{len(said)} of {len(SAMPLES)} samples, {len(runs)} runs: " + ", ".join(f"{n} {v}" for v, n in count.most_common()) + ". "
                    f"Of those that were not slow, {count['right'] / max(answered, 1):.1%} are right."]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--machine", choices=MACHINES)
    kept.add_options(parser, "--list", "--keep", "--check-results")
    options = parser.parse_args()
    if options.list:
        for name, arguments in SAMPLES.items():
            print(name, arguments)
        for reason, names in LEFT_OUT.items():
            print(f"\nwithout {reason}", *names.split(), sep="\n    ")
        return 0
    if options.keep:
        return keep()
    if options.check_results:
        said = kept.load(SAID)
        return kept.differ(((f"{name} on {machine}", result, said.get(name, {}).get(machine)) for name, machine, result in results()), SAID)
    if (code := kept.answer(options, NOTE, lambda: {"samples": table()}, __file__)) is not None:
        return code
    return run_all(options.words, [options.machine] if options.machine else MACHINES)


if __name__ == "__main__":
    sys.exit(main())
