#!/usr/bin/env python3
"""scripts/skipped on what a real ctest writes: every skipped test is counted, and named under its reason."""
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
PROJECT = r"""
cmake_minimum_required(VERSION 3.25)
project(x NONE)
enable_testing()
add_test(NAME of_code COMMAND sh -c "echo first; echo 'no wheels here'; exit 77")
add_test(NAME of_gtest COMMAND sh -c "echo 'a.cpp:12: Skipped'; echo 'no GPU & no <time>'; echo; echo '[  SKIPPED ] A.B (0 ms)'; echo '1 test'")
add_test(NAME of_gtest_too COMMAND sh -c "echo 'b.cpp:1: Skipped'; echo 'no GPU & no <time>'; echo '[  SKIPPED ] C.D (0 ms)'")
add_test(NAME passes COMMAND true)
add_test(NAME fails COMMAND false)
add_test(NAME off COMMAND true)
set_tests_properties(of_code PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(of_gtest of_gtest_too PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
set_tests_properties(off PROPERTIES DISABLED TRUE)
"""
WANTED = """4 of 6 tests were skipped:
  no wheels here
    of_code
  no GPU & no <time>
    of_gtest
    of_gtest_too
  disabled
    off
"""


def skipped(path):
    return subprocess.run([root / "scripts/skipped", path], capture_output=True, text=True)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "CMakeLists.txt").write_text(PROJECT)
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ctest", "--test-dir", folder / "build", "--output-junit", folder / "tests.xml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    said = skipped(folder / "tests.xml").stdout
    if said != WANTED:
        sys.exit(f"scripts/skipped said\n{said}")
    (folder / "broken.xml").write_text("<testsuite>")
    for file, wanted in (("broken.xml", "is not what ctest writes"), ("none.xml", "cannot be read: No such file")):
        done = skipped(folder / file)
        if done.returncode != 1 or wanted not in done.stderr or "Traceback" in done.stderr:
            sys.exit(f"{file}: {done.stderr}")
