"""seeds.py tells what is right from what is not, and short_fill.py leaves out what it says."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(HERE))
import seeds
import short_fill

right = seeds.check("01_mbarrier", BUILD, 1, 2, 100)
assert not seeds.bad(right) and right["runs"] == 3 and not right["errors"], right

seeds.PROGRAMS["wrong"] = seeds.Program("01_mbarrier --mistake over_arrival --kernel wrong")
wrong = seeds.check("wrong", BUILD, 0, 1, 100)
assert seeds.bad(wrong) and wrong["errors"][0][0] == "mbarrier-over-arrival" and wrong["errors"][0][1].startswith("mistakes.txt:"), wrong

seeds.PROGRAMS["warned"] = seeds.Program("01_mbarrier --mistake init_twice --kernel wrong")
warned = seeds.check("warned", BUILD, 0, 1, 100)
assert seeds.bad(warned) and not warned["errors"] and warned["unknown"][0][0] == "mbarrier-reinit", warned
seeds.TRUE_WARNINGS["warned"] = ("mbarrier-reinit",)
assert not seeds.check("warned", BUILD, 0, 1, 100)["unknown"]

seeds.PROGRAMS["fails"] = seeds.Program("01_mbarrier --no-such-option")
fails = seeds.check("fails", BUILD, 0, 1, 100)
assert seeds.bad(fails) and any("exit code" in f for f in fails["failed"]), fails

table = seeds.table([right, wrong, warned])
assert "01_mbarrier" in table and "none    none" in table and "mbarrier-over-arrival" in table, table

unknown = subprocess.run([sys.executable, str(HERE / "seeds.py"), "no_such"], capture_output=True, text=True)
assert unknown.returncode == 1 and "there is no program no_such: --list" in unknown.stderr, unknown

text = """add.s32 %r434, %r234, 5783321;
st.local.v2.u32 [%rd1+64], {%r435, %r434};
setp.eq.s64 %p1, %rd51, 0;
@%p1 bra $L__BB1_42;
setp.eq.s64 %p2, %rd52, 0;
@%p2 bra $L__BB1_43;
"""
short, ways = short_fill.shorten(text)
assert ways == 1 and "bra.uni $L__BB1_42;" in short and "@%p2 bra $L__BB1_43;" in short and "cvt.u32.u64 %way, %rd51;" in short, short
assert short_fill.shorten("ret;\n") == ("ret;\n", 0)
