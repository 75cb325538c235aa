#!/usr/bin/env python3
"""Programs and sessions that a debugger should not fall over.

  hostile_test.py BUILD NAME    one of the tests below
"""
import pathlib
import subprocess
import sys
import time

from session import Build, expect, line_of, position_in

build = Build(sys.argv[1])
SOURCE = "tests/debug/programs.cu"
MARK = line_of(SOURCE, "// line: mark")


def session(*commands, program, **options):
    return build.session(*commands, program=build.program("debug_programs", *program), **options)


def exits():
    """exit and _exit inside the program: its code, and its past is there."""
    for how in ("exit", "vanish"):
        answers = session("run", f"back-until complete", "reverse", f"break programs.cu:{MARK}", "reverse", program=(how, 7), code=0)
        expect("exit code 7" in answers[0], "the exit code", *answers)
        expect(f"programs.cu:{MARK}" in answers[4], "its past is not there", *answers)


def crashes():
    """A segmentation fault: the signal, and the past up to it."""
    answers = session("run", f"break programs.cu:{MARK}", "reverse", "stepi", "run", program=("crash",), code=139)
    expect("ended by signal 11" in answers[0] and "signal 11" in answers[4], "the signal", *answers)
    expect(f"programs.cu:{MARK}" in answers[2], "its past is not there", *answers)


def forks():
    """A child of the program launches kernels freely; the program knows no children but its own."""
    answers = session("goto 2", "run", "goto 3", "run", program=("fork",), code=0)
    out = "".join(answers)
    expect(out.count("the child goes on") == 1 and out.count("1 child has ended") == 1, "children", out)
    expect("exit code 0" in answers[1] and "exit code 0" in answers[3], "the end", out)


def reads():
    """Standard input is the debugger's; the program finds it at its end."""
    answers = session("run", program=("read",), code=0)
    expect("no line" in answers[0] and answers[0].count("marked 1 of 1") == 2, "the program waits", *answers)


def shell():
    """A script that starts two programs: the first is debugged, the second runs freely, and nothing waits forever."""
    script = " ; ".join([f"'{build.program('debug_programs')[0]}' exit 3"] * 2)
    run = subprocess.run([build.gen5, "debug", "--batch", "-x", "run", "bash", "-c", script], capture_output=True, text=True, timeout=60)
    refused = "cannot run on tinygpu" in run.stderr  # a static shell
    expect(refused or run.stdout.count("marked 1 of 1") == 2, "not two runs", run.stdout, run.stderr)


def no_zombies():
    """Snapshots that are dropped are gone: no zombie is left to the session, nor to the program."""
    run = subprocess.Popen([build.gen5, "debug", "--snapshots", "2", *build.program("debug_programs", "spin", 2000000000)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    run.stdin.write("run\n")
    run.stdin.flush()
    dead = most = 0
    for _ in range(40):
        time.sleep(0.1)
        mine = []
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
                if "debug_programs" in stat.read_text():
                    mine.append(fields[0])
            except (OSError, IndexError):
                continue
        most = max(most, len(mine))
        dead = max(dead, mine.count("Z"))
    run.kill()
    run.communicate()
    expect(most >= 2, "no snapshots were made", most)
    expect(dead <= 1, f"{dead} zombies")  # one may be between its end and its burial


def many_breakpoints():
    """Five thousand breakpoints: a step among them takes no longer than a moment."""
    breaks = [f"break programs.cu:{n} if cta.x == {n + 1000000}" for n in range(1, 5001)]
    file = build.folder / "tests" / "debug" / "breakpoints.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([*breaks, "break mark", "run", "stepi", "stepi", "backi"]) + "\n")
    start = time.monotonic()
    answers = session(program=("exit", 0), options=["--commands", str(file)], code=0)
    took = time.monotonic() - start
    expect("breakpoint 5001" in answers[5001] and position_in(answers[5004]) == position_in(answers[5002]), "steps", *answers[-4:])
    expect(took < 30, f"took {took:.1f} s")


def many_ctas():
    """100,000 CTAs: the last one by a condition, lists that page, and back."""
    answers = session(
        f"break programs.cu:{MARK} if cta.x == 99999", "run", "show warps", "where", "backi", "back-until complete", program=("grid", 100000), code=0
    )
    expect("CTA (99999,0,0)" in answers[1], "no stop in the last CTA", *answers)
    expect("resident" in answers[2] and answers[2].count("CTA (") <= 64, "the list", answers[2][-300:])
    expect("CTA (99999,0,0)" in answers[4] and position_in(answers[4]) < position_in(answers[1]) or "begins here" in answers[4], "back", *answers[3:])


if __name__ == "__main__":
    globals()[sys.argv[2]]()
