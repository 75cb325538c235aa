"""Chapter 15: the tiny machine's timeline, and a space of kernels as a map."""
import re

from .layouts import found
from .svg import COLOURS, EMPTY, Svg
from .timelines import timeline

LIMITS = {"l": ("loads", COLOURS[0]), "e": ("epilogue", COLOURS[1]), "b": ("begins and ends", COLOURS[3]), "t": ("tensor core", COLOURS[4])}


def space(printed):
    """A cell for each point: grey with the rule's letter, or what the tensor core waits for and how much slower than the best."""
    text = printed("15_search", "--part", "space")
    svg = Svg("A space of tile, block of K and stages: which points are no kernels by which rule, and how much slower than the best the others are")
    width, height, left, y = 41, 13, 60, 2
    for block, table in found(r"^  block of (\d+) bytes\n(.*?)\n\n", text + "\n\n", "15_search --part space", re.M | re.S):
        head, *rows = table.splitlines()
        svg.text(2, y + 12, f"block of {block} bytes")
        for i, tile in enumerate(head.split()[1:]):
            m, n = tile.split("x")
            svg.text(left + i * width + width / 2, y + 23, f"{m} x", "small", "middle")
            svg.text(left + i * width + width / 2, y + 34, n, "small", "middle")
        for row, line in enumerate(rows):
            stages, *cells = line.split()
            svg.text(2, y + 49 + row * height, f"{stages} stage{'s' if stages != '1' else ''}", "small")
            for i, cell in enumerate(cells):
                colour = EMPTY if cell[0] == "." else COLOURS[5] if cell == "best" else LIMITS[cell[-1]][1]
                words = cell[1:] if cell[0] == "." else cell if cell == "best" else f"+{cell[:-1]} %"
                svg.box(left + i * width, y + 39 + row * height, width - 1, height - 1, colour, words, True)
        y += 48 + len(rows) * height
    x = 2
    for name, colour in [*LIMITS.values(), ("the best", COLOURS[5])]:
        svg.box(x, y, 11, 11, colour)
        svg.text(x + 15, y + 9, name, "small")
        x += 24 + len(name) * 6.1
    rules = found(r"^  ([A-Z])  (\S+) +\S+ ", text, "15_search --part space")
    for i in range(0, len(rules), 2):
        svg.text(2, y + 25 + i * 6.5, ("no kernel: " if i == 0 else " " * 11) + ", ".join(f"{letter} {rule}" for letter, rule in rules[i : i + 2]), "small")
    return svg


ALL = {
    "tiny_machine": timeline("The GEMM's steps 5 and 6 on the tiny machine", "15_search", "--part", "machine"),
    "space": space,
}
