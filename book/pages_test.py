#!/usr/bin/env python3
"""pages_test.py DOCS: what the pages of book/make.py hold without a browser: the first page's ways in and its recorded rings, lessons and programs linked
both ways, host code folded and no line of a source lost, exercises that read without scripts, a kernel for each instruction, what the search puts first; that the list of
files for readers without a network changes with them, and what scripts/book says of wrong options."""
import pathlib
import re
import subprocess
import sys
import tempfile

from landing import landing

root = pathlib.Path(__file__).resolve().parent.parent
docs, faults = pathlib.Path(sys.argv[1]), []


def want(condition, what):
    if not condition:
        faults.append(what)


def first_page():
    text = (docs / "index.md").read_text()
    want(text.count("<h1>") == 1, "the first page has not one heading")
    for href in re.findall(r'href="([^"?#]+)\.html', text):
        want((docs / f"{href}.md").exists() or (docs / f"{href}.html").exists(), f"the first page leads to {href}, which is not there")
    want(text.count('class="landing-way"') >= 2, "the first page lacks ways in")
    # Chunks in the figure, whose numbers the page tells: with four stages at least one and a half times as many as with one.
    run = landing.recorded((root / "notes/figures/ring.svg").read_text())
    want([r["stages"] for r in run["rings"]] == [1, 4] and run["end"] > 1000, f"the rings are read wrongly: {run['end']}")
    one, four = (len(r["chunks"]) for r in run["rings"])
    want(2 * four >= 3 * one > 12, f"in the same cycles one stage reads {one} chunks, and four read {four}")
    for ring in run["rings"]:
        for stage in range(ring["stages"]):
            mine = ring["chunks"][stage :: ring["stages"]]
            want(all(a[3] <= b[0] + 100 for a, b in zip(mine, mine[1:])), f"a stage is filled before it has been read: {mine}")
    try:
        landing.recorded((root / "notes/figures/ring.svg").read_text().replace("consumer", "reader"))
        want(False, "a figure without a consumer is taken")
    except SystemExit:
        pass


def programs():
    for folder in sorted((root / "chapters").glob("[0-9]*")):
        program = (docs / "chapters" / f"{folder.name}.md").read_text()
        lesson = docs / "notes" / f"{folder.name}.md"
        if lesson.exists():
            want(f"(../notes/{lesson.name})" in program, f"{folder.name}: its program does not lead to its lesson")
            want(f"(../chapters/{folder.name}.md)" in lesson.read_text(), f"{folder.name}: its lesson does not lead to its program")
    program, source = (docs / "chapters/01_mbarrier.md").read_text(), (root / "chapters/01_mbarrier/main.cu").read_text()
    plain = re.sub(r'(?m)^\?\?\? note "Host code.*\n\n((?:    .*\n|\n)*)', "", program)
    for name in ("part_ring", "ring_right", "main"):
        want(f"{name}(" in program and f" {name}(" not in plain, f"chapter 01: {name}, which the host runs, is not folded")
    want("void phases(" in plain and "void arrivals(" in plain, "chapter 01: a kernel is folded")
    listed = {re.sub(r"\s*(?://)? ?\(\d+\)!?$", "", line.strip()) for line in program.splitlines()}
    lost = [line for line in source.splitlines() if line.strip() and re.sub(r"\s*(?://)? ?\(\d+\)!?$", "", line.strip()) not in listed]
    want(not lost, f"chapter 01: lines are lost: {lost[:3]}")


def exercises():
    page = docs / "practice.md"
    if not page.exists():
        return
    sections = page.read_text().split("<section ")[1:]
    want(len(sections) == 15, f"there are {len(sections)} exercises in PTX")
    for section in sections:
        name = re.search(r'data-gen5-exercise="(\w+)"', section)[1]
        want("// Your " in section or "// Change " in section, f"{name} has no hole")
        want(".visible .entry" in section and '??? tip "Hint"' in section and '??? success "Solution"' in section, f"{name} does not read without scripts")


def instructions():
    """Where the machine is in the pages, each instruction of the new PTX has a kernel, or a reason why none runs there."""
    if not (docs / "playground.md").exists():
        return
    pages = [p for p in sorted((docs / "isa").glob("*.md")) if p.stem not in ("index", "others")]
    live = {p.stem: re.search(r"<div data-gen5-run><p>[^<]*</p><pre><code>(.*?)</code></pre></div>", p.read_text(), re.S) for p in pages}
    want(len(pages) > 70, f"only {len(pages)} pages of instructions")
    for page in pages:
        want(live[page.stem] or "Not in this page: " in page.read_text(), f"{page.stem} has no kernel")
    for name in ("cp.async", "fence", "tcgen05.mma.sp", "mbarrier.arrive_drop", "bar.cta.red"):
        want(live[name] and re.search(rf"^\s*(@!?%\w+ )?{re.escape(name)}(?!\.(bulk|mbarrier|proxy|commit_group|wait))[.;\s]", live[name][1], re.M), f"the kernel of {name} does not use it")


def order():
    boost = lambda path: float((re.search(r"boost: ([\d.]+)", (docs / path).read_text()) or [0, 1])[1])
    for lesson in ("notes/05_mma.md", "notes/start_here.md"):
        for other in ("figures.md", "notes/evidence.md", "notes/mistakes.md", "machines/b200.md", "chapters/05_mma.md", "isa/tcgen05.mma.md"):
            want(boost(lesson) > 2 * boost(other), f"the search puts {other} beside {lesson}")


def offline():
    with tempfile.TemporaryDirectory() as made:
        site, versions = pathlib.Path(made), []
        (site / "reports").mkdir()
        (site / "reports" / "large.html").write_text("x" * 1_100_000)
        for text in ("one", "two"):
            (site / "index.html").write_text(text)
            subprocess.run([sys.executable, root / "book/offline/fill.py", site], check=True, stdout=subprocess.DEVNULL)
            worker = (site / "sw.js").read_text()
            versions.append(re.search(r'VERSION = "(\w+)"', worker)[1])
            want(re.search(r"FILES = (\[.*\]);", worker)[1] == '["index.html"]', f"kept without a network: {re.search(r'FILES = (.*);', worker)[1]}")
        want(versions[0] != versions[1], "a changed page keeps the version")


def options():
    for words, said in ((["--site", "example.org"], "--site needs an address"), (["--repository"], "--repository needs an address"), (["--sites"], "no option --sites")):
        done = subprocess.run([root / "scripts/book", *words], capture_output=True, text=True)
        want(done.returncode == 2 and said in done.stderr, f"scripts/book {' '.join(words)}: {done.returncode}, {done.stderr}")


for part in (first_page, programs, exercises, instructions, order, offline, options):
    part()
print("\n".join(faults) or "the pages hold what they should")
sys.exit(1 if faults else 0)
