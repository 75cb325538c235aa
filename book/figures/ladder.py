"""The steps of chapter 13's GEMM as bars, from the table in its note, which a test compares with what the program prints."""
import pathlib
import re

from .layouts import found
from .svg import COLOURS, Svg

root = pathlib.Path(__file__).resolve().parent.parent.parent
# As common/harness/limit.cpp names them.
LIMITS = dict(zip(("loads", "epilogue", "instructions", "set-up", "tensor core", "other threads", "no CTA", "MMAs under way"), COLOURS))


def ladder(printed):
    (table,) = found(r"<!-- executed: 13_gemm --all --timeline off --m 4096 [^\n]*-->\n```text\n(.*?)```", (root / "notes" / "13_gemm.md").read_text(), "the table of notes/13_gemm.md", re.S)
    rows = found(r"^  (\d \w+) .* ([\d.]+) % +(?:x[\d.]+|-) +(\w[\w ]*?) +\d+ %$", table, "the table of notes/13_gemm.md")
    svg = Svg("The eight steps of chapter 13's GEMM: share of the used SMs' peak, coloured by what the tensor core waits for most")
    widest = max(float(share) for _, share, _ in rows)
    for i, (step, share, limit) in enumerate(rows):
        width = float(share) / widest * 235
        svg.text(2, 17 + i * 26, step)
        svg.box(112, 3 + i * 26, width, 20, LIMITS[limit])
        svg.text(118 + width, 17 + i * 26, f"{share} %", "small")
    y = len(rows) * 26 + 10
    svg.text(2, y + 10, "The tensor core waits mostly for:", "small")
    x = 2
    for limit in dict.fromkeys(limit for _, _, limit in rows):
        svg.box(x, y + 18, 12, 12, LIMITS[limit])
        svg.text(x + 16, y + 28, limit, "small")
        x += 30 + len(limit) * 6.1
    return svg


ALL = {"ladder": ladder}
