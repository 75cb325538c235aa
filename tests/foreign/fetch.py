#!/usr/bin/env python3
"""Fetches what the foreign tests and those of the Python package run: pinned wheels of CUTLASS, Triton, cuda-bindings, numpy and
pytest, into a cache outside the tree ($XDG_CACHE_HOME/gen5/foreign). Exits 0 when everything is there, 77 with the reason when it cannot be had."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

WHEELS = ["triton==3.9.0", "cuda-bindings==13.0.3", "cuda-pathfinder==1.9.0", "numpy==2.2.6", "ml_dtypes==0.5.3",
          "pytest==8.4.2", "iniconfig==2.1.0", "packaging==25.0", "pluggy==1.6.0", "pygments==2.19.2"]
# Of the front ends besides Triton, in an environment of its own: for tests/python/front_ends only.
FRONT_ENDS = ["nvidia-cutlass-dsl==4.8.1", "nvidia-cutlass-dsl-libs-base==4.8.1", "nvidia-cutlass-dsl-libs-core==4.8.1",
              "nvidia-cutlass-dsl-libs-cu12==4.8.1", "protobuf==7.36.2", "typing_extensions==4.16.0", "cuda-bindings==13.5.0",
              "cuda-core==1.2.2", "cuda-pathfinder==1.9.0", "nvidia-cuda-nvrtc==13.0.88", "cupy-cuda13x==14.2.0", "numba==0.68.1", "numba-cuda==0.30.4",
              "llvmlite==0.50.0", "numpy==2.2.6", "ml_dtypes==0.5.3", "pytest==8.4.2", "iniconfig==2.1.0", "packaging==25.0",
              "pluggy==1.6.0", "pygments==2.19.2"]
# With torch: NVIDIA's CuTe DSL kernels, and what Triton's tutorials and tests import.
TORCH = ["torch==2.15.0", "nvidia-cutlass-operators==0.3.0", "nvidia-cutlass-dsl==4.8.1", "tabulate==0.10.0", "scipy==1.17.1", "pandas==2.3.3", "matplotlib==3.11.2",
         "triton==3.9.0", "numpy==2.2.6", "ml_dtypes==0.5.3", "pytest==8.4.2", "pyyaml==6.0.4"]
# On that torch, each in an environment of its own, as they ask for different versions of the same packages.
ON_TORCH = {"helion": ["helion==1.5.1", "filecheck", "rich", "markdown-it-py", "mdurl", "psutil", "scikit-learn", "scipy", "joblib", "threadpoolctl"],
            "tilelang": ["tilelang==0.1.15", "apache-tvm-ffi<0.1.13", "z3-solver<4.15.5", "torch-c-dlpack-ext", "cloudpickle", "psutil", "tqdm"],
            "warp": ["warp-lang==1.19.0"]}
# What gen5.search runs on and writes for, in an environment of its own: for tests/python/executors only.
EXECUTORS = ["dask==2026.8.0", "distributed==2026.8.0", "ray==2.60.0", "kernel_tuner==1.5.0", "numpy==2.4.6", "pytest==8.4.2"]
# PyPI has its source: it is built with nvcc's headers and tinygpu's libcuda.so.
PYCUDA = ["pycuda==2025.1.2", "numpy==2.2.6", "pytest==8.4.2"]
CUTLASS = "nvidia-cutlass==4.2.0.0"
CUTLASS_SOURCE = "cutlass_library/source/"
# SGLang's package of DeepGEMM: the kernels as headers, and the CUTLASS that they were written with.
DEEPGEMM = "sgl-deep-gemm==0.2.5"
DEEPGEMM_HEADERS = "deep_gemm/include/"


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "gen5" / "foreign"


def python():
    return cache() / "venv" / "bin" / "python"


def wheels():
    return cache() / "wheels"


def cutlass():
    return cache() / "cutlass" / "4.2.0.0" / "cutlass_library" / "source"


def deepgemm():
    return cache() / "deepgemm" / DEEPGEMM.rpartition("=")[2]


def front_ends_python():
    return cache() / "front_ends" / "bin" / "python"


def executors_python():
    return cache() / "executors" / "bin" / "python"


def on_torch_python(name):
    return cache() / f"on_torch_{name}" / "bin" / "python"


def torch_marker():
    return cache() / "torch" / (hashlib.sha256(" ".join(TORCH).encode()).hexdigest()[:16] + ".ready")


def torch_python():
    """A Python that has what TORCH names: $GEN5_TORCH_PYTHON, or the environment that `fetch.py --torch` makes; else none."""
    if named := os.environ.get("GEN5_TORCH_PYTHON"):
        return pathlib.Path(named)
    return cache() / "torch" / "bin" / "python" if torch_marker().exists() else None


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*command, hint=""):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        skip(f"`{' '.join(map(str, command))}` failed{hint}: {said[-1] if said else 'it says nothing'}")


def fetch():
    marker = wheels() / (hashlib.sha256(" ".join([*WHEELS, CUTLASS]).encode()).hexdigest()[:16] + ".ready")
    if marker.exists():
        return
    cache().mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "venv", cache() / "venv")
    run(python(), "-m", "pip", "download", "--quiet", "--no-deps", "-d", wheels(), *WHEELS, CUTLASS,
        hint=" (is there a network?)")
    run(python(), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--find-links", wheels(), *WHEELS)
    with zipfile.ZipFile(next(wheels().glob("nvidia_cutlass-4.2.0.0*.whl"))) as wheel:
        wanted = [n for n in wheel.namelist() if n.startswith(CUTLASS_SOURCE)]
        wheel.extractall(cache() / "cutlass" / "4.2.0.0", wanted)
    marker.touch()


def fetch_deepgemm():
    """5 MB, 30 unpacked."""
    marker = deepgemm() / "ready"
    if marker.exists():
        return
    deepgemm().mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", deepgemm(), DEEPGEMM, hint=" (is there a network?)")
    with zipfile.ZipFile(next(deepgemm().glob("*.whl"))) as wheel:
        wheel.extractall(deepgemm(), [n for n in wheel.namelist() if n.startswith(DEEPGEMM_HEADERS)])
    marker.touch()


def fetch_front_ends():
    """Some 400 MB, into an environment of its own."""
    marker = cache() / "front_ends" / (hashlib.sha256(" ".join(FRONT_ENDS).encode()).hexdigest()[:16] + ".ready")
    if marker.exists():
        return
    cache().mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "venv", cache() / "front_ends")
    run(front_ends_python(), "-m", "pip", "install", "--quiet", "--no-deps", *FRONT_ENDS, hint=" (is there a network?)")
    marker.touch()


def fetch_executors():
    """Some 150 MB, into an environment of its own."""
    marker = cache() / "executors" / (hashlib.sha256(" ".join(EXECUTORS).encode()).hexdigest()[:16] + ".ready")
    if marker.exists():
        return
    cache().mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "venv", cache() / "executors")
    run(executors_python(), "-m", "pip", "install", "--quiet", *EXECUTORS, hint=" (is there a network?)")
    marker.touch()


def pycuda_python():
    return cache() / "pycuda" / "bin" / "python"


def fetch_pycuda(libraries):
    """Compiles for two minutes."""
    marker = cache() / "pycuda" / (hashlib.sha256(" ".join(PYCUDA).encode()).hexdigest()[:16] + ".ready")
    if marker.exists():
        return
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not pathlib.Path(nvcc).exists():
        skip("PyCUDA's build needs CUDA 13's headers: no nvcc on the path")
    cache().mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "venv", cache() / "pycuda")
    os.environ |= {"CUDA_ROOT": str(pathlib.Path(nvcc).resolve().parent.parent), "LIBRARY_PATH": str(libraries)}
    run(pycuda_python(), "-m", "pip", "install", "--quiet", *PYCUDA, hint=" (is there a network?)")
    marker.touch()


def fetch_torch():
    """PyPI's torch is the CUDA build and brings NVIDIA's libraries, some 3.5 GB: only where it is asked for."""
    if torch_marker().exists():
        return
    run(sys.executable, "-m", "venv", cache() / "torch")
    run(cache() / "torch" / "bin" / "python", "-m", "pip", "install", "--quiet", *TORCH, hint=" (is there a network?)")
    torch_marker().touch()


def fetch_on_torch(name):
    """What an environment lacks it takes from torch's."""
    if torch_python() is None:
        skip("no torch: `tests/foreign/fetch.py --torch` fetches it (3.5 GB), or name a Python that has it in GEN5_TORCH_PYTHON")
    folder = cache() / f"on_torch_{name}"
    marker = folder / (hashlib.sha256(" ".join(ON_TORCH[name]).encode()).hexdigest()[:16] + ".ready")
    if marker.exists():
        return
    run(sys.executable, "-m", "venv", folder)
    packages = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    own, torchs = (subprocess.run([p, "-c", packages], capture_output=True, text=True, check=True).stdout.strip() for p in (on_torch_python(name), torch_python()))
    (pathlib.Path(own) / "torch.pth").write_text(torchs + "\n")
    run(on_torch_python(name), "-m", "pip", "install", "--quiet", "--no-deps", *ON_TORCH[name], hint=" (is there a network?)")
    marker.touch()


if __name__ == "__main__":
    fetch()
    if "--torch" in sys.argv:
        fetch_torch()
    print(f"ready in {cache()}")
