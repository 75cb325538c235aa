#!/usr/bin/env python3
"""Variables of the source at the prompt: values that tests/debug/variables.cu makes for anybody to work out.

  variables_test.py BUILD NAME    one of the tests below
"""
import re
import subprocess
import sys

from session import Build, expect, line_of, root

build = Build(sys.argv[1])
SOURCE = "tests/debug/variables.cu"
PROGRAM = build.program("debug_variables")
LANES = range(32)


def need_libdw():
    """Without elfutils' libdw the feature is off, and says so."""
    said = session("break line: nothing", at="after", look=["locals"])[0]
    if "without elfutils' libdw" in said:
        print("this build has no libdw: scripts/setup installs libdw-dev")
        sys.exit(77)


def session(*commands, at, look, program=PROGRAM, options=()):
    """Answers of `look` at the line that is marked `line: AT`."""
    line = line_of(SOURCE, f"line: {at}")
    answers = build.session(f"break variables.cu:{line}", "run", *look, program=program, options=options, code=0)
    expect(f"variables.cu:{line}" in answers[1], f"no stop at line {line}", answers[1])
    return answers[2:]


def by_lane(text):
    """What `print` says of the 32 lanes."""
    if found := re.search(r" = (.*) in all lanes", text):
        return [found[1]] * 32
    return [v for row in re.findall(r"^ +\d+:((?: +\S+)+)$", text, re.M) for v in row.split()]


def values():
    """Every kind of type, on both machines and in another order: all lanes."""
    wanted = {
        "t": lambda t: str(t),
        "scale": lambda t: "1.5",
        "odd": lambda t: "true" if t & 1 else "false",
        "large": lambda t: str(-5000000000 - t),
        "wide": lambda t: str(3 + t),
        "grid[0][1]": lambda t: str(11 + 10 + t),
        "grid[1][2]": lambda t: str(t),
        "colour": lambda t: "green" if t & 1 else "red",
        "point.x": lambda t: "0.25",
        "point.inner.low": lambda t: "-7",
        "first.next->value": lambda t: str(100 + t),
        "sum": lambda t: str(30 + 3 * t),
    }
    for options in ((), ("--machine", "h200"), ("--order", "late")):
        answers = session(at="after", look=[f"print {name}" for name in wanted] + ["print tile[5]", "print letter"], options=options)
        for (name, value), answer in zip(wanted.items(), answers):
            shown = by_lane(answer)
            expect(shown == [value(t) for t in LANES] or "<optimised out" in answer, f"{options}: {name}", answer)
        # What must be there: it is used behind this line, or lies in memory. (Of `sum` nvcc names a register that is written later.)
        for name in ("wide", "grid[0][1]", "grid[1][2]", "colour", "point.x", "first.next->value", "odd"):
            expect("<" not in answers[list(wanted).index(name)], f"{name} has no value", answers[list(wanted).index(name)])
        expect(by_lane(answers[-2]) == [str(3 * 5 + 77)] * 32, "an element of shared memory", answers[-2])
        expect("103 'g'" in answers[-1] or "<optimised out" in answers[-1], "a character", answers[-1])
    one = session(at="after", look=["lane 7", "print first.next->value", "print wide /x", "lane all", "locals"])
    expect("= 107" in one[1], "one lane", one[1])
    expect("= 0x4024000000000000" in one[2], "a format", one[2])
    expect(re.search(r"^  colour \(Colour\) = red, green, red, green, … by lane$", one[4], re.M), "the list of variables", one[4])


def every_step():
    """At each instruction of the kernel: what has a value has the right one."""
    wanted = {
        "t": lambda t: str(t),
        "scale": lambda t: "1.5",
        "wide": lambda t: str(3 + t),
        "letter": lambda t: "103 'g'",
        "large": lambda t: str(-5000000000 - t),
        "colour": lambda t: "green" if t & 1 else "red",
        "doubled": lambda t: str(2 * t + 4),
        "value": lambda t: str(t),
        "two": lambda t: str(2 * t),
    }
    lane, steps = 9, 260
    commands = ["break variables if warp == 0", "run", "delete 1"] + ["stepi", f"lane {lane}", "locals"] * steps
    run = subprocess.run([build.gen5, "debug", *PROGRAM], input="\n".join(commands) + "\nquit\n", capture_output=True, text=True, timeout=250)
    answers = re.split(r"^\(gen5\) .*\n", run.stdout, flags=re.M)[4:]
    seen = dict.fromkeys(wanted, 0)
    inner = 0
    for stood, shown in zip(answers[::3], answers[2::3]):
        found = re.findall(r"^ *(\w+) \((.*)\) = (.*)$", shown, re.M)
        for name, _, value in found:
            if name in wanted and not value.startswith("<"):
                expect(value == wanted[name](lane), f"{name} is {value}", stood, shown)
                seen[name] += 1
        known = {name: value for name, _, value in found if not value.startswith("<")}
        if "inner" in known and "i" in known:
            expect(int(known["inner"]) == 10 * int(known["i"]) + lane, "inner", stood, shown)
            inner += 1
    expect(all(seen.values()) and inner, "variables that never have a value", seen, inner)


def blocks():
    """An inner block's variable hides an outer one of its name; what has not begun, or is over, is not shown."""
    inside, outside = session(at="hidden", look=["print sum", "locals"]), session(at="loop", look=["locals"])
    expect("= 77 in all lanes" in inside[0] or "<optimised out" in inside[0], "the inner sum", inside[0])
    names = re.findall(r"^( *)(\w+) \(", inside[1], re.M)
    depth = [len(indent) for indent, name in names if name == "sum"]
    expect(len(depth) == 2 and depth[0] < depth[1], "two of that name, one inside of the other", inside[1])
    expect(len(re.findall(r"^ *sum ", outside[0], re.M)) == 1, "the block is over", outside[0])
    expect("inner" in outside[0] and "doubled (const int) = <optimised out" in outside[0], "what comes later has no value", outside[0])
    first = build.session("break variables", "run", "print given", "stepi", program=PROGRAM, code=0)
    expect("has not stored this parameter yet" in first[2], "a parameter before it is stored", first[2])


def frames():
    """Each call has its own: a device function's parameters, and its caller's variables."""
    answers = session(at="inside", look=["where", "print two", "print value", "print point->y[1]", "print point->x", "print *point", "frame 1", "print wide", "print point.y[0]", "frame 7"][:-1])
    expect("#0" in answers[0] and "#1" in answers[0], "two calls", answers[0])
    expect(by_lane(answers[1]) == [str(2 * t) for t in LANES], "a local variable of the callee", answers[1])
    expect(by_lane(answers[2]) == [str(t) for t in LANES] or "<optimised out" in answers[2], "a parameter in a register", answers[2])
    expect(by_lane(answers[3]) == [str(2 * t) for t in LANES], "through a pointer into the caller's local memory", answers[3])
    expect("= 0.25 in all lanes" in answers[4], "a float through the pointer", answers[4])
    expect("{x = 0.25, y = {4, 14, 6}, inner = {low = -7, high = 8}}" in answers[5], "a struct by lane", answers[5])
    expect("#0 " in answers[6] and "variables" in answers[6], "the caller", answers[6])
    expect(by_lane(answers[7]) == [str(3 + t) for t in LANES], "a register of the caller", answers[7])
    expect("= 4 in all lanes" in answers[8], "memory of the caller", answers[8])


def parts():
    """Structs, arrays and pointers as a whole, and where there is nothing."""
    answers = session(at="after", look=["print grid", "print first.next", "print tile", "print last.next"])
    expect("lanes 0: {{20, 22, 24}" not in answers[0] and "{{20, 21" not in answers[0], "", answers[0])
    expect("lanes 3: {{13, 24, 35}, {20, 21, 3}}" in answers[0], "a matrix by lane", answers[0])
    expect("0x11" in answers[1], "an address in local memory", answers[1])
    expect("(uint32_t[32]) = {77, 80, 83," in answers[2] and "…}" in answers[2], "a long array", answers[2])
    expect("= 0x0 in all lanes" in answers[3], "a null pointer", answers[3])
    line = line_of(SOURCE, "line: after")
    for what, says in (("last.next->value", "there is no memory at its address"),):
        answer = build.session(f"break variables.cu:{line}", "run", f"print {what}", program=PROGRAM, code=0)[2]
        expect(f"<{says}>" in answer, f"{what} has a value", answer)


def lines_alone():
    """Of -lineinfo there are no variables: the registers are shown, and it says so."""
    program = build.program("debug_programs", "words")
    answers = build.session("break words if warp == 0 && cta.x == 0", "run", "stepi", "stepi", "locals", program=program, code=0)
    expect("compiled without -G: of -lineinfo there are lines, and no variables. Its registers:\n%" in answers[4], "no registers", answers[4])


def refused():
    """Bad names and paths get a sentence."""
    line = line_of(SOURCE, "line: after")
    for what, says in (
        ("print nothing", "there is no variable nothing here"),
        ("print t.x", "t is no struct"),
        ("print t[1]", "t is no array"),
        ("print grid[2]", "grid has 2 elements"),
        ("print grid[x]", "an index is a number in brackets"),
        ("print point.z", "Point has no member z"),
        ("print *point", "point is no pointer"),
        ("print point..x", "write a, a.b, a->b, a[3] or *a"),
        ("print ?", "write a, a.b, a->b, a[3] or *a"),
        ("frame 9", "there are calls 0 to 0"),
    ):
        commands = [f"break variables.cu:{line}", "run", what]
        arguments = [a for c in commands for a in ("-x", c)]
        run = subprocess.run([build.gen5, "debug", "--batch", *arguments, *PROGRAM], capture_output=True, text=True, timeout=120)
        expect(run.returncode == 2 and says in run.stdout, f"{what}: exit code {run.returncode}", run.stdout[-400:])
    answer = build.session("break words", "run", program=build.program("debug_programs", "words"), code=0)
    run = subprocess.run([build.gen5, "debug", "--batch", "-x", "break words", "-x", "run", "-x", "print round", *build.program("debug_programs", "words")], capture_output=True, text=True, timeout=120)
    expect(run.returncode == 2 and "without -G" in run.stdout, "a variable without -G", run.stdout[-400:], answer)


if __name__ == "__main__":
    need_libdw()
    globals()[sys.argv[2]]()
