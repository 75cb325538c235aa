"""Figures of the book as SVG, from what programs print. Colours come from the page, so that light and dark both work."""
import re
import subprocess

ALL = (
    ("swizzle", "The 128-byte swizzle", "A row is 128 bytes. Each square is a 16-byte piece, named and coloured by its number in the row; the figure shows where the pieces of eight rows come to lie (`05_mma --part layouts`). In every column of squares all eight numbers stand: eight rows are read through different banks."),
    ("phases", "Phases of an mbarrier", "An mbarrier made for two arrivals, after each arrive (`01_mbarrier --part phases`): arrivals that are missing, and the phase."),
    ("ladder", "The ladder of chapter 13", "The steps of the GEMM on the model of a B200, and what NVIDIA's libraries and others published for one (`13_gemm --all`, `notes/13_gemm.md`)."),
)
COLOURS = ("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#9c755f")


def printed(bin_folder, program, *arguments):
    return subprocess.run([str(bin_folder / program), *arguments], capture_output=True, text=True, check=True).stdout


def svg(width, height, title, body):
    return f'<svg class="figure" viewBox="0 0 {width} {height}" role="img" aria-label="{title}" xmlns="http://www.w3.org/2000/svg">' + "".join(body) + "</svg>\n"


def swizzle(bin_folder):
    rows = re.findall(r"^  row (\d)  ((?: \d){8})$", printed(bin_folder, "05_mma", "--part", "layouts"), re.M)
    if len(rows) != 8:
        raise SystemExit("book: 05_mma --part layouts no longer prints the swizzle's rows")
    body = []
    for row, places in rows:
        y = 24 + int(row) * 36
        body.append(f'<text x="4" y="{y + 22}">row {row}</text>')
        for piece, place in enumerate(int(p) for p in places.split()):
            x = 70 + place * 70
            body.append(f'<rect x="{x}" y="{y}" width="66" height="32" rx="4" fill="{COLOURS[piece]}"/><text x="{x + 28}" y="{y + 21}" style="fill:#000;font-weight:700">{piece}</text>')
    for place in range(8):
        body.append(f'<text x="{70 + place * 70}" y="16">{place * 16}</text>')
    return svg(640, 320, "Where the 16-byte pieces of eight rows lie with the 128-byte swizzle", body)


def phases(bin_folder):
    rows = re.findall(r"^  (init|arrive \d) +(\d) +(?:yes|no) +(?:yes|no) +(\d)$", printed(bin_folder, "01_mbarrier", "--part", "phases"), re.M)
    if len(rows) != 6:
        raise SystemExit("book: 01_mbarrier --part phases no longer prints six rows")
    body = []
    for i, (after, missing, phase) in enumerate(rows):
        x = 10 + i * 104
        body.append(f'<rect x="{x}" y="30" width="100" height="40" fill="{COLOURS[int(phase)]}"/><text x="{x + 18}" y="55" style="fill:#000">phase {phase}</text>')
        body.append(f'<text x="{x + 4}" y="20">{after}</text>')
        for m in range(int(missing)):
            body.append(f'<circle class="line" cx="{x + 16 + 20 * m}" cy="88" r="7"/>')
    body.append('<text x="10" y="118">circles: arrivals that are still missing</text>')
    return svg(640, 126, "Phases of an mbarrier of two arrivals", body)


def ladder(bin_folder):
    rows = re.findall(r"^ +(\d) (\w+) .* ([\d.]+) % +([\d.]+) %", printed(bin_folder, "13_gemm", "--all", "--timeline", "off", "--m", "1024", "--n", "2304", "--k", "1024"), re.M)
    if len(rows) != 8:
        raise SystemExit("book: 13_gemm --all no longer prints eight steps")
    body = []
    for i, (step, name, _, share) in enumerate(rows):
        y, width = 10 + i * 30, float(share) * 4.4
        body.append(f'<text x="4" y="{y + 16}">{step} {name}</text><rect x="120" y="{y}" width="{width:.0f}" height="22" fill="{COLOURS[0]}"/><text x="{128 + width:.0f}" y="{y + 16}">{share} %</text>')
    body.append('<text x="120" y="268">share of the tensor cores\' peak, of the SMs that are used, 1024 x 2304 x 1024</text>')
    return svg(640, 280, "Share of the peak of each step of chapter 13's ladder", body)


def write_all(folder, bin_folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, _, _ in ALL:
        (folder / f"{name}.svg").write_text({"swizzle": swizzle, "phases": phases, "ladder": ladder}[name](bin_folder))
