"""Where elements lie in shared memory: core matrices, swizzles; and phases of an mbarrier."""
import re

from .svg import COLOURS, EMPTY, Svg


def found(pattern, text, what, flags=re.M):
    rows = re.findall(pattern, text, flags)
    if not rows:
        raise SystemExit(f"figures: {what} is no longer printed as expected")
    return rows


# The order of the columns of 05_mma --part core, as (group of m, group of k).
PLACES = ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1))


def core(major, ways):
    """Core matrices without swizzle, for some choices of LBO and SBO: one in itself, the matrix, and memory."""

    def figure(printed):
        rows = found(rf"^  {major}-major +(\w \+ 1) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", printed("05_mma", "--part", "core"), "05_mma --part core")
        svg = Svg(f"Core matrices of an operand, {major}-major, no swizzle: one in itself, the matrix, and where each lies in memory")
        svg.text(2, 13, "A core matrix, 8 pieces of 16 bytes:")
        for piece in range(8):
            m, k = (f"m {piece}", "k 0-7") if rows[0][0] == "m + 1" else ("m 0-7", f"k {piece}")
            svg.box(4 + piece * 49, 20, 47, 36, COLOURS[0])
            svg.text(4 + piece * 49 + 23.5, 35, m, "on small", "middle")
            svg.text(4 + piece * 49 + 23.5, 49, k, "on small", "middle")
        y = 68
        for _, leading, stride, *starts in rows[-ways:]:
            leading, stride = int(leading), int(stride)
            at = dict(zip(PLACES, map(int, starts)))
            svg.text(2, y + 13, f"LBO {leading}, SBO {stride}: where each begins")
            for k in range(2):
                svg.text(135 + k * 110, y + 30, f"k {8 * k}-{8 * k + 7}", "small", "middle")
            for m in range(3):
                svg.text(2, y + 50 + m * 26, f"m {8 * m}-{8 * m + 7}", "small")
                for k in range(2):
                    if (m, k) in at:
                        svg.box(82 + k * 110, y + 36 + m * 26, 106, 23, COLOURS[2 * m + k], at[m, k])
            strip = y + 160
            # Memory in pieces of 128 bytes; what lies between the last near one and the first far one is left out.
            x, places, before = 2, {}, 0
            for place, start in sorted(at.items(), key=lambda item: item[1]):
                gap = start - before
                if gap > 512:
                    svg.text(x + 12, strip + 17, "…")
                    x += 32
                else:
                    for _ in range(gap // 128):
                        svg.box(x, strip, 44, 26, EMPTY)
                        x += 46
                places[place] = x
                svg.box(x, strip, 52, 26, COLOURS[2 * place[0] + place[1]], start)
                x += 54
                before = start + 128
            for place, step, what, above in (((1, 0), at[1, 0] - at[0, 0], "8 rows on", True), ((0, 1), at[0, 1] - at[0, 0], "8 k on", False)):
                name = {stride: "SBO", leading: "LBO"}.get(step)
                if name is None:
                    raise SystemExit("figures: 05_mma --part core has a step that is neither LBO nor SBO")
                end = places[place] + 26
                svg.arrow(places[0, 0] + 20, end, strip - 1 if above else strip + 27, 24 if above else -24)
                svg.text(end + 7, strip - 8 if above else strip + 40, f"{name}: {what}", "small")
            y = strip + 58
        return svg

    return figure


def swizzles(printed):
    """What lies in which banks after a TMA load with each swizzle. Each cell is 16 bytes; its text is row.piece."""
    text = printed("02_bulk_tensor", "--part", "swizzle")
    blocks = found(r"^SWIZZLE_(\w+): [^\n]*\n\n  bytes [^\n]*\n((?: +\d+  [^\n]*\n){8})", text, "02_bulk_tensor --part swizzle")
    svg = Svg("Swizzles of 32, 64 and 128 bytes: which 16-byte piece of which row lies in which banks")
    y = 0
    for name, body in blocks:
        svg.text(2, y + 12, f"SWIZZLE_{name}: row.piece, coloured by piece")
        for i in range(8):
            svg.text(54 + i * 43 + 20, y + 28, f"{i * 4}-{i * 4 + 3}", "small", "middle")
        svg.text(2, y + 28, "banks", "small")
        for line, words in enumerate(body.splitlines()):
            cells = re.findall(r"r(\d+) *c(\d)", words)
            svg.text(2, y + 45 + line * 18, f"{line * 128}", "small")
            for place, (row, piece) in enumerate(cells):
                svg.box(54 + place * 43, y + 33 + line * 18, 41, 16, COLOURS[int(piece)], f"{row}.{piece}", True)
        y += 188
    return svg


def majors(printed):
    """A tile of A with 128-byte swizzle, K-major and M-major: what the first lines hold."""
    text = printed("06_mma_operands", "--part", "majors")
    blocks = found(r"^  (A\[\w\]\[\w\]) in memory, (\w-major):\n((?: +bytes .*\n){3})", text, "06_mma_operands --part majors")
    svg = Svg("The same tile K-major and M-major, both with the 128-byte swizzle: which elements lie in which 16 bytes")
    y = 0
    for name, major, body in blocks:
        svg.text(2, y + 12, f"{name}, {major}: the first three lines of 128 bytes")
        for line, words in enumerate(body.splitlines()):
            head, pieces = re.match(r" +bytes +[\d-]+ (\w+ \d+), (.*)", words).groups()
            svg.text(2, y + 34 + line * 24, head)
            other = pieces.split()[0]
            for place, piece in enumerate(re.findall(r"\d+-\d+", pieces)):
                svg.box(40 + place * 45, y + 20 + line * 24, 43, 21, COLOURS[int(piece.split("-")[0]) // 8], piece, True)
        svg.text(2, y + 104, f"In each box: which {other}.", "small")
        y += 122
    return svg


def phases(printed):
    """An mbarrier made for two arrivals, arrive after arrive."""
    rows = found(r"^  (init|arrive \d) +(\d) +(yes|no) +(yes|no) +(\d)$", printed("01_mbarrier", "--part", "phases"), "01_mbarrier --part phases")
    svg = Svg("Phases of an mbarrier of two arrivals over time: what is missing, and what a wait for each parity would see")
    step = 64
    for i, (after, missing, zero, one, phase) in enumerate(rows):
        x = 14 + i * step
        svg.text(x, 12, after, "small")
        svg.line(x, 16, x, 118)
        svg.box(x + 1, 20, step - 2, 26, COLOURS[int(phase)], f"phase {phase}", True)
        for m in range(2):
            svg.circle(x + 20 + 22 * m, 58, 6)
        for m in range(2 - int(missing)):
            svg.parts.append(f'<circle cx="{x + 20 + 22 * m}" cy="58" r="5" fill="{COLOURS[int(phase)]}"/>')
        for line, (parity, over) in enumerate(((0, zero), (1, one))):
            svg.box(x + 1, 72 + line * 22, step - 2, 19, COLOURS[4] if over == "yes" else EMPTY, f"p{parity}: {'over' if over == 'yes' else 'wait'}", True)
    svg.text(2, 132, "Circles: the two arrivals, filled when they have come.", "small")
    svg.text(2, 146, "p0, p1: a wait for parity 0 or 1 would pass, or wait.", "small")
    return svg


ALL = {"core_k_major": core("K", 2), "core_m_major": core("M", 1), "swizzles": swizzles, "majors": majors, "phases": phases}
