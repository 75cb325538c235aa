#!/usr/bin/env python3
"""cutlass_build.py's parts of a file, and cutlass_tests.py on a program that behaves as gtest's do: its cases pass, fail, are refused, hang or die."""

import os
import pathlib
import stat
import sys
import tempfile
import time

with tempfile.TemporaryDirectory() as name:
    os.environ |= {"GEN5": f"{name}/bin/gen5", "GEN5_CUTLASS_TESTS": f"{name}/built"}
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    import cutlass_build
    import cutlass_tests

    text = "#include <a>\nTEST(A, one) {\n  if (x) {\n  }\n}\nstruct B {};\nTYPED_TEST(A, two) {\n}\n// between\nTEST_F(A, three) {\n} // end\nlast\n"
    one, two = cutlass_build.parts(text, 2)
    assert "one" in one and "two" in one and "three" not in one, one
    assert "one" not in two and "two" not in two and "three" in two, two
    for part in (one, two):
        assert part.count("\n") == text.count("\n") and all(line in part for line in ("#include <a>", "struct B {};", "// between", "last")), part
    assert list(cutlass_build.parts("no case\n")) == ["no case\n"]

    assert cutlass_build.defines("TEST(A, one)") == ["-DCUTLASS_SM100_FAMILY_ARCHS_ENABLED"]
    assert cutlass_build.defines("#if (defined(X) && !defined(CUTLASS_SM100_FAMILY_ARCHS_ENABLED))") == []
    assert cutlass_build.defines("#ifdef CUTLASS_ARCH_MMA_SM90_F64_MMA_ENABLED")[0] == "-DCUTLASS_ARCH_MMA_SM90_F64_MMA_ENABLED=1"

    files = [f"gemm/{n}_sm90.cu" for n in range(101)]
    assert len(cutlass_build.fifth(files)) == 21 and set(cutlass_build.fifth(files)) <= set(files)
    assert cutlass_build.machine_of("a/sm100_x/f.cu") == "b200" and cutlass_build.machine_of("cute/hopper/f.cu") == "h200"

    # Stands where gen5 does: run … PROGRAM --gtest_filter=A:B, of which it prints what gtest would.
    (pathlib.Path(name) / "bin").mkdir()
    gen5 = pathlib.Path(name) / "bin/gen5"
    gen5.write_text(f"""#!{sys.executable}
import sys, time
if sys.argv[-1] == "--gtest_list_tests":
    print("noise\\nSuite.\\n  right\\n  wrong\\n  refused  # why\\n  hangs\\n  dies\\n  last")
for case in sys.argv[-1].partition("=")[2].split(":"):
    word = case.partition(".")[2]
    print("[ RUN      ] " + case, flush=True)
    if word == "hangs":
        time.sleep(60)
    if word == "dies":
        sys.exit(3)
    if word == "wrong":
        print("x.h:1: Failure")
    if word == "refused":
        print("tinygpu error[not-modelled]: that")
    if word == "last":
        print("tinygpu warning[some-code]: this")
    print(("[       OK ] " if word in ("right", "last") else "[  FAILED  ] ") + case + " (0 ms)", flush=True)
""")
    gen5.chmod(gen5.stat().st_mode | stat.S_IXUSR)
    program = pathlib.Path(name) / "built/program"
    program.parent.mkdir()
    machine = cutlass_tests.Machine("b200", 1)
    cases = machine.cases(program)
    assert cases == [f"Suite.{word}" for word in ("right", "wrong", "refused", "hangs", "dies", "last")], cases
    log = pathlib.Path(name) / "log"
    said = {case: cutlass_tests.run_case(machine, program, case, 2, float("inf"), log) for case in cases}
    got = {case.partition(".")[2]: (line["verdict"], line["why"], line["codes"]) for case, line in said.items()}
    assert got == {"right": ("right", "", []), "wrong": ("wrong", "x.h:1: Failure", []), "refused": ("refused", "that", ["not-modelled"]),
                   "hangs": ("slow", "more than 2 s", []), "dies": ("wrong", "ended without a verdict: [ RUN      ] Suite.dies\n", []), "last": ("right", "", ["some-code"])}, got
    assert cutlass_tests.run_case(machine, program, "Suite.hangs", 60, time.monotonic() + 1, log) is None
    fault = next(iter(cutlass_tests.faults()))
    ended = {"verdict": "wrong", "why": "x", "codes": [cutlass_tests.faults()[fault][0], "proxy-fence-missing"]}
    assert cutlass_tests.argued(*fault, ended)["verdict"] == "fault"
    assert cutlass_tests.argued(*fault, ended | {"codes": ["proxy-fence-missing"]})["verdict"] == "wrong"
    assert cutlass_tests.argued(fault[0], "Another.case", ended)["verdict"] == "wrong"
    assert cutlass_tests.argued(*fault, ended | {"verdict": "right"})["verdict"] == "right"
    assert cutlass_tests.size("gemm_f32_128x256x32_2x1x1") == 128 * 256 * 32 and cutlass_tests.size("plain") == 0
