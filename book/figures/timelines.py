"""Timelines that programs print in characters (common/harness/timeline.h), as boxes."""
import re

from .svg import COLOURS, EMPTY, Svg

LETTERS = {"s": EMPTY, "A": COLOURS[0], "a": COLOURS[0], "b": COLOURS[1], "B": COLOURS[1], "C": COLOURS[2], "q": COLOURS[7], "*": COLOURS[5]}
# Tasks of a layer (chapter 16); capitals are on the critical path.
LETTERS |= {letter: COLOURS[number] for letters, number in {"nN": 6, "Q": 7, "oO": 2, "gG": 3, "dD": 4}.items() for letter in letters}


class Timeline:
    def __init__(self, title):
        self.title, self.lanes, self.ticks = title, [], []

    @property
    def columns(self):
        return max([t[0] for t in self.ticks] + [len(row) for _, rows in self.lanes for row in rows])


def read(text):
    """All timelines in a program's output, and the cycles of a column."""
    found, lines, i = [], text.splitlines(), 0
    while i < len(lines):
        if re.fullmatch(r" +\|(?: +\|)+", lines[i]) and i >= 2:
            start = lines[i].index("|")
            picture = Timeline(re.sub(r":(?: \(.*)?$", "", lines[i - 2].strip()))
            picture.ticks = [(m.start() - start, m[0]) for m in re.finditer(r"[\d,]+", lines[i - 1])]
            i += 1
            while i < len(lines) and lines[i].strip():
                name, row = lines[i][:start].strip(), lines[i][start:]
                if name:
                    picture.lanes.append((name, []))
                picture.lanes[-1][1].append(row)
                i += 1
            found.append(picture)
        i += 1
    column = re.search(r"A column is ([\d,]+) cycles", text)
    if not found or not column:
        raise SystemExit("figures: no timeline was printed")
    return found, column[1]


def spans(row):
    """(mark, first column, columns) of each run of a character."""
    return [(m[0][0], m.start(), len(m[0])) for m in re.finditer(r"(\S)\1*", row)]


def colour(mark):
    return COLOURS[int(mark) % len(COLOURS)] if mark.isdigit() else LETTERS.get(mark)


def draw(title, pictures, column):
    svg = Svg(title)
    label = max(len(name) for p in pictures for name, _ in p.lanes) * 6.1 + 8
    width = (svg.width - label - 6) / max(p.columns for p in pictures)
    y = 0
    for picture in pictures:
        svg.text(2, y + 13, picture.title)
        y += 20
        for at, cycles in picture.ticks:
            if label + at * width + len(cycles) * 6.1 <= svg.width:
                svg.text(label + at * width, y + 9, cycles, "small")
            svg.line(label + at * width, y + 11, label + at * width, y + 15)
        y += 17
        for name, rows in picture.lanes:
            svg.text(2, y + 10, name, "small")
            for row in rows:
                for mark, at, count in spans(row):
                    data = f' data-lane="{name}" data-mark="{mark}" data-from="{at}"'
                    if mark == ".":
                        svg.line(label + at * width, y + 7, label + (at + count) * width, y + 7)
                    else:
                        if colour(mark) is None:
                            raise SystemExit(f"figures: nobody has said how to draw {mark!r}")
                        svg.box(label + at * width, y + 1, max(count * width - 0.6, 1), 12, colour(mark), mark if count * width > 8 else "", True, data)
                y += 14
            y += 2
        y += 8
    svg.text(2, y + 8, f"SM cycles from left to right, in columns of {column}", "small")
    return svg


def timeline(title, program, *arguments, pick=lambda pictures: pictures):
    def figure(printed):
        pictures, column = read(printed(program, *arguments))
        return draw(title, pick(pictures), column)

    return figure


ALL = {
    "ring": timeline("A ring of one stage and of four: producer, copies and consumer over time", "01_mbarrier", "--part", "ring"),
    "stages": timeline("Loads that run ahead: one stage and four", "02_bulk_tensor", "--part", "stages"),
    "chain": timeline("Eight MMAs with a wait behind each, and with one commit behind all", "05_mma", "--part", "commit"),
    "cluster_barrier": timeline("Four CTAs at a cluster's barrier, with and without work between its halves", "11_cta_pair", "--part", "meet"),
    "multicast": timeline("Four CTAs load the same tiles, each for itself and a quarter each for all", "11_cta_pair", "--part", "multicast"),
    "pair_pipeline": timeline("A product by two CTAs apart and by a pair", "11_cta_pair", "--part", "pipeline"),
    "claims_ahead": timeline("Asking for the next tile when one is done, and ahead of time", "12_launch_control", "--part", "ahead"),
    "claims_tail": timeline("Uneven tiles: a CTA for each, dealt out, claimed", "12_launch_control", "--part", "tail"),
    "tasks": timeline("Three layers of tasks as three launches and as one kernel", "12_launch_control", "--part", "tasks"),
    "gemm": timeline("The GEMM's steps 5 and 6 on one SM", "13_gemm", "--step", "6", "--m", "4096", "--n", "2304", "--k", "512"),
    "megakernel": timeline("The layer's steps 3 and 4 on eight SMs", "16_megakernel", "--step", "4"),
    "attention": timeline("Attention's steps 3 and 4 on one SM", "14_attention", "--step", "4", "--heads", "1", "--queries", "256", "--keys", "1024"),
}
