#!/usr/bin/env python3
"""Runs pytest on the Python package of the source tree, with the Python, Triton and pytest that tests/foreign/fetch.py fetched.

  run.py PYTEST-ARGUMENTS…           exit 77 where these cannot be had (with the reason)
  run.py --front-ends ARGUMENTS…     with CuTe DSL, cuda-python and numba instead of Triton
  run.py --executors ARGUMENTS…      with Dask, Ray and Kernel Tuner instead of Triton
  run.py --torch ARGUMENTS…          with torch beside Triton; exit 77 where it was not asked for
  run.py --pycuda ARGUMENTS…         with PyCUDA, which is built first
  run.py --on-torch NAME ARGUMENTS…  with helion, tilelang or warp beside torch; exit 77 likewise
  run.py --table                     what the kernels' tests said so far, as a table for notes/python_kernels.md
  run.py --check-table               whether the note still says so; exit 77 where some have not run

GEN5_LIBRARIES names the folder of libtinygpu.so (default: build/default/lib). What tests/python/kernels said is kept beside it.
"""

import collections
import functools
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "foreign"))

import fetch  # noqa: E402

LIBRARIES = pathlib.Path(os.environ.get("GEN5_LIBRARIES") or ROOT / "build/default/lib")
RESULTS = LIBRARIES.parent / "python_results"
MACHINES, ORDERS = ("b200", "h200"), ("timed", "late", "seeded")


def table():
    """Its lines; the number of runs that are missing."""
    said = collections.defaultdict(dict)
    for path in sorted(RESULTS.glob("*.json")):
        r = json.loads(path.read_text())
        said[r["file"].removeprefix("test_"), r["name"].removeprefix("test_")][r["machine"], r["order"]] = r
    lines = ["| kernel | " + " | ".join(f"{m} {o}" for m in MACHINES for o in ORDERS) + " |", "|---|" + "---|" * 6]
    missing, count = 0, collections.Counter()
    for (file, name), by_run in said.items():
        runs = [by_run.get((m, o)) for m in MACHINES for o in ORDERS]
        missing += runs.count(None)
        verdicts = ["?" if r is None else "–" if r["verdict"] == "skipped" else r["verdict"] for r in runs]
        count.update(verdicts)
        lines.append(f"| {file}: `{name}` | " + " | ".join(verdicts) + " |")
    return [f"{len(said)} kernels, {count['right']} runs right, {count['wrong']} wrong.", "", *lines], missing if said else 1


def check_table():
    now, missing = table()
    if missing:
        fetch.skip("some kernels have not run on both machines in every order")
    note = (ROOT / "notes/python_kernels.md").read_text().splitlines()
    if wrong := [line for line in now if line not in note]:
        print("notes/python_kernels.md does not say what `tests/python/run.py --table` prints now:", *wrong, sep="\n")
        return 1
    return 0


def with_torch():
    if (python := fetch.torch_python()) is None:
        fetch.skip("no torch: `tests/foreign/fetch.py --torch` fetches it (3.5 GB), or name a Python that has it in GEN5_TORCH_PYTHON")
    return python


def environment():
    return dict(os.environ, PYTHONPATH=str(ROOT / "python"), GEN5_LIBRARIES=str(LIBRARIES), GEN5_PYTHON_RESULTS=str(RESULTS),
                TRITON_CACHE_DIR=str(fetch.cache() / "triton_gen5"), TRITON_DEFAULT_FP_FUSION="1", PYTHONDONTWRITEBYTECODE="1")


def run(arguments):
    python = fetch.python
    if arguments[:1] == ["--front-ends"]:
        fetch.fetch_front_ends()
        python, arguments = fetch.front_ends_python, arguments[1:]
    elif arguments[:1] == ["--executors"]:
        fetch.fetch_executors()
        python, arguments = fetch.executors_python, arguments[1:]
    elif arguments[:1] == ["--pycuda"]:
        fetch.fetch_pycuda(LIBRARIES)
        python, arguments = fetch.pycuda_python, arguments[1:]
    elif arguments[:1] == ["--torch"]:
        python, arguments = with_torch, arguments[1:]
    elif arguments[:1] == ["--on-torch"]:
        fetch.fetch_on_torch(arguments[1])
        python, arguments = functools.partial(fetch.on_torch_python, arguments[1]), arguments[2:]
    else:
        fetch.fetch()
    command = [str(python()), "-m", "pytest", "-p", "gen5._pytest", "-p", "no:cacheprovider", "-q", *arguments]
    os.execve(command[0], command, environment())


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(*table()[0], sep="\n")
    elif sys.argv[1:] == ["--check-table"]:
        sys.exit(check_table())
    else:
        run(sys.argv[1:])
