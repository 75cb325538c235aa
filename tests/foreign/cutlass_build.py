#!/usr/bin/env python3
"""Compiles a seeded fifth of CUTLASS's unit tests for sm_90 and sm_100, and small ones beside, for cutlass_tests.py.

  cutlass_build.py [WORD…] [--jobs N] [--for SECONDS]   those files whose path contains one of these words (default: all)
  cutlass_build.py --list                               the files

GEN5_CUTLASS_REPO names a clone of github.com/NVIDIA/cutlass, GEN5_GOOGLETEST one of github.com/google/googletest, GEN5_CUTLASS_TESTS the folder for what
is built (default: in the cache of fetch.py), NVCC the compiler. A file's cases are compiled a few at a time, as CUTLASS's own build can do, and become
one program: what --for leaves out is missing in it, and the next call adds it. Programs for sm_90 have machine code for that GPU beside the PTX."""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

import fetch

SEED, SHARE = 1, 5
BESIDE = ("cluster_launch/", "cute/hopper/", "pipeline/")  # all files of these folders
CASES = 12  # of one compilation
TARGETS = {"h200": "arch=compute_90a,code=[compute_90a,sm_90a]", "b200": "arch=compute_100a,code=compute_100a"}
# As CUTLASS's CMakeLists.txt has them by default, for a release.
FLAGS = ["-O3", "-DNDEBUG", "-std=c++17", "--expt-relaxed-constexpr", "-w", "-DCUTLASS_ENABLE_TENSOR_CORE_MMA=1", "-DCUTLASS_TEST_LEVEL=0",
         "-DCUTLASS_CONV_UNIT_TEST_RIGOROUS_SIZE_ENABLED=1", "-DCUTLASS_DEBUG_TRACE_LEVEL=0", "-DCUTLASS_ENABLE_GDC_FOR_SM100=1",
         '-DCUTLASS_TARGET_NAME="cutlass_test"', "--compress-mode=none"]

# config.h defines it in the compiler's passes for a GPU alone, so that files which ask for it have no case on the host.
F64 = "CUTLASS_ARCH_MMA_SM90_F64_MMA_ENABLED"

# CUTLASS's CMakeLists.txt defines it for targets like 100f. Tests of what sm_100a alone has, kind::i8, are for a compilation without it.
FAMILY = "CUTLASS_SM100_FAMILY_ARCHS_ENABLED"


def folder():
    return pathlib.Path(os.environ.get("GEN5_CUTLASS_TESTS") or fetch.cache() / "cutlass_tests")


def place(name):
    """A number between 0 and 1 that a file has for the seed, whatever other files there are."""
    return int.from_bytes(hashlib.sha256(f"{SEED} {name}".encode()).digest()[:8], "big") / 2**64


def candidates(repo):
    """Test files of both architectures: their paths below test/unit say so."""
    root = pathlib.Path(repo) / "test/unit"
    paths = (str(path.relative_to(root)) for path in root.glob("**/*.cu"))
    return sorted(path for path in paths if re.search("sm_?90|sm_?100|hopper|blackwell", path))


def fifth(files):
    return sorted(sorted(files, key=place)[: -(-len(files) // SHARE)])


def chosen(repo):
    """The fifth, and what is beside it."""
    root = pathlib.Path(repo) / "test/unit"
    return fifth(candidates(repo)) + sorted(str(path.relative_to(root)) for folder in BESIDE for path in root.glob(f"{folder}*.cu"))


def machine_of(path):
    return "b200" if re.search("sm_?100|blackwell", path) else "h200"


def program_of(path):
    return folder() / path.removesuffix(".cu").replace("/", ".")


def cases_of(text):
    """Where they stand: a case begins with TEST… and ends with a brace, both at the line's begin."""
    return [match.span() for match in re.finditer(r"^(?:TYPED_)?TEST(?:_[FP])?\(.*?^\}[^\n]*\n", text, re.MULTILINE | re.DOTALL)]


def parts(text, most=CASES):
    """The file's text with at most so many of its cases each; all other text is in each part."""
    cases = cases_of(text)
    for first in range(0, len(cases), most) or [0]:
        out, at = "", 0
        for begin, end in cases[:first] + cases[first + most :]:
            out += text[at:begin] + "\n" * text.count("\n", begin, end)
            at = end
        yield out + text[at:]


def defines(text):
    """What one file's compilation has beside FLAGS."""
    return [f"-D{F64}=1"] * (F64 in text) + [f"-D{FAMILY}"] * (f"!defined({FAMILY})" not in text)


def compile_one(command, output):
    """What it said if it failed; nothing otherwise. The object is there whole or not at all."""
    done = subprocess.run([*command, "-o", f"{output}.new"], capture_output=True, text=True)
    if done.returncode:
        return (done.stdout + done.stderr)[-2000:] or f"exit code {done.returncode}"
    os.rename(f"{output}.new", output)
    return ""


class Build:
    def __init__(self, repo, googletest):
        self.repo, self.root = pathlib.Path(repo), pathlib.Path(repo) / "test/unit"
        self.gtest = pathlib.Path(googletest) / "googletest"
        nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        includes = [f"-I{self.repo}/include", f"-I{self.repo}/tools/util/include", f"-I{self.root}/common", f"-I{self.root}", f"-I{self.gtest}/include", f"-I{self.gtest}"]
        self.nvcc, self.command = nvcc, [nvcc, *FLAGS, *includes, "-c"]
        self.objects = folder() / "objects"
        self.objects.mkdir(parents=True, exist_ok=True)
        self.common = [self.root / "test_unit.cpp", self.root / "common/filter_architecture.cpp", self.gtest / "src/gtest-all.cc"]

    def units(self, files):
        """(order, command, object, file) of what is not compiled yet, those for sm_90 first and then the short ones; how many parts each file has."""
        out, count = [], {}
        for path in files:
            text = (self.root / path).read_text()
            for number, part in enumerate(parts(text)):
                source = self.objects / f"{program_of(path).name}.{number}.cu"
                source.write_text(part)
                count[path] = number + 1
                defined = defines(part)
                out.append(((machine_of(path) != "h200", len(part)), [*self.command, *defined, "-gencode", TARGETS[machine_of(path)], f"-I{(self.root / path).parent}", str(source)], source.with_suffix(".o"), path))
        return sorted((unit for unit in out if not unit[2].exists()), key=lambda unit: unit[0]), count

    def link(self, path, count):
        """Makes the file's program of the parts that are there, and says which."""
        stem = program_of(path).name
        objects = [o for n in range(count) if (o := self.objects / f"{stem}.{n}.o").exists()]
        if objects:
            common = [self.objects / f"{source.stem}.o" for source in self.common]
            said = compile_one([self.nvcc, "-cudart", "static", *map(str, objects + common), "-lcuda"], program_of(path))
            if said:
                sys.exit(f"{path} cannot be linked:\n{said}")
        said = {"file": path, "cases": len(cases_of((self.root / path).read_text())), "parts": count, "built": len(objects)}
        pathlib.Path(f"{program_of(path)}.parts.json").write_text(json.dumps(said))

    def run(self, files, jobs, seconds):
        until = time.monotonic() + seconds
        units, count = self.units(files)
        left = collections.Counter(unit[3] for unit in units)
        common = [((), [*self.command, str(source)], self.objects / f"{source.stem}.o", None) for source in self.common]
        lock, failed = threading.Lock(), []

        def work(unit):
            _, command, output, path = unit
            start = time.monotonic()
            if until - start <= 1:
                return
            said = compile_one(["timeout", "-k", "1", f"{until - start:.0f}", *command], output)
            print(f"{output.name}: {said or f'{time.monotonic() - start:.0f} s'}", flush=True)
            with lock:
                failed.extend([output] if said else [])
                left[path] -= not said
            if path and not left[path]:
                self.link(path, count[path])

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(work, (unit for unit in common if not unit[2].exists())))
            list(pool.map(work, units))
            list(pool.map(lambda path: self.link(path, count[path]), (path for path in files if left[path] or not program_of(path).exists())))
        return bool(failed)


def sources(variable, url):
    path = os.environ.get(variable)
    if not path or not pathlib.Path(path).is_dir():
        fetch.skip(f"{variable} names no clone of {url}")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--for", dest="seconds", type=float, default=1e9, metavar="SECONDS")
    options = parser.parse_args()
    repo = sources("GEN5_CUTLASS_REPO", "github.com/NVIDIA/cutlass")
    files = [path for path in chosen(repo) if not options.words or any(word in path for word in options.words)]
    if options.list:
        print(*files, sep="\n")
        return 0
    return Build(repo, sources("GEN5_GOOGLETEST", "github.com/google/googletest")).run(files, options.jobs, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
