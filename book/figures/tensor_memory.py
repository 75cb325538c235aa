"""Maps of Tensor Memory: allocations, accumulators, fragments, copies, scales, metadata, pairs."""
import re

from .layouts import found
from .svg import COLOURS, EMPTY, Svg

QUARTERS = ("lanes 0-31", "lanes 32-63", "lanes 64-95", "lanes 96-127")


def allocations(printed):
    """Blocks of columns that one CTA allocates."""
    rows = found(r"^  ([A-E]) +(\d+) +(\d+)$", printed("03_tmem_alloc", "--part", "blocks"), "03_tmem_alloc --part blocks")
    svg = Svg("Tensor Memory's 512 columns with five allocations: where each begins, and that E took the place of C")
    unit = 392 / 512
    for y, without, title in ((0, "E", "A to D"), (66, "C", "C freed, E allocated")):
        svg.text(4, y + 12, title)
        svg.frame(4, y + 18, 392, 26)
        for name, columns, first in rows:
            if name != without:
                svg.box(4 + int(first) * unit, y + 18, int(columns) * unit - 1, 26, COLOURS[ord(name) - ord("A")], name)
    for column in (0, 128, 256, 384, 511):
        svg.text(4 + column * unit, 124, column, "small", "end" if column == 511 else "middle" if column else "")
    svg.text(4, 138, "column; all 128 lanes belong to an allocation", "small")
    return svg


def columns(printed):
    """What cells hold behind a block-scaled product."""
    rows = found(r"^  (\d+)-(\d+) +(.+?)  +(.+?)  +(.+?)  +(.+)$", printed("08_mma_block_scaled", "--part", "columns"), "08_mma_block_scaled --part columns")
    colours = {"D": COLOURS[0], "scales of A": COLOURS[1], "scales of B": COLOURS[3], "untouched": EMPTY}
    svg = Svg("Tensor Memory behind a block-scaled product: D in columns 0 to 63, scales of A and of B in four columns each, in every quarter of the lanes")
    unit = 300 / 512
    for i, name in enumerate(QUARTERS):
        svg.text(2, 34 + i * 30, name, "small")
        for first, last, *cells in rows:
            width = max((int(last) - int(first) + 1) * unit - 0.5, 1)
            svg.box(96 + int(first) * unit, 18 + i * 30, width, 26, colours[cells[i]], cells[i] if width > 60 else "D" if cells[i] == "D" else "", True)
    edge = 0
    for first, last, *cells in rows:
        if cells[0] != "untouched":
            middle = 96 + (int(first) + int(last)) / 2 * unit
            svg.text(middle, 150 + edge * 14, f"{cells[0]}: {first}-{last}", "small", "middle")
            svg.line(middle, 134, middle, 140 + edge * 14)
            edge += cells[0].startswith("scales")
    svg.text(96, 12, "column 0", "small")
    svg.text(396, 12, "511", "small", "end")
    return svg


def fragments(printed):
    """Which thread's which register a cell is, for the two shapes that are used most."""
    text = printed("04_tmem_ld_st", "--part", "maps")
    svg = Svg("tcgen05.ld: which thread and register each cell of Tensor Memory goes to, for shapes 32x32b and 16x256b")
    y = 0
    for shape, lines in ((r"\.32x32b\.x8", 4), (r"\.16x256b\.x1", 12)):
        (body,) = found(rf"^{shape}: [^\n]*\n\n +lane \|.*\n +-.*\n((?: +\d+ \|.*\n)+)", text, f"the map of {shape}")
        svg.text(2, y + 12, shape.replace("\\", "") + ": thread.register, coloured by thread")
        for column in range(8):
            svg.text(52 + column * 43 + 20, y + 26, f"col {column}", "small", "middle")
        for line, words in enumerate(body.splitlines()[:lines]):
            lane, cells = words.split("|")
            svg.text(2, y + 43 + line * 17, f"lane {lane.strip()}", "small")
            for column, (thread, register) in enumerate(re.findall(r"(\d+)\.r(\d+)", cells)):
                svg.box(52 + column * 43, y + 31 + line * 17, 41, 15, COLOURS[int(thread) % 8], f"{thread}.r{register}", True)
        y += 48 + lines * 17
    return svg


def ranges(cell):
    return COLOURS[int(re.match(r"\d+", cell)[0]) // 32 % len(COLOURS)] if re.match(r"\d+-", cell) else COLOURS[int(cell[0])] if cell[0].isdigit() else EMPTY


def copies(printed):
    """Which rows of shared memory tcgen05.cp brings to which lanes."""
    rows = found(r"^  (\.\d\S+) +(\d.*?)  +(\d.*?)  +(\d.*?)  +(\d.*?)  +(\d+)$", printed("07_tmem_cp_shift", "--part", "shapes"), "07_tmem_cp_shift --part shapes")
    svg = Svg("Six shapes of tcgen05.cp: which rows of shared memory go to which quarter of the lanes")
    for i, name in enumerate(QUARTERS):
        svg.text(54 + i * 98, 12, name, "small", "middle")
    for line, (shape, *cells, count) in enumerate(rows):
        y = 20 + line * 44
        svg.text(4, y + 11, f"{shape}, {count} columns", "small")
        for i, cell in enumerate(cells):
            words = cell if "in" in cell else f"rows {cell}"
            svg.box(6 + i * 98, y + 15, 95, 22, ranges(cell), words, True)
    return svg


def scales(printed):
    """A chunk of scale factors: which row each word belongs to, and which bytes an instruction takes."""
    text = printed("08_mma_block_scaled", "--part", "rows")
    rows = found(r"^  (\d+|\.\.\.)(?: +(row \d+))?(?: +(row \d+))?(?: +(row \d+))?(?: +(row \d+))? *$", text, "08_mma_block_scaled --part rows")
    along = found(r"^    (\w+), (\d+ deep)[^:]*:((?: +k +\d+-\d+ +byte \d)+)", printed("08_mma_block_scaled", "--part", "along"), "08_mma_block_scaled --part along")
    svg = Svg("A chunk of 512 bytes of scales: line m % 32, word m / 32 belongs to row m; the bytes of a word are scales along K")
    for word in range(4):
        svg.text(100 + word * 84, 12, f"word {word}", "small", "middle")
    y = 18
    for line, *cells in rows:
        svg.text(2, y + 13, f"line {line}" if line != "..." else "…", "small")
        for word, cell in enumerate(cells):
            if cell:
                svg.box(60 + word * 84, y, 80, 18, COLOURS[word], cell, True)
        y += 21
    y += 8
    svg.text(2, y + 10, "The four bytes of a word, and what one instruction multiplies", "small")
    svg.text(2, y + 23, "with each, for scale id 0:", "small")
    y += 30
    for kind, deep, parts in along:
        svg.text(2, y + 14, f"{kind}, {deep}", "small")
        used = {int(byte): k for k, byte in re.findall(r"k +(\d+-\d+) +byte (\d)", parts)}
        for byte in range(4):
            svg.box(140 + byte * 65, y, 62, 20, COLOURS[4 + byte] if byte in used else EMPTY, f"k {used[byte]}" if byte in used else f"byte {byte}", True)
        y += 25
    return svg


def metadata(printed):
    """What a nibble of metadata says, and where the nibbles of a row lie for 16-bit operands."""
    codes = found(r"^  (0x\w) +\d\d, \d\d +([12.]{4})$", printed("09_mma_sparse", "--part", "codes"), "09_mma_sparse --part codes")
    places = found(r"^  f16 +(\d+) +(\d+-\d+) +(\d+) +0 +(\d+:\d+)$", printed("09_mma_sparse", "--part", "places"), "09_mma_sparse --part places")
    svg = Svg("2:4 sparsity: six codes that say which two of four elements are stored, and where the codes of a row lie in Tensor Memory")
    svg.text(2, 12, "A code for four elements along K; 1, 2: stored")
    for i, (code, group) in enumerate(codes):
        x, y = 4 + i % 3 * 132, 20 + i // 3 * 28
        svg.text(x, y + 15, code, "small")
        for e, stored in enumerate(group):
            svg.box(x + 28 + e * 23, y, 21, 21, EMPTY if stored == "." else COLOURS[int(stored) - 1], "" if stored == "." else stored)
    svg.text(2, 96, "f16: whose codes a cell holds")
    for half, bits in enumerate(("31:16", "15:0")):
        svg.text(60 + half * 168 + 82, 112, f"bits {bits}", "small", "middle")
    lanes = sorted({int(lane) for _, _, lane, _ in places})
    y = 118
    for before, lane in zip([None, *lanes], lanes):
        if before is not None and lane != before + 1:
            svg.text(2, y + 10, "…", "small")
            y += 16
        svg.text(2, y + 13, f"lane {lane}", "small")
        for row, k, at, bits in places:
            if int(at) == lane:
                svg.box(60 + (0 if bits == "31:16" else 168), y, 164, 18, COLOURS[0 if k.startswith("0") else 1], f"row {row}, k {k}", True)
        y += 21
    return svg


def folds(printed):
    """Where .ws puts D."""
    blocks = found(r"^  M = +(\d+): (\d+) columns of Tensor Memory\n((?:    lanes .*\n){4})", printed("10_mma_ws", "--part", "layouts"), "10_mma_ws --part layouts")
    svg = Svg("tcgen05.mma.ws with N = 64: D of 128, 64 and 32 rows in the lanes and columns of Tensor Memory")
    y = 0
    for m, count, body in blocks:
        svg.text(2, y + 12, f"M = {m}: {count} columns")
        for line, words in enumerate(body.splitlines()):
            rows, columns = re.search(r"rows +([\d-]+) +columns +([\d-]+)", words).groups()
            svg.text(2, y + 33 + line * 24, QUARTERS[line], "small")
            svg.box(96, y + 18 + line * 24, int(count) * 4.6, 21, COLOURS[int(columns.split("-")[0]) // 16], f"{rows} | {columns}", True)
        y += 122
    svg.text(2, y + 6, "In each box: rows | columns of D.", "small")
    return svg


def halves(printed):
    """Which halves of A and B met in which cells of a pair."""
    blocks = found(r"^  M = (\d+), N = \d+ +columns (\S+) +columns (\S+)\n((?:    .*lanes .*\n){4})", printed("11_cta_pair", "--part", "halves"), "11_cta_pair --part halves")
    colours = {"A0 B0": COLOURS[0], "A0 B1": COLOURS[3], "A1 B0": COLOURS[1], "A1 B1": COLOURS[5], "-": EMPTY}
    svg = Svg("A product of a CTA pair: which halves of A and of B met in which lanes and columns of both CTAs, for M = 256 and M = 128")
    y = 0
    for m, left, right, body in blocks:
        svg.text(2, y + 12, f"M = {m}")
        for i, name in enumerate((left, right)):
            svg.text(171 + i * 114 + 56, y + 12, f"columns {name}", "small", "middle")
        for line, words in enumerate(body.splitlines()):
            lanes, cells = re.search(r"lanes +(\S+) +(.*)", words).groups()
            if line % 2 == 0:
                svg.text(2, y + 34 + line * 25, f"CTA {line // 2}")
            svg.text(64, y + 34 + line * 25, f"lanes {lanes}", "small")
            for i, cell in enumerate(re.findall(r"A\d B\d|-", cells)):
                svg.box(171 + i * 114, y + 18 + line * 25, 112, 22, colours[cell], "" if cell == "-" else cell.replace(" ", " · "))
        y += 130
    svg.text(2, y + 4, "A0, B0: the even CTA's halves; grey: not written.", "small")
    return svg


def m64(printed):
    """Two tiles of 64 rows in the same columns."""
    blocks = found(r"^  (One tile.*|A second one.*):\n((?:    lanes .*\n){4})", printed("06_mma_operands", "--part", "m64"), "06_mma_operands --part m64")
    svg = Svg("M = 64: 16 rows of a tile in each quarter of the lanes; a second tile fits beside it")
    y = 0
    for title, body in blocks:
        svg.text(2, y + 12, title, "small")
        for line, words in enumerate(body.splitlines()):
            cells = re.findall(r"rows +(\d+-\d+) of tile (\d)|( -)", words.split("   ", 2)[-1] + " ")
            svg.text(2, y + 33 + line * 24, QUARTERS[line], "small")
            for half, (rows, tile, _) in enumerate(cells):
                svg.box(96 + half * 152, y + 18 + line * 24, 149, 21, COLOURS[int(tile) * 2] if tile else EMPTY, f"tile {tile}, rows {rows}" if tile else "", True)
        y += 122
    svg.text(2, y + 4, "Left: the lower 16 lanes of a quarter; right: the upper.", "small")
    return svg


ALL = {
    "allocations": allocations,
    "columns": columns,
    "fragments": fragments,
    "copies": copies,
    "scales": scales,
    "metadata": metadata,
    "folds": folds,
    "pair": halves,
    "m64": m64,
}
