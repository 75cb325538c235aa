"""Shapes as SVG text. Colours of text and lines follow light and dark; what is filled with a colour has black text on it."""
import html

# Eight that differ in hue and lightness, each readable below black text.
COLOURS = ("#7fa7d4", "#f4a259", "#e88b8d", "#8ecac6", "#8cc084", "#f2d16b", "#c9a0c4", "#bd9a86")
EMPTY = "#b8bec6"  # nothing there, nobody's

# In the book the page's own colours hold instead (book/extra.css), and this is left out.
STYLE = (
    "<style>.figure text{font:12px ui-monospace,SFMono-Regular,Menlo,monospace;fill:#1f2328}.figure .small{font-size:10px}"
    ".figure .on{fill:#000}.figure .line{stroke:#57606a;fill:none}.figure .head{fill:#57606a}"
    "@media (prefers-color-scheme:dark){.figure text{fill:#e6edf3}.figure .line{stroke:#9198a1}.figure .head{fill:#9198a1}"
    ".figure .on{fill:#000}}</style>"
)


def number(x):
    return f"{x:.1f}".rstrip("0").rstrip(".")


class Svg:
    """400 units wide, so that text stays readable on a telephone."""

    width = 400

    def __init__(self, title):
        self.title, self.parts, self.height = title, [], 0

    def reach(self, y):
        self.height = max(self.height, y + 4)

    def text(self, x, y, words, kind="", anchor=""):
        length = len(str(words)) * (6.1 if "small" in kind else 7.3)
        left = x - {"": 0, "middle": length / 2, "end": length}[anchor]
        if left < 0 or left + length > self.width + 1:
            raise SystemExit(f"figures: {words!r} leaves the picture {self.title!r}")
        at = f' text-anchor="{anchor}"' if anchor else ""
        kind = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}"{at}{kind}>{html.escape(str(words))}</text>')
        self.reach(y + 2)

    def box(self, x, y, width, height, colour, words="", small=False, data=""):
        if x + width > self.width:
            raise SystemExit(f"figures: a box leaves the picture {self.title!r}")
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="2" fill="{colour}"{data}/>')
        if words != "":
            self.text(x + width / 2, y + height / 2 + (3.5 if small else 4.5), words, "on small" if small else "on", "middle")
        self.reach(y + height)

    def frame(self, x, y, width, height):
        self.parts.append(f'<rect class="line" x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"/>')
        self.reach(y + height)

    def line(self, x1, y1, x2, y2):
        self.parts.append(f'<path class="line" d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"/>')
        self.reach(max(y1, y2))

    def circle(self, x, y, radius):
        self.parts.append(f'<circle class="line" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>')
        self.reach(y + radius)

    def arrow(self, x1, x2, y, height):
        """An arc from x1 to x2 above y, or below it for a negative height, with a head at x2."""
        top, head = y - height, 6 if height > 0 else -6
        self.reach(top)
        self.parts.append(f'<path class="line" d="M{number(x1)} {number(y)}C{number(x1)} {number(top)} {number(x2)} {number(top)} {number(x2)} {number(y)}"/>')
        self.parts.append(f'<path class="line head" d="M{number(x2 - 3)} {number(y - head)}L{number(x2)} {number(y)}L{number(x2 + 3)} {number(y - head)}"/>')

    def way(self, x1, y1, x2, y2, both=False):
        """A level or upright arrow from (x1, y1) to (x2, y2), with a head at both ends if data goes both ways."""
        self.line(x1, y1, x2, y2)
        for x, y, back in ((x2, y2, 1), (x1, y1, -1))[: 1 + both]:
            along, across = (0, 4 * back * (1 if y2 > y1 else -1)) if x1 == x2 else (4 * back * (1 if x2 > x1 else -1), 0)
            side = (3, 0) if x1 == x2 else (0, 3)
            self.parts.append(
                f'<path class="line head" d="M{number(x - along - side[0])} {number(y - across - side[1])}L{number(x)} {number(y)}'
                f'L{number(x - along + side[0])} {number(y - across + side[1])}"/>'
            )

    def __str__(self):
        height = number(self.height)
        return (
            f'<svg class="figure" viewBox="0 0 {self.width} {height}" width="{self.width * 3 // 2}" height="{number(self.height * 1.5)}" role="img" '
            f'aria-label="{html.escape(self.title)}" xmlns="http://www.w3.org/2000/svg">{STYLE}\n' + "\n".join(self.parts) + "\n</svg>\n"
        )
