#!/usr/bin/env python3
"""What the scripts say to a newcomer: --help, words that they don't know, how far a build is, why it failed. Nothing is
installed or built: where a script would, tools of the test's own stand on the path."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent


def run(*command, code=0, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, **options)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}, not {code}\n{done.stdout}")
    return done.stdout


def expect(what, truth, said):
    if not truth:
        sys.exit(f"failed: {what}\n{said}")
    print(f"holds: {what}")


for name in sorted(p.name for p in (root / "scripts").iterdir() if p.is_file() and os.access(p, os.X_OK) and p.name != "usage"):
    for word in ("-h", "--help"):
        said = run(root / "scripts" / name, word)
        expect(f"scripts/{name} {word} explains it", said.startswith((f"scripts/{name}", f"usage: {name} ")) or f"scripts/{name} " in said, said)
        expect("without a comment's marks", not any(line.startswith("#") for line in said.splitlines()), said)
for command, wanted in (
    (["run"], "The chapters: 00_order"),
    (["run", "nosuch"], "run: no chapter is called nosuch. There are: 00_order"),
    (["run", "--all"], "run: NAME comes first, then a chapter's own options: scripts/run gemm --all"),
    (["setup", "--whell"], "setup: there is no option --whell; --help says which there are"),
    (["setup", "--book", "--fuzz"], "setup: one option at a time; call it again for --fuzz"),
    (["test", "--preset"], "test: --preset wants one of: default"),
    (["test", "--preset", "debug"], "test: there is no preset debug; there are: default"),
    (["test", "--preset=python_long"], "test: python_long is a preset of ctest alone. Run scripts/test, then: ctest --preset python_long"),
    (["test", "chapter05"], "test: chapter05 is no option of ctest; to choose tests: scripts/test -R chapter05"),
    (["wheel", "--quick"], "wheel: there is no option --quick"),
    (["build"], "scripts/build TARGET"),
    (["build", "--fast"], "build: there is no option --fast; name targets"),
    (["web", "--fast"], "web: there is no option --fast"),
    (["book", "--fast"], "book: there is no option --fast"),
):
    said = run(root / "scripts" / command[0], *command[1:], code=2)
    expect(f"scripts/{' '.join(command)} is answered", wanted in said, said)
said = run(root / "scripts/run", "tmem", code=2)
expect("part of several names is answered by them", "run: tmem is part of several names: 03_tmem_alloc 04_tmem_ld_st" in said, said)

CMAKE = """#!/bin/sh
case "$1 $STAGE" in
  "--preset unconfigured") echo "CMake Error: no compiler"; exit 1 ;;
  "--preset "*) touch build/default/build.ninja; exit ;;
esac
echo "[0/2] Re-checking globbed directories..."
[ "$STAGE" != nothing ] || { echo "ninja: no work to do."; exit; }
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "[$i/20] Building x$i.cpp.o"; done
[ "$STAGE" != broken ] || { echo "x.cpp:7: error: no such thing"; exit 1; }
"""
with tempfile.TemporaryDirectory() as name:
    tree = pathlib.Path(name)
    (tree / "scripts").mkdir()
    shutil.copy(root / "scripts/build", tree / "scripts")
    (tree / "bin").mkdir()
    (tree / "bin/cmake").write_text(CMAKE)
    (tree / "bin/cmake").chmod(0o755)

    def build(stage, code=0):
        environment = os.environ | {"PATH": f"{tree}/bin:{os.environ['PATH']}", "STAGE": stage, "NINJA_STATUS": "%p "}
        return run(tree / "scripts/build", "13_gemm", code=code, env=environment)

    said = build("unconfigured", code=1)
    expect("a build that cannot be configured shows why", "CMake Error: no compiler\nbuild: cmake could not configure it" in said, said)
    said = build("whole").splitlines()
    expect("a build says what it does and for how long", said[1].startswith("building 13_gemm: 20 steps, ") and "minute" in said[1], said)
    expect("and how far it is, a line for each tenth", len(said) == 12 and said[2].startswith("  2 of 20 steps, 0:0") and said[-1].startswith("  20 of 20"), said)
    expect("what is built needs no words", build("nothing") == "", "")
    said = build("broken", code=1)
    expect("a build that fails shows the error and where the rest is",
           f"x.cpp:7: error: no such thing\nbuild: 13_gemm could not be built; all that the tools said is in {tree}/build/default/build.log" in said, said)
