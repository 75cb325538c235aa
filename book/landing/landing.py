"""The site's first page: a promise, a ring with one stage beside one with four, and three ways in.

The rings are the recorded run of notes/figures/ring.svg, which scripts/figures draws from what chapter 01 prints on tinygpu, and which a test
draws again: page and figure can't differ.
"""
import json
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMN = re.compile(r"in columns of (\d+)")
BOX = re.compile(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" [^>]*data-lane="([^"]+)" data-mark="." data-from="(\d+)"')
SCALE = re.compile(r'<path class="line" d="M([\d.]+) ')


def recorded(svg):
    """{"end": cycles, "rings": [{"stages", "chunks": [[copy begins, ends, reading begins, ends]], "copies": [[begins, ends]] of chunks that are not read any more}]} in cycles."""
    column = int(COLUMN.search(svg)[1])
    ticks = [float(x) for x in SCALE.findall(svg)]
    width = (ticks[1] - ticks[0]) / 10  # a tick stands at each tenth column
    lanes = []
    for part in svg.split(">Four stages<"):
        lanes.append({"bulk copy": [], "consumer": []})
        for wide, lane, at in BOX.findall(part):
            if lane in lanes[-1]:
                lanes[-1][lane].append((int(at) * column, (int(at) + round((float(wide) + 0.6) / width)) * column))
    end = max(box[1] for found in lanes for boxes in found.values() for box in boxes)  # there the picture cuts off
    rings = []
    for stages, found in zip((1, 4), lanes, strict=True):
        copies, reads = sorted(found["bulk copy"]), sorted(r for r in found["consumer"] if r[1] < end)
        rings.append({"stages": stages, "chunks": [[*copy, *read] for copy, read in zip(copies, reads)], "copies": copies[len(reads) :]})
    if not all(ring["chunks"] for ring in rings) or not all(c[0] < c[1] <= c[2] < c[3] for ring in rings for c in ring["chunks"]):
        raise SystemExit("book: the figure of the ring is not as its animation needs it")
    return {"end": end, "rings": rings}


def panel(ring, end):
    """A row for each stage: what it holds, and its copies and reads over time."""
    name = "One stage" if ring["stages"] == 1 else "Four stages"
    left, right, row, top = 46, 376, 26, 8
    scale = (right - left) / end
    out = [f'<svg class="ring" viewBox="0 0 380 {top + ring["stages"] * row + 8}" role="img" aria-label="{name}: {len(ring["chunks"])} chunks are read in {end:,} cycles" data-stages="{ring["stages"]}">']
    for s in range(ring["stages"]):
        y = top + s * row
        out.append(f'<rect class="ring-stage" x="8" y="{y}" width="28" height="20" rx="3"/><rect class="ring-level" x="8" y="{y}" width="28" height="20" rx="3" data-stage="{s}"/>')
        out.append(f'<path class="ring-line" d="M{left} {y + 10}H{right}"/>')
    out.append(f'<g class="ring-run"><clipPath id="ring-{ring["stages"]}"><rect class="ring-seen" x="{left}" y="0" width="{right - left}" height="130"/></clipPath><g clip-path="url(#ring-{ring["stages"]})">')
    for n, (fill, filled, read, done) in enumerate(ring["chunks"]):
        y = top + n % ring["stages"] * row
        for kind, begin, finish in (("copy", fill, filled), ("held", filled, read), ("read", read, done)):
            if finish > begin:
                out.append(f'<rect class="ring-{kind}" x="{left + begin * scale:.1f}" y="{y + 2}" width="{max((finish - begin) * scale, 1):.1f}" height="16"/>')
    for n, (fill, filled) in enumerate(ring["copies"], len(ring["chunks"])):
        out.append(f'<rect class="ring-copy" x="{left + fill * scale:.1f}" y="{top + n % ring["stages"] * row + 2}" width="{max((min(filled, end) - fill) * scale, 1):.1f}" height="16"/>')
    out.append(f'</g></g><path class="ring-now" d="M{left} 2V{top + ring["stages"] * row}"/></svg>')
    return f'<figure class="ring-panel"><figcaption><strong>{name}</strong> <span class="ring-count">{len(ring["chunks"])} chunks read</span></figcaption>{"".join(out)}</figure>'


def page(with_machine, with_reports, repository):
    run = recorded((root / "notes" / "figures" / "ring.svg").read_text())
    one, four = (len(r["chunks"]) for r in run["rings"])
    ways = [("Break a kernel", "playground.html?example=06_deadlock", "One wait has the wrong parity. Run it, read which rule it breaks, and mend the line.") if with_machine else
            ("Break a kernel", "notes/start_here.html", "One command runs a kernel with a line in the wrong place, and shows which rule it breaks."),
            ("First exercise", "practice.html#01_own_element", "Fifteen kernels with a hole, judged in this page: from a store to a ring of two stages.") if with_machine else
            ("First exercise", "exercises.html", "Kernels with a hole, judged each time you save.")]
    if with_reports:
        ways.append(("Open a live report", "reports/ring.html", "These two rings, cycle by cycle: zoom, hover, see what each warp waited for."))
    place = "here in your browser" if with_machine else "on any Linux machine, without a GPU"
    text = f"""---
title: gen5
hide: [navigation, toc]
search: {{boost: 2}}
---
<div class="landing" markdown="0">
<h1>Learn Blackwell’s tensor-core PTX on a machine that tells you which rule you broke, {place}.</h1>
<div class="ring-pair" id="rings">
{panel(run["rings"][0], run["end"])}
{panel(run["rings"][1], run["end"])}
</div>
<p class="ring-key"><span class="ring-swatch ring-copy"></span> TMA copies a chunk into the stage <span class="ring-swatch ring-held"></span> the chunk waits <span class="ring-swatch ring-read"></span> a warp reads it
<button type="button" class="ring-play" hidden>Pause</button></p>
<p>Both rings run for the same {run["end"]:,} cycles, as <a href="chapters/01_mbarrier.html">chapter 01</a> ran them on the machine model. A stage is a buffer in shared
memory; TMA, the chip’s copy engine, fills it, and a warp reads it. With one stage they take turns: {one} chunks. With four, the next chunks are on their way while the warp reads: {four}.</p>
<ul class="landing-ways">
{"".join(f'<li><a class="landing-way" href="{href}">{name}</a><span>{says}</span></li>' for name, href, says in ways)}
</ul>
<p>Then <a href="notes/start_here.html">start here</a>: one hour, one kernel line by line, and the order of the lessons. <a href="about.html">What gen5 is</a>, and what its predictions rest on.{f' <a href="{repository}">The repository</a>.' if repository else ''}</p>
</div>
<script type="application/json" id="ring-run">{json.dumps(run)}</script>
<script src="landing.js" defer></script>
"""
    return text
