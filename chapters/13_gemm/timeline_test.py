"""A step's timeline shows what the step does, whoever took the times.

timeline_test.py PROGRAM --all            every step of bf16, each run once a side
timeline_test.py PROGRAM --step N KIND    one of the narrow kinds
"""
import re
import subprocess
import sys

program, chosen = sys.argv[1], sys.argv[2:4] if sys.argv[2] == "--step" else ["--all"]
steps = range(1, 9) if chosen == ["--all"] else [int(chosen[1])]
kind = "bf16" if chosen == ["--all"] else sys.argv[4]
# More tiles than SMs, of 128 x 128 and of 256 x 256: a CTA takes several. 8 blocks of K a tile.
depth = {"bf16": 64, "fp8": 128, "mxf8": 128, "nvf4": 256}[kind]


def run(*words):
    return subprocess.run([program, "--kind", kind, *words], capture_output=True, text=True, check=True).stdout


def lanes(text, step):
    """Name -> rows of the step's own picture."""
    picture = re.search(rf"\n  Step {step}, [^\n]*\n[^\n]*\n[^\n]*\n(.*?)\n\n", text, re.S)[1]
    rows, name = {}, None
    for line in picture.split("\n"):
        named = re.match(r"  (producer|TMA|threads copy|tensor core|epilogue) ?(.*)", line)
        if named:
            name = named[1]
            line = " " * (len(line) - len(named[2])) + named[2]
        rows.setdefault(name, []).append(line)
    return rows


def order(row):
    """The digits in the order in which they appear."""
    return re.sub(r"(.)\1+", r"\1", row.replace(" ", ""))


large = ["--m", "4096", "--n", "1280", "--k", str(8 * depth)]
pictures = [run(*chosen, *large), run(*chosen, "--stamps", *large)]
assert ["stamps of the kernel" in p.replace("\n", " ") for p in pictures] == [False, True], pictures

for step in steps:
    off = run("--step", str(step), "--timeline", "off", "--m", "128", "--n", "128", "--k", "64")
    assert "What to see" not in off and "A column is" not in off
    # The step before stands beside it.
    if step > 1 and chosen == ["--all"]:
        for how in [], ["--stamps"]:
            beside = run("--step", str(step), *how, "--m", "256", "--n", "256", "--k", "256")
            assert list(lanes(beside, step - 1)) and list(lanes(beside, step)), beside

    # A CTA with one tile cannot show what persistence and overlap bring.
    small = run("--step", str(step), "--m", "256", "--n", "256", "--k", "256")
    one_tile = "has one tile, so nothing of that shows"
    assert (one_tile in " ".join(small.split())) == (step in (5, 6)), small
    assert not any(one_tile in " ".join(p.split()) for p in pictures)

    watched, stamped = (lanes(p, step) for p in pictures)
    assert watched.keys() == stamped.keys()
    loads = "threads copy" if step == 1 else "TMA"
    assert list(watched) == [*(["producer"] if step > 1 else []), loads, "tensor core", "epilogue"], watched.keys()
    for rows in watched, stamped:
        if step > 2:
            # Blocks are asked for in turn, tile after tile; MMAs follow in the same order.
            assert ("01234567" * 4).startswith(order(rows["producer"][0])), rows
            assert ("01234567" * 4).startswith(order(rows["tensor core"][0])), rows
        if step > 2:
            assert len(rows[loads]) > 2, ("loads do not run ahead", rows)
        if step == 1:
            assert set("".join(rows[loads])) <= set(" 01"), "a copy takes thousands of cycles"
        # A block is multiplied after its load has begun.
        if step > 1:
            assert rows["producer"][0].index("0") < rows["tensor core"][0].index("0")

    if step == 5:
        idle = max(len(gap) for gap in re.findall(r"(?<=7) +(?=0)", watched["tensor core"][0]))
        assert idle > 12, "the tensor core waits for the epilogue"
    if step in (6, 7, 8):
        gaps = [len(gap) for gap in re.findall(r"(?<=7) *(?=0)", watched["tensor core"][0])]
        assert min(gaps, default=0) < 8, "the tensor core goes on while the epilogue works"
