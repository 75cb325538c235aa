#!/usr/bin/env python3
"""`pip install .` in a new environment, then the examples with what was installed, out of the tree. Exits 77 without a network."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/foreign"))

import fetch  # noqa: E402

fetch.fetch()
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
    pip = [f"{folder}/venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--find-links", fetch.wheels(), *fetch.WHEELS], check=True)
    # The compiler and flags of the build: its objects are in ccache.
    build = dict(os.environ, CC="/usr/bin/cc", CXX="/usr/bin/c++", SKBUILD_CMAKE_DEFINE=f"GEN5_WERROR={os.environ.get('GEN5_WERROR', 'OFF')}")
    subprocess.run([*pip, "."], check=True, cwd=ROOT, env=build)
    shutil.copytree(ROOT / "examples/python", f"{folder}/empty")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "GEN5_LIBRARIES")}
    subprocess.run([f"{folder}/venv/bin/pytest", "-q", "--gen5", "b200", f"{folder}/empty"], check=True, cwd=f"{folder}/empty", env=environment)
    said = subprocess.run([f"{folder}/venv/bin/gen5", "machine"], check=True, capture_output=True, text=True, env=environment).stdout
    assert "b200" in said and "h200" in said, said
    device = ("import ctypes, subprocess, sys; n = ctypes.create_string_buffer(99); c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); "
              "c.cuDeviceGetName(n, 99, 0); print(n.value.decode())")
    code = f"{device}; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    said = subprocess.run([f"{folder}/venv/bin/python", "-c", code, device], check=True, capture_output=True, text=True,
                          env=environment | {"GEN5_MACHINE": "h200"}).stdout
    assert said.count("h200") == 2, said
