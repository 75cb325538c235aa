#!/usr/bin/env python3
"""Fragments as matrices, and pages of a stopped machine.

  fragments_test.py BUILD NAME    one of the tests below
"""
import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile

from session import Build, expect, line_of, root

build = Build(sys.argv[1])
SOURCE = "tests/debug/fragments.cu"
LANES = range(32)
# PTX ISA 9.7.15.5, figures of wgmma's fragments: for a thread and a register of it a row and a column that it has there.
ACCUMULATOR = {(0, 0): (0, 0), (0, 1): (0, 1), (1, 0): (0, 2), (3, 1): (0, 7), (4, 0): (1, 0), (0, 2): (8, 0), (31, 3): (15, 7)}
OPERAND = {(0, 0): (0, 0), (1, 0): (0, 2), (0, 1): (8, 0), (0, 2): (0, 8), (0, 3): (8, 8), (31, 0): (7, 6), (31, 3): (15, 14)}


def matrix(answer):
    """The cells below the heads, as text, by row."""
    rows = {}
    for line in answer.splitlines():
        if found := re.match(r" +(?:lane|m) (\d+) (.*)$", line):
            rows[int(found[1])] = found[2].split()
    return rows


def lanes_of(answer):
    """A register in hexadecimal digits, lane by lane."""
    if found := re.search(r" = (0x\w+) in all lanes", answer):
        return [int(found[1], 16)] * 32
    return [int(v, 16) for row in re.findall(r"^ +\d+:((?: +0x\w+)+)$", answer, re.M) for v in row.split()]


def stop(kind, mark, *look, warp=1, options=()):
    program = build.program("debug_fragments", kind)
    line = line_of(SOURCE, f"line: {mark}")
    answers = build.session(f"break fragments.cu:{line} if warp == {warp}", "run", *look, program=program, options=options, code=0)
    expect(answers[1].startswith("breakpoint 1: ") and f"warp {warp}" in answers[1], f"no stop at line {line}", answers[1])
    return answers[2:]


def instruction(kind, title, options=()):
    """The text of the one whose fragment this is."""
    line = re.search(r"PTX line (\d+),", title)[1]
    return build.session(f"break ptx {line}", "run", program=build.program("debug_fragments", kind), options=options, code=0)[1]


def lists_of(text):
    return [names.replace(" ", "").split(",") for names in re.findall(r"\{([^}]*)\}", text)]


def map_of(shape, repeats, packing):
    """What NVIDIA's CuTe has for a form of tcgen05.ld (tests/tmem/cute_maps.txt says whence): [register][thread], lane and column."""
    for line in (root / "tests/tmem/cute_maps.txt").read_text().splitlines():
        words = line.split()
        if words[:3] == [shape, repeats, packing]:
            cells = [tuple(map(int, w.split(":"))) for w in words[4:]]
            return [cells[k : k + 32] for k in range(0, len(cells), 32)]
    raise SystemExit(f"cute_maps.txt has no {shape} {repeats} {packing}")


def loads():
    """Each shape: the matrix has what was stored in those cells, and each register's values stand where CuTe has them."""
    forms = (("whole", "32x32b", "x4"), ("two", "16x64b", "x4"), ("four", "16x128b", "x2"), ("eight", "16x256b", "x1"), ("packed", "32x32b", "x4"), ("halves", "16x32bx2", "x4"))
    for mark, shape, repeats in forms:
        packed, lanes = mark == "packed", 32 if shape == "32x32b" else 16
        columns = 4 if mark == "whole" else 8
        title, shown = stop("tmem", mark, "show fragment", f"show fragment 0 128 0 {columns}")
        expect(f"tcgen05.ld.sync.aligned.{shape}.{repeats}" in title and f"{lanes} lanes x {columns} columns a warp" in title, f"{mark}: the title", title)
        expect(min(matrix(title)) == lanes, f"{mark}: it begins with another warp's rows", title)
        cells = matrix(shown)
        for lane in range(lanes):
            wanted = [hex(c if packed else (32 + lane) << 16 | c) for c in range(columns)]
            expect(cells[lanes + lane] == wanted, f"{mark}: lane {lane}", cells[lanes + lane], wanted)
        names = lists_of(instruction("tmem", title))[0]
        held = [lanes_of(a) for a in stop("tmem", mark, *(f"lanes {name} /x" for name in names))]
        for register, of_thread in enumerate(map_of(shape, repeats, "pack" if packed else "plain")):
            for thread, (lane, column) in enumerate(of_thread):
                there = int(cells[lanes + lane][column], 16)
                if packed:
                    there |= int(cells[lanes + lane][column + 1], 16) << 16
                expect(held[register][thread] == there, f"{mark}: register {register} of thread {thread} is not lane {lane}, column {column}", hex(held[register][thread]), shown)
    # A load that no wait has followed has no values, and it says so.
    line = line_of(SOURCE, "tcgen05_ld_16x64b(two, address);")
    early = build.session(f"break fragments.cu:{line + 1} if warp == 1", "run", "show fragment", "show fragment ptx 1", program=build.program("debug_fragments", "tmem"))
    expect(set(v for row in matrix(early[2]).values() for v in row) == {"-"} and "under way" in early[2], "values of a load under way", early[2])
    expect("no wgmma.mma_async, tcgen05.ld or tcgen05.st stands at line 1 " in early[3], "an instruction that is none", early[3])


def wgmma():
    """D and A of a warpgroup: what the kernel works out, in the registers of the manual's figures."""
    options = ("--machine", "h200")
    # Values of the program: a unit matrix makes the first columns of D those of A.
    value = lambda m, k: (m % 16 + 16 * k) * (1, -1, 2, -2)[m // 16]  # noqa: E731
    shown, operand, own = stop("wgmma", "wgmma", "show fragment 0 64 0 8", "show fragment a 0 64 0 16", "show fragment", options=options)
    own_rows = matrix(own)
    expect("D of wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16, 64 x 8 f32" in own and min(own_rows) == 16, "D of the warp in focus", own)
    cells = matrix(shown)
    for m in range(16, 32):
        expect([float(v) for v in cells[m]] == [value(m, n) for n in range(8)], f"row {m} of D", cells[m])
    expect("A of wgmma" in operand or "has no A" in operand, "A", operand)
    names = lists_of(instruction("wgmma", own, options))
    held = [lanes_of(a) for a in stop("wgmma", "wgmma", *(f"lanes {name} /x" for name in names[0]), options=options)]
    as_float = lambda bits: __import__("struct").unpack("<f", bits.to_bytes(4, "little"))[0]  # noqa: E731
    for (thread, register), (row, column) in ACCUMULATOR.items():
        expect(as_float(held[register][thread]) == float(cells[16 + row][column]), f"register {register} of thread {thread} is not row {row}, column {column}")
    # Before the MMA, A's registers have their values; D's are zero.
    line = re.search(r"PTX line (\d+),", own)[1]
    program = build.program("debug_fragments", "wgmma")
    before = build.session(f"break ptx {line} if warp == 2", "run", "show fragment a 32 16 0 16", *(f"lanes {name} /x" for name in names[1]), program=program, options=options, code=0)
    a = matrix(before[2])
    for m in range(32, 48):
        expect([float(v) for v in a[m]] == [value(m, k) for k in range(16)], f"row {m} of A", a[m], before[2])
    for (thread, register), (row, column) in OPERAND.items():
        low = lanes_of(before[3 + register])[thread] & 0xFFFF
        expect(as_float(low << 16) == float(a[32 + row][column]), f"register {register} of thread {thread} is not row {row}, column {column} of A")
    # While it runs, D's registers have no values.
    committed = stop("wgmma", "commit", "show fragment", options=options)[0]
    expect(set(v for row in matrix(committed).values() for v in row) == {"-"}, "D of an MMA that runs", committed)


class Page(html.parser.HTMLParser):
    """What a page has: its text, and whether its elements are closed."""

    EMPTY = {"meta", "link", "br", "rect"}

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.tags, self.attributes = [], [], [], []
        self.feed(text)
        expect(not self.open, "elements that are not closed", self.open)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.EMPTY or tag == "rect":
            self.open.append(tag)

    def handle_endtag(self, tag):
        expect(self.open and self.open.pop() == tag, "an element that is closed elsewhere", tag)

    def handle_data(self, data):
        self.words.append(data)


def page():
    """`--html` writes a page that loads nothing, runs nothing, and has what the views have."""
    folder = pathlib.Path(tempfile.mkdtemp())
    line = line_of(SOURCE, "line: eight")
    program = build.program("debug_fragments", "tmem")
    commands = [f"break fragments.cu:{line} if warp == 1", "run", f"show tmem --html {folder}/tmem.html", f"show all --html {folder}/all.html", f"show fragment --html {folder}/fragment.html"]
    answers = build.session(*commands, program=program, code=0)
    expect(f"written to {folder}/tmem.html" in answers[2], "no page", answers[2])
    for name in ("tmem", "all", "fragment"):
        text = (folder / f"{name}.html").read_text()
        page = Page(text)
        expect("script" not in page.tags and not [v for k, v in page.attributes if k in ("src", "href") and not v.startswith("data:")], f"{name}: it loads something")
        expect("CTA (0,0,0), warp 1" in text, f"{name}: it does not say where", text[:3000])
    whole = (folder / "all.html").read_text()
    for words in ("mbarriers and barriers", "In flight", "Tensor Memory of SM", "columns 0 to 31: CTA (0,0,0)", "of 4,096", "registers of tcgen05.ld.sync.aligned.16x256b"):
        expect(words in whole, f"the page has no {words}", whole[-4000:])
    # 128 lanes of 8 columns were stored.
    expect("1,024 of 4,096" in whole, "how many cells are written", *re.findall(r"[\d,]+ of 4,096", whole))
    expect(hex(32 << 16 | 7) in (folder / "fragment.html").read_text(), "a cell of the fragment")
    for command, says in ((f"show warps --html {folder}/x", "there is no page of warps"), ("show tmem --html", "--html takes a file"), ("show tmem --html /nowhere/x", "cannot be written")):
        arguments = [a for c in [*commands[:2], command] for a in ("-x", c)]
        run = subprocess.run([build.gen5, "debug", "--batch", *arguments, *program], capture_output=True, text=True, timeout=120)
        expect(run.returncode == 2 and says in run.stdout, f"{command}: exit code {run.returncode}", run.stdout[-300:])
    for f in folder.iterdir():
        f.unlink()
    folder.rmdir()


if __name__ == "__main__":
    globals()[sys.argv[2]]()
