#!/usr/bin/env python3
"""Installs what a build made of the libraries, then configures, builds and runs the project in outside/ against it, with the build tree's
own variables out of sight."""
import os
import pathlib
import subprocess
import sys
import tempfile

cmake, build, version, compiler = sys.argv[1:]
outside = pathlib.Path(__file__).resolve().parent / "outside"


def run(*command, fails=False, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(what, truth, text=""):
    if not truth:
        sys.exit(f"failed: {what}\n{text}")
    print(f"holds: {what}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    prefix, made = folder / "prefix", folder / "made"
    run(cmake, "--install", build, "--prefix", prefix)
    installed = {str(p.relative_to(prefix)) for p in prefix.rglob("*") if not p.is_dir()}
    for file in ("bin/gen5", "lib/libtinygpu.so", "lib/libcudart.so.13", "lib/libcuda.so.1", "lib/machines/b200.json", "include/gen5/common/ptx/mbarrier.h",
                 "include/gen5/common/layout/smem_descriptor.h", "include/gen5/common/tinygpu/api/gen5_machine.h", "lib/cmake/gen5/gen5Config.cmake", "share/doc/gen5/LICENSE"):
        expect(f"{file} is installed", file in installed, "\n".join(sorted(installed)))
    expect("no tests, no libraries of others", not any("gtest" in f or "test" in pathlib.Path(f).name for f in installed), "\n".join(sorted(installed)))

    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GEN5_", "LD_"))}
    configure = [cmake, "-S", outside, "-B", made, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}"]
    run(*configure, f"-DWANTED={version}", env=environment)
    run(cmake, "--build", made, env=environment)
    said = run(made / "outside", env=environment | {"GEN5_DEVICE": "tinygpu"})
    expect("a program of the outside project runs on the machine", said == "descriptor 4000404000010000\n1 device\nword 5a5a5a5a\n", said)
    said = run(prefix / "bin/gen5", "run", "--machine", "h200", made / "outside", env=environment)
    expect("so it does by the installed gen5", "1 device" in said, said)
    said = run(prefix / "bin/gen5", "--version", env=environment)
    expect("which says its version", said == f"gen5 {version}\n", said)
    said = run(*configure, "-DWANTED=99.0", env=environment, fails=True)
    expect("a later version than this is not found", "99.0" in said, said)
