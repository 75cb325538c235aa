#!/usr/bin/env python3
"""scripts/hardware without a GPU, on programs that stand for nvidia-smi, ncu and a build's: what is missing is said at the start, and whatever
fails, the script goes on where it can and ends with a sentence, never with a Python traceback."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
# What the scripts themselves need besides Python; nothing else is in PATH.
TOOLS = ("bash", "sh", "env", "dirname", "basename", "tr", "sed", "date", "mkdir", "tee", "grep", "cat", "rm", "seq", "nproc", "kill", "ls")


def expect(what, truth, text=""):
    if not truth:
        sys.exit(f"failed: {what}\n{text}")
    print(f"holds: {what}")


def program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def run(folder, *arguments, path=None, **environment):
    return subprocess.run([root / "scripts/hardware", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PATH": str(path or folder / "tools"), **environment})


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    tools = folder / "tools"
    tools.mkdir()
    for tool in TOOLS:
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)

    done = run(folder, "--help")
    expect("--help says what options there are", done.returncode == 0 and "--quick:" in done.stdout and "set -euo" not in done.stdout, done.stderr)
    expect("--help says what is needed and how long it takes", all(w in done.stdout for w in ("python3, cmake, ninja", "ncu", "How long", "folder to send")), done.stdout)
    done = run(folder, "--quik")
    expect("an unknown option is named", done.returncode == 2 and "--quik is no option; --help" in done.stderr, done.stderr)
    done = run(folder, "--build")
    expect("--build without a folder", done.returncode == 2 and "hardware: --build wants the name of a build folder" in done.stderr, done.stderr)
    (folder / "libtinygpu.so").touch()
    done = run(folder, "--no-setup", LD_LIBRARY_PATH=f"/nowhere:{folder}")
    expect("tinygpu's libraries in NVIDIA's programs' way", done.returncode == 2 and f"LD_LIBRARY_PATH names {folder}, whose libraries" in done.stderr, done.stderr)
    done = run(folder, "--no-setup")
    expect("without a GPU", done.returncode == 1 and "nvidia-smi shows no GPU here" in done.stderr, done.stderr)

    program(tools / "nvidia-smi", '''case "$*" in
  -L) echo 'GPU 0: NVIDIA X (UUID: 1)' ;;
  *query-gpu=name\ *) echo 'NVIDIA X' ;;
  *lms*) exit 0 ;;
  *) echo 'timestamp, name, driver_version, clocks.max.sm [MHz], clocks.max.memory [MHz]'; echo '2030/01/02, NVIDIA X, 1, 1980, 3201' ;;
esac
''')
    done = run(folder, "--no-setup", folder / "results")
    expect("what a build needs is named before anything runs",
           done.returncode == 1 and all(f"missing: {t}: " in done.stderr for t in ("python3", "cmake", "ctest", "ninja")), done.stderr)

    (tools / "python3").symlink_to(sys.executable)
    build = folder / "build"
    (build / "bin").mkdir(parents=True)
    for p in ("gen5", "held_out"):
        program(build / "bin" / p, "exit 3\n")
    program(build / "bin/probe_01_mbarrier", "echo 'cannot read the clock' >&2; exit 1\n")

    def quick():
        done = run(folder, "--no-setup", "--quick", "--build", build, folder / "results")
        said = done.stdout + done.stderr
        expect("no traceback", "Traceback" not in said, said)
        return done, done.stderr

    done, said = quick()
    expect("a missing ncu is said first", said.startswith("hardware: goes on without ncu: no cycles"), said)
    expect("no rows, no profile", done.returncode == 1 and "cannot read the clock" in said and "failed: no probe gave rows" in said and
           "failed: the profile" in said, said)
    expect("the end lists what failed", "hardware: 3 parts failed:\nhardware:   probe_01_mbarrier, run 1\n" in said, said)

    program(tools / "ncu", 'while [ "$1" != --log-file ]; do shift; done; echo "==WARNING== No kernels were profiled." >"$2"\n')
    program(build / "bin/held_out", "echo '{\"name\": \"a\", \"microseconds\": [1]}'\n")
    program(build / "bin/probe_01_mbarrier", "echo '{ not finished'\n")
    done, said = quick()
    expect("what a probe printed", done.returncode == 1 and "probe_results: " in said and "is no JSON" in said and "'{ not finished'" in said, said)
    expect("ncu saw nothing", "predict: " in said and "ncu profiled no kernel. It said: ==WARNING== No kernels were profiled." in said, said)

    rows = [{"name": "arrive_relaxed/iterations:1/manual_time", "run_type": "iteration", "cycles": 5}]
    (build / "rows.json").write_text(json.dumps({"context": {"executable": "probe_01_mbarrier", "date": "2030-01-02T00:00:00"}, "benchmarks": rows}))
    program(build / "bin/probe_01_mbarrier", f"cat {build}/rows.json\n")
    done, said = quick()
    expect("nvidia-smi says no clock", done.returncode == 1 and "probe_results: nvidia-smi says no number for clocks.max.sm" in said, said)

for script, arguments in (("predict", ["--silicon", "/nowhere"]), ("probe_results", ["/nowhere", "--out", "/nowhere"]), ("calibrate", ["/nowhere"])):
    done = subprocess.run([root / "scripts" / script, *arguments], capture_output=True, text=True)
    expect(f"{script} of a file that is not there",
           done.returncode == 1 and done.stderr.startswith(f"{script}: /nowhere") and "cannot be read: No such file" in done.stderr, done.stderr)
