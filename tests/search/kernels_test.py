"""Programs that gen5 search writes, compiled and run on tinygpu.

    kernels_test.py GEN5 NVCC legal OPERATION MACHINE COUNT SEED [OPTIONS of gen5 search OPERATION ...]
        COUNT legal points at random: their bits are right and nothing is diagnosed, in time and late.
    kernels_test.py GEN5 NVCC pruned OPERATION MACHINE POINTS
        a point for each rule (of POINTS, tests/search/points.cpp): it fails as the rule says.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(words, seconds=280, folder=None):
    try:
        done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, cwd=folder,
                              env=os.environ | {"CCACHE_NOHASHDIR": "1"})  # the folder has another name each time
    except subprocess.TimeoutExpired:
        return 124, "deadlock: it does not end"
    return done.returncode, done.stdout


def compile_program(nvcc, options, folder, source, program):
    """Compiles and links apart, and by names from the folder: ccache, where there is one, then has what an earlier run compiled."""
    ccache = [found] if (found := shutil.which("ccache")) else []
    code, said = run([*ccache, nvcc, *options.split(), "-Xptxas", "-v", "-I.", "-c", source, "-o", "program.o"], folder=folder)
    if code:
        return code, said
    linked, more = run([nvcc, *options.split(), "program.o", "-o", program], folder=folder)
    return linked, said + more


PROBLEMS = {"gemm": ("328x776x4128", "200x264x4128"), "attention": ("3x300x700", "2x520x333")}  # with ragged edges


def legal(gen5, nvcc, operation, machine, count, seed, *more):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, said = run([gen5, "search", operation, "--machine", machine, "--random", count, "--seed", seed, "--out", folder, *more])
        assert code == 0, said
        arch = "100a" if machine == "b200" else "90a"
        for i in range(1, int(count) + 1):
            text = (folder / f"{i}.cu").read_text()
            point = re.search(r'kPoint = "(.*)"', text)[1]
            options = re.search(r"//   nvcc (.*) -I\. THIS", text)[1]
            assert arch in options
            code, said = compile_program(nvcc, options, folder, f"{i}.cu", folder / "program")
            assert code == 0 and "serialized" not in said and "warning #" not in said, f"{point}: {said}"
            for order in ("timed", "late"):
                code, said = run([gen5, "run", "--machine", machine, "--order", order, folder / "program", "--csv", "--repeat", 1,
                                  *(word for p in PROBLEMS[operation] for word in ("--problem", p))])
                assert code == 0 and said.count(",right") == 2 and "warning" not in said and "error" not in said, f"{point}: {said}"
            if operation == "gemm":  # a few tiles: parts that wait for each other are all there
                code, said = run([gen5, "run", "--machine", machine, folder / "program", "--repeat", 1, "--tiles", 3, "--problem", PROBLEMS[operation][0]], 60)
                assert code == 0, f"{point}: {said}"
            print("right:", point)


def pruned(gen5, nvcc, operation, machine, points):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, said = run([points, operation, machine, folder])
        assert code == 0, said
        cases = [json.loads(line) for line in said.splitlines()]
        assert len(cases) > 3
        for case in cases:
            code, said = compile_program(nvcc, case["options"], folder, case["file"], folder / "program")
            if code == 0 and not re.search(case["fails"], said):
                code, said = run([gen5, "run", "--machine", machine, "--max-cycles", 2000000, "--tmem-checks", "strict", folder / "program", "--repeat", 1,
                                  "--problem", case["problem"]], 100)
            ended = re.search(case["fails"], said)
            assert ended and (code != 0 or "serialized" in said or "spill" in ended[0]), f'{case["rule"]}: {case["point"]} ends with {code}: {said[-1500:]}'
            print(f'{case["rule"]}: {ended[0]}: {case["point"]}')


gen5, nvcc, what, *rest = sys.argv[1:]
{"legal": legal, "pruned": pruned}[what](gen5, nvcc, *rest)
