#!/usr/bin/env python3
"""Sessions of gen5 debug at its prompt.

  debug_test.py BUILD NAME    one of the tests below
"""
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import time

from session import Build, expect, line_of, position_in

build = Build(sys.argv[1])
gen5 = build.gen5
RING = build.program("01_mbarrier", "--part", "ring")
# chapters/01_mbarrier/main.cu: the consumer's wait for a full stage.
WAIT = line_of("chapters/01_mbarrier/main.cu", "mbarrier_wait_parity(full, round & 1);")


def session(*commands, program=RING, **options):
    return build.session(*commands, program=program, **options)


def breakpoints():
    """A line, a condition, a part of a kernel's name, a line without code; lines of the answer name file and line."""
    answers = session(f"break 01_mbarrier/main.cu:{WAIT} if warp == 1", "run", "where", "continue", "delete 1", "show breakpoints", code=0)
    expect(f"main.cu:{WAIT}" in answers[1] and "warp 1" in answers[1], "the run did not stop at the breakpoint", answers[1])
    expect("#0" in answers[2] and "ring" in answers[2], "where names no kernel", answers[2])
    expect(position_in(answers[3]) > position_in(answers[1]), "continue does not go on", answers[3])
    expect("there are none" in answers[5], "the breakpoint is still there", answers[5])
    answers = session("break ring", "run", "where", "show warps", code=0)
    expect("at cycle" in answers[1] and "ring" in answers[2], "no stop where a kernel begins", *answers)
    expect("CTA (0,0,0), warp 1" in answers[3], "the warps are not there where a kernel begins", *answers)
    answers = session(f"break main.cu:{WAIT + 2}", "run", code=0)  # `uint32_t sum = 0;` has no code: the next line has
    expect(f"main.cu:{WAIT + 3}" in answers[1], "a line without code does not lead to the next one", answers[1])


def there_and_back():
    """The same moment looks the same, however it is reached."""
    look = ("where", "registers /x", "show barriers", "show inflight", "show shared 0x400 512", "why")
    stop = f"break main.cu:{WAIT} if warp == 1"
    first = session(stop, "run", "continue", "continue", *look, code=0)
    position = position_in(first[3])
    for way in (
        ["run", f"goto {position}"],
        [f"goto {position + 3000}", f"goto {position}"],
        [f"goto {position + 1}", f"goto {position}"],
    ):
        again = session(*way, *look, code=0)
        for name, a, b in zip(look, first[-len(look) :], again[-len(look) :]):
            expect(a == b, f"{name} differs at position {position} by way of {way}", a, "and", b)
    answers = session(stop, "run", "continue", "reverse", code=0)
    expect(position_in(answers[3]) == position_in(answers[1]), "reverse does not find the breakpoint before", *answers)
    answers = session(stop, "run", "stepi", "stepi", "backi", "backi", code=0)
    expect(position_in(answers[5]) == position_in(answers[1]), "two steps forward and two back lead elsewhere", *answers)
    answers = session(stop, "run", "step", "back", code=0)
    expect(f"main.cu:{WAIT}" in answers[3], "back does not lead to the line before", *answers)
    end = session("run", "back-until complete", code=0)
    expect("is complete" in end[1], "the past of a program that has ended is not there", end[1])


def same_end():
    """Going back and on again leads to the same end, with the same output."""
    plain = session("run", code=0)[0]
    steps = re.search(r"after ([\d,]+) steps", plain)[1]
    again = session("goto 4000", "goto 100", "run", code=0)[2]
    expect(f"after {steps} steps" in again, "the end is another one", plain, again)


def printed_once():
    """Each line that the program prints is on the output once, however often the run goes back, and when it starts again."""
    plain = subprocess.run(RING, capture_output=True, text=True, check=True).stdout.splitlines()
    for commands in (
        ["run"],
        ["goto 4000", "goto 100", "run"],
        ["goto 4000", "goto 100", "goto 5000", "goto 4999", "run", "goto 10", "run"],
        ["goto 4000", "watch shared 0x0 0x4", "delete 1", "run"],
        ["run", "goto 10", "watch shared 0x0 0x4", "delete 1", "run"],
    ):
        shown = "".join(answers := session(*commands, code=0, all_of_it=True)).splitlines()
        wrong = [line for line in plain if line.strip() and shown.count(line) != plain.count(line)]
        expect(not wrong, f"{commands}: lines that are missing or printed twice", *wrong, "in", *answers)


def diagnosis():
    """From a diagnosis to the place, and to the other place that it names."""
    answers = session("diagnosis", "where", "why", program=build.program("01_mbarrier", "--mistake", "parity", "--kernel", "wrong"), code=0)
    expect("deadlock" in answers[0] and "mistakes.txt" in answers[1], "diagnosis does not lead to the wait", *answers)
    expect("on the mbarrier " in answers[2], "why does not say what is waited for", *answers)
    answers = session("diagnosis 1", "diagnosis 1 2", program=build.program("05_mma", "--mistake", "early_commit", "--kernel", "wrong"), code=0)
    expect("tcgen05.mma" in answers[0] and position_in(answers[1]) < position_in(answers[0]), "the place named second does not come first", *answers)


def watchpoints():
    """A watched range stops the run behind the write to it."""
    answers = session("break ring", "run", "delete 1", "watch shared 0x400 0x408", "continue", code=0)
    expect("watchpoint 2" in answers[4] and "write" in answers[4], "no stop at the watchpoint", *answers)
    program = build.program("05_mma", "--part", "smallest")
    cell = "show tmem 0 1 0 1"
    answers = session("break smallest", "run", "delete 1", "watch tmem 0 1", "run", cell, "backi", cell, program=program, code=0)
    expect("watchpoint 2: a write of Tensor Memory" in answers[4], "no stop at a write of Tensor Memory", *answers)
    expect(answers[5] != answers[7], "the cell is the same before the write", *answers)
    answers = session("until tmem written 0 1", "continue", "back-until tmem written 0 1", program=program, code=0)
    expect("a write of Tensor Memory" in answers[0], "until tmem written", *answers)
    expect("a write of Tensor Memory" in answers[2], "back-until tmem written", *answers)


def tensor_memory():
    program = build.program("05_mma", "--part", "smallest")
    answers = session("until complete", "show tmem 0 2 0 4", "until complete", "show tmem 0 2 0 4 /f", program=program, code=0)
    expect("columns 0 to 31: CTA (0,0,0)" in answers[1], "no allocation", *answers)
    expect(re.search(r"^ +0 +-?\d", answers[3], re.M), "no values behind the MMA", *answers)


def from_diagnosis():
    """The first error of a plain run ends in the command that stands at it, once a run; --at goes to a position."""
    program = build.program("01_mbarrier", "--mistake", "parity", "--kernel", "wrong")
    run = subprocess.run(program, capture_output=True, text=True, timeout=60, env=os.environ | {"GEN5_DEVICE": "tinygpu"}, cwd=build.folder)
    said = re.findall(r"= debug: (gen5 debug .*)", run.stderr)
    expect(len(said) == 1 and " bin/01_mbarrier --mistake parity --kernel wrong" in said[0], "no command, or several", run.stderr)
    there = subprocess.run([gen5, *shlex.split(said[0])[1:2], "--batch", *shlex.split(said[0])[2:]], capture_output=True, text=True, timeout=60, cwd=build.folder)
    line = re.search(r"by CTA \(0,0,0\), warp 0\n.*ptx line (\d+)", run.stderr)[1]
    expect(f"ptx line {line}:" in there.stdout and "deadlock" in there.stdout, "the command leads elsewhere", said[0], there.stdout, there.stderr)
    for options, says in ((["--diagnosis=2"], "there are diagnoses 1 to 1"), (["--diagnosis=proxy"], "there is no diagnosis proxy")):
        answer = session(program=program, options=options, code=2)[0]
        expect(says in answer, f"{options} is not refused", answer)
    at = session("where", program=program, options=["--at", "1,000"], code=0)
    expect(position_in(at[0]) == 1000, "--at leads elsewhere", *at)
    right = subprocess.run(RING, capture_output=True, text=True, timeout=60, env=os.environ | {"GEN5_DEVICE": "tinygpu"})
    expect("gen5 debug" not in right.stdout + right.stderr, "a right program is told to be debugged", right.stdout)


def orders():
    """The note's --order and --seed lead through other moments, each the same every time."""
    seen = {}
    for options in ((), ("--order", "late"), ("--seed", "3"), ("--seed", "3")):
        answer = session("break ring", "run", "delete 1", "until complete", options=options, code=0)[3]
        expect(seen.setdefault(options, answer) == answer, f"{options} differs from run to run", answer)
    expect(len(set(seen.values())) > 1, "the orders are all the same", *seen.values())


def break_diagnosis():
    """A breakpoint on diagnoses leads to where each happens, once."""
    program = build.program("05_mma", "--mistake", "early_commit", "--kernel", "wrong")
    answers = session("break diagnosis", "run", "where", "diagnoses", "continue", program=program)
    code = lambda answer: answer.split(":")[0]  # noqa: E731
    expect(code(answers[1]).startswith("tmem-") and position_in(answers[1]) > 0, "no stop at the diagnosis", *answers)
    expect("#0" in answers[2], "no frames where it happens", *answers)
    told = int(re.search(r"told at position ([\d,]+)", answers[3])[1].replace(",", ""))
    expect(position_in(answers[1]) <= told, "it has been told before it happened", *answers)
    expect(answers[3].count("error[") == 1 and code(answers[4]).startswith("tmem-") and code(answers[4]) != code(answers[1]), "no stop at the second", *answers)


def tiles():
    """Tiles with the swizzle undone are what lies in global memory; D is the product of A and B."""
    program = build.program("05_mma", "--part", "smallest")
    number = lambda text: [[float(v) for v in row.split()[2:]] for row in text.splitlines()[2:]]  # noqa: E731
    answers = session("until complete", "until complete", "show tile a 0 128 0 16", "show tile b 0 16 0 16", "show tile d 0 128 0 16", program=program, code=0)
    a, b, d = (number(answers[k]) for k in (2, 3, 4))
    expect(len(a) == 128 and len(b) == 16 and len(d) == 128, "shapes", *answers)
    for m in range(128):
        for n in range(16):
            exact = sum(x * y for x, y in zip(a[m], b[n]))  # of bf16 values that are sums of few bits: float64 is exact
            expect(abs(d[m][n] - exact) <= 2e-6 * max(1, abs(exact)), f"D[{m}][{n}] is {d[m][n]}, A B has {exact}")
    program = build.program("13_gemm", "--step", "8", "--m", "256", "--n", "256", "--k", "128", "--timeline", "off")
    offset = re.search(r"shared offset (0x[0-9a-f]+)", session("until complete", "show tile box", program=program, code=0)[1])[1]
    landed = ["until complete"] * 12
    answers = session(*landed, f"show tile box {offset} 0 16 0 64", program=program, code=0)
    title, *rows = answers[-1].splitlines()
    found = re.search(r"box at \((\d+),(\d+)\) of the tensor at (0x[0-9a-f]+), \d+ rows x (\d+) bf16, at shared offset (0x[0-9a-f]+).*swizzle 128", title)
    expect(found, "no box of bf16 with a swizzle", answers[-1])
    x, y, base, columns, offset = (int(v, 0) for v in found.groups())
    box = [[float(v) for v in row.split()[2:]] for row in rows[1:]]
    reads = [f"show global {base + ((y + row) * 128 + x) * 2:#x} {columns * 2}" for row in range(16)]
    answers = session(*landed, *reads, f"show tile shared {offset:#x} 16x64 bf16 swizzle 128", program=program, code=0)
    for row, text in enumerate(answers[-17:-1]):
        raw = bytes.fromhex("".join(re.sub(r"^0x\w+", "", line) for line in text.splitlines()).replace(" ", ""))
        wanted = [struct.unpack("<f", b"\0\0" + raw[k : k + 2])[0] for k in range(0, len(raw), 2)]
        expect(all(abs(u - v) <= 1e-6 * abs(v) for u, v in zip(box[row], wanted)) and len(wanted) == 64, f"row {row} of the box", box[row], wanted)
    again = [[float(v) for v in row.split()[2:]] for row in answers[-1].splitlines()[2:]]
    expect(again == box, "the tile by its address is another one", answers[-1])


def pause():
    """A Ctrl-C stops the program where it is, and it goes on from there."""
    program = build.program("debug_programs", "spin", 2000000000)
    run = subprocess.Popen([gen5, "debug", *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    run.stdin.write("run\n")
    run.stdin.flush()
    time.sleep(2)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate("where\nbacki\nquit\n", timeout=60)
    expect("paused" in out and "spin" in out and position_in(out) > 1000, "no stop", out)


def bad_input():
    for command, says in (
        ("frobnicate", "there is no command frobnicate"),
        ("break", "break takes a place"),
        ("break x.cu:y", "x.cu:y is no line"),
        ("break diagnosis loud", "a diagnosis is an error"),
        ("show tile", "show takes a, b, d, box"),
        ("show tile shared 0 4 bf16", "4 is no shape"),
        ("diagnosis 7", "tinygpu has reported nothing"),
        ("break a if warp is 3", "a condition is NAME == NUMBER"),
        ("goto here", "here is no position"),
        ("show nothing", "there is no view nothing"),
        ("print %r1", "no grid is on the chip"),
        ("watch moon 1 2", "there is no memory moon"),
        ("until never", "until never is not known"),
        ("lane 40", "a warp has lanes 0 to 31"),
        ("delete 7", "there is no breakpoint 7"),
    ):
        run = subprocess.run([gen5, "debug", "--batch", "-x", command, *RING], capture_output=True, text=True, timeout=120)
        said = run.stdout + run.stderr
        expect(run.returncode == 2 and says in said, f"{command}: exit code {run.returncode}", said[-600:])
    run = subprocess.run([gen5, "debug", "/bin/true"], capture_output=True, text=True, timeout=60)
    expect(run.returncode == 0 and "ended without a launch" in run.stderr, "a program that launches nothing", run.stderr)
    run = subprocess.run([gen5, "debug", "-x", "run", "--commands", "/nowhere", *RING], capture_output=True, text=True, timeout=60)
    expect(run.returncode == 2 and "/nowhere cannot be read" in run.stderr, "a file that is not there", run.stderr)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
