#!/usr/bin/env python3
"""Draws card.png beside this file, what networks show of a link to the site: the two rings of the first page. Needs rsvg-convert (Debian's
librsvg2-bin)."""
import pathlib
import subprocess

import landing

here = pathlib.Path(__file__).resolve().parent
COLOURS = {"copy": "#6ea3dd", "held": "#b9cfe6", "read": "#f0a04b"}


def lane(ring, end, x, y, width, row):
    out = []
    for n, (fill, filled, read, done) in enumerate(ring["chunks"]):
        top = y + n % ring["stages"] * row
        for kind, begin, finish in (("copy", fill, filled), ("held", filled, read), ("read", read, done)):
            out.append(f'<rect x="{x + begin / end * width:.1f}" y="{top}" width="{(finish - begin) / end * width:.1f}" height="{row - 8}" fill="{COLOURS[kind]}"/>')
    return "".join(out)


def card():
    run = landing.recorded((landing.root / "notes" / "figures" / "ring.svg").read_text())
    one, four = run["rings"]
    text = lambda x, y, size, words, weight=400: f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="#fff" font-family="DejaVu Sans, sans-serif">{words}</text>'
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630"><rect width="1200" height="630" fill="#004d40"/>',
        text(70, 120, 64, "gen5", 700), text(70, 185, 33, "Blackwell’s tensor-core PTX, on a machine"), text(70, 230, 33, "that tells you which rule you broke"),
        text(70, 315, 24, f"One stage: {len(one['chunks'])} chunks"), lane(one, run["end"], 70, 330, 1060, 44),
        text(70, 425, 24, f"Four stages: {len(four['chunks'])} chunks in the same {run['end']:,} cycles"), lane(four, run["end"], 70, 440, 1060, 40), "</svg>"])


if __name__ == "__main__":
    subprocess.run(["rsvg-convert", "-w", "1200", "-h", "630", "-o", here / "card.png", "/dev/stdin"], input=card(), text=True, check=True)
