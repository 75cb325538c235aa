#!/usr/bin/env python3
"""Writes the pages of the book for MkDocs: notes, chapters with their sources and output, exercises, the instruction reference,
diagnoses, machine profiles, reports. scripts/book calls it, and then MkDocs.

make.py BUILD OUT [--no-output] [--no-machine]: programs of BUILD; writes OUT/docs and OUT/mkdocs.yml. The machine that runs in the page is that of
build/web (scripts/web), where it has been built. GEN5_SITE is the address where the site will be, and GEN5_REPOSITORY its repository's, if
pages shall name them.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import instructions
from landing import landing

root = instructions.root
sys.path[:0] = [str(root / "exercises"), str(root / "web"), str(root / "cmake")]
import judge  # noqa: E402
import make_mistakes  # noqa: E402  where functions begin and end
import pages  # noqa: E402
import practice  # noqa: E402
import projects  # noqa: E402
from lessons import main as lessons_made  # noqa: E402

build, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
docs = out / "docs"
gen5 = build / "bin" / "gen5"
site, repository = os.environ.get("GEN5_SITE", ""), os.environ.get("GEN5_REPOSITORY", "")


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=root)
    if done.returncode != 0:
        sys.exit(f"book: {' '.join(map(str, words))} exits with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def write(name, text):
    path = docs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return name


def escaped(text):
    return html.escape(text, quote=False).replace("|", "&#124;")


def fenced(text, language="text", extra=""):
    return f"```{language}{extra}\n{text.rstrip()}\n```\n"


# ---- Notes


def drawing(path, says):
    """A figure (scripts/figures) as part of the page: its colours are the page's."""
    svg = re.sub(r"<style>.*?</style>", "", path.read_text(), flags=re.S)
    svg = re.sub(r'aria-label="[^"]*"', f'aria-label="{html.escape(says)}"', svg, count=1)
    return f'<div class="drawing">{svg.strip()}</div>'


def title_of(path):
    """A note's first heading; a mark for a program may stand above it."""
    return re.search(r"^# (.*)", path.read_text(), re.M)[1].removeprefix("Reference: ")


# The search puts lessons above what has the words without explaining them.
FIRST, LAST = 4, 0.25
TABLES = ("evidence", "mistakes", "prediction", "wild", "tinygpu", "web")


def boosted(factor):
    """The head of a page that the search puts so many times as high as others."""
    return f"---\nsearch: {{boost: {factor}}}\n---\n"


def boost_of(path):
    if path.parent.name == "reference" or path.stem in TABLES:
        return boosted(LAST)
    return boosted(FIRST) if re.match(r"\d\d_", path.name) or path.stem == "start_here" else ""


def note(path, name):
    """A note as it is, with what only GitHub needs replaced; a lesson with the way to its program."""
    text = path.read_text()
    if (root / "chapters" / path.stem).is_dir() and path.parent == root / "notes":
        text = re.sub(r"^(# .*\n)", rf"\1\nIts program, line by line: [{path.stem}](../chapters/{path.stem}.md).\n", text, count=1, flags=re.M)
    text = re.sub(r"<!-- (?:executed|source): .* -->\n", "", text)
    if path.parent == root / "notes" or path.name == "README.md":
        text = re.sub(r"!\[([^\]]*)\]\(((?:notes/)?figures/\w+\.svg)\)", lambda m: drawing(path.parent / m[2], m[1]), text)
    # MkDocs wants a blank line before a list, and glossary entries as lines of their own.
    text = re.sub(r"(?m)^(\*\*[^\n]+)\n(?=\*\*)", r"\1\n\n", text)
    text = re.sub(r"(?m)^(?!\s*[-*|>\d])(\S.*)\n(?=[*-] )", r"\1\n\n", text)
    if path.parent == root / "notes" and path.stem in live:
        text += LESSON.format(name=path.stem, scripts=scripts("../"))
    if path.name == "README.md":
        text = text.replace("(LICENSE)", "(https://www.apache.org/licenses/LICENSE-2.0)")
    return write(name, boost_of(path) + text)


# ---- The machine in the page (web/)

MODULE = root / "build" / "web" / "gen5_module.js"
with_machine = MODULE.exists() and "--no-machine" not in sys.argv
LESSON = """
## Run it here

The chapter's kernels, as nvcc compiles them, beside their source: choose one, an order of completion or a mistake, and press Run. The machine model runs
in this page. It prices PTX alone here; with machine code beside it, as `scripts/run` has it, the same kernel may take other cycles.

<div data-gen5-lesson="{name}"></div>

{scripts}"""
# Lessons whose page has the chapter's kernels (book/lessons.py).
live = set()


def scripts(up, exercises=False):
    """What a page with elements for the machine ends with. `up`: the way to the site's root."""
    return pages.tags(f"{up}machine/", exercises)


def indented(kind, title, body):
    """A part of a page that a reader opens."""
    return f'??? {kind} "{title}"\n\n' + "\n".join("    " + line for line in body.rstrip().splitlines()) + "\n"


def launch_of(exercise):
    """How an exercise's kernel is launched, and what shall be there in the end, as a reader needs it."""
    name, wanted = exercise.wanted()
    lines = exercise.launch.replace("//! ", "").splitlines()
    said = ", ".join(str(v) for v in wanted[:8]) + (", …" if len(wanted) > 8 else "")
    budget = f" Budget: {int(exercise.fields['cycles']):,} cycles." if "cycles" in exercise.fields else ""
    read = f" Read first: [{title_of(root / 'notes' / (exercise.fields['read'] + '.md'))}](notes/{exercise.fields['read']}.md)." if "read" in exercise.fields else ""
    return "; ".join(f"`{line}`" for line in lines if not line.startswith("parameters")) + f".\n\nIn the end `{name}` should hold {said}.{budget}{read}\n".replace("….", "…")


def practice_page():
    """Exercises in PTX: without scripts a page to read, with them one at a time, judged."""
    text = [boosted(FIRST), "# Exercises in PTX\n", "Kernels with a hole, judged in this page on the machine model: in seven orders of completion, with every check. Press Judge, or Ctrl+Enter in the editor; Escape stops. "
            "Begin with the first, even if you know CUDA: each one takes minutes, and the last is the main loop of a GEMM. New to PTX? Put the cursor into a line and press Explain line; while you type, the editor offers opcodes and modifiers, and Tab takes one. What you have solved and written stays in this browser. In CUDA C++ there are [more](exercises.md), for `scripts/learn`.\n",
            "<div data-gen5-practice></div>\n<noscript><p>Without scripts no page can judge: read the tasks here, and judge with <code>scripts/learn</code>.</p></noscript>\n"]
    for number, e in enumerate(practice.all_exercises(), 1):
        text.append(f'<section data-gen5-exercise="{e.name}" markdown="1">\n\n## {number} {e.title} {{ #{e.name} }}\n\n{escaped(e.task)}\n\n{launch_of(e)}\n<div class="gen5-file" markdown="1">\n\n{fenced(e.text, "text")}\n</div>\n')
        text += [indented("tip", "Hint", escaped(e.fields["hint"])), indented("success", "Solution", fenced(e.diff(), "diff")), "</section>\n"]
    text.append(scripts("", True))
    return write("practice.md", "\n".join(text))


def playground_page():
    text = [boosted(2), "# Playground\n", "PTX that runs here, in this page, on the machine model: no server, no installation. The lines that begin with `//!` say how the kernel is launched and what its buffers hold; change any line and press Run (Ctrl+Enter; Escape stops it). `Share` puts all of it into the page's address.\n",
            '<div data-gen5-playground></div>\n<noscript><p>Kernels cannot run here without scripts.</p></noscript>\n',
            "## What the first lines say\n", "| line | what |\n|---|---|\n"
            "| `//! launch: grid 2 2, block 128` | grid, block, `cluster`, `shared` (bytes of dynamic shared memory), `kernel` (the first of the PTX else), `machine`, `order`, `seed`, `check`, `max_cycles`, `stop_at` |\n"
            "| `//! buffer x: f32[128] = index` | device memory of so many elements, filled by a pattern: zero, one, index, mod8, alternating, random, identity, bytes; or `unwritten` |\n"
            "| `//! parameters: x, u32 128` | a buffer's address; a number behind its type; `map(x, 64 x 32, box 32 x 32, swizzle 128)`, a tensor map, the innermost dimension first; `struct(0: x, 8: u32 5)`, fields by their offsets |\n",
            "Orders of completion and checks are those of `gen5 run`: see [how it works](notes/tinygpu.md). A kernel of PTX alone is priced by its PTX; a program that carries machine code too may take other cycles under `gen5 run`. A kernel that runs for 200 million cycles is stopped.\n", scripts("")]
    return write("playground.md", "\n".join(text))


# Instructions that no kernel of a page can run, and why.
NOT_HERE = {"multimem": "memory of several GPUs, and a page has one", "tcgen05.ld.red": "another chip than the B200"}


def example_of(names, family):
    """The shortest kernel with an instruction of the family; one that needs a newer PTX than most only where there is no other."""
    def has_it(text):
        code = (re.sub(r"^\s*(?:@!?%\w+\s+)?", "", line).replace("::", ".") for line in text.splitlines() if not line.startswith("//"))
        return any(line.startswith(family) and family_in(names, line) == family for line in code)

    found = [e for e in pages.kernels("instructions") + pages.kernels("examples") if has_it(e["text"])]
    return min(found, key=lambda e: (".version 9.0\n" not in e["text"], len(e["text"])), default=None)


def run_it(names, family):
    """The part of a page with a kernel to run, which is there to read without scripts, too."""
    if example := example_of(names, family):
        return f'## Run it\n\n<div data-gen5-run><p>{escaped(example["says"])}</p><pre><code>{html.escape(example["text"], quote=False)}</code></pre></div>\n'
    why = next((why for begin, why in NOT_HERE.items() if family.startswith(begin)), None)
    return f"## Run it\n\nNot in this page: `{family}` needs {why}.\n" if why else ""


# ---- The instruction reference

SUBJECTS = ("tcgen05", "wgmma", "mbarrier", "cp", "fence", "clusterlaunchcontrol", "barrier", "bar", "griddepcontrol", "mapa", "getctarank", "elect",
            "st.async", "red.async", "tensormap", "prefetch", "createpolicy", "discard", "applypriority", "multimem", "setmaxnreg")


def isa_families():
    names = []
    for line in run(gen5, "isa").splitlines()[1:]:
        words = line.split()
        if len(words) >= 3 and words[1].isdigit():
            names.append((words[0], int(words[1]), words[2]))
    return names


def page_of(family):
    return f"isa/{family.replace('::', '_')}.md"


def evidence_of(family):
    """Rows of notes/evidence.md that name it, as they stand there."""
    rows = []
    pattern = re.compile(rf"(?<![\w.]){re.escape(family)}(?![\w])")
    for line in (root / "notes" / "evidence.md").read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| fact") and pattern.search(line.replace("`", "")) and line.count("|") >= 5:
            rows.append(line)
    return rows


def fields_of(words):
    """What `gen5 explain OPCODE` says in words: [(field, text)]; nothing where it has none."""
    if not re.search(r"^  does  ", words, re.M):
        return []
    out = []
    for line in words.splitlines():
        if m := re.match(r"  (\S[\w ]*?) {2,}(\S.*)", line):
            out.append([m[1], m[2]])
        elif out and line.startswith(" " * 15):
            out[-1][1] += " " + line.strip()
    return out


def instruction_pages(known):
    families = isa_families()
    special = [f for f in families if f[0].split(".")[0] in SUBJECTS or any(f[0].startswith(s) for s in SUBJECTS if "." in s)]
    names = {f for f, _, _ in special}
    where = {}
    for folder in sorted((root / "chapters").glob("[0-9]*")):
        for path in instructions.sources_of(folder):
            for line, name, ptx in instructions.uses(path, known):
                for p in ptx:
                    where.setdefault(family_in(names, p), set()).add(folder.name)
    nav = []
    for family, forms, executed in special:
        text = [f"# {family}\n", f"{forms} form{'s' if forms != 1 else ''}. Does tinygpu execute {'them' if forms != 1 else 'it'}? {executed.capitalize()}.\n"]
        words = subprocess.run([gen5, "explain", family], capture_output=True, text=True).stdout
        text += [f"**{name[0].upper() + name[1:]}**: {escaped(says)}\n" for name, says in fields_of(words) if name in ("does", "executed by", "waits")]
        mine = [w for w in known.values() if any(family_in(names, p) == family for p in w.ptx)]
        if mine:
            text.append("## In this repo\n")
            for w in mine:
                text.append(f"`{w.name}` in `{w.header}`: {escaped(w.says)}\n\n" + fenced("\n".join(instructions.written(gen5, p) for p in w.ptx)))
        if where.get(family):
            text.append("Used in: " + ", ".join(f"[{c}](../chapters/{c}.md)" for c in sorted(where[family])) + "\n")
        to_run = run_it(names, family) if with_machine else ""
        text += [to_run, "## Forms\n\n" + fenced(run(gen5, "isa", family))]
        rows = evidence_of(family)
        text.append("## What this rests on\n")
        if rows:
            text.append("| fact | weight | evidence | held by |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
            text.append("\nWeights: see [evidence](../notes/evidence.md).\n")
        else:
            text.append("No fact of [evidence](../notes/evidence.md) names it: its behaviour is the PTX ISA's text.\n")
        if "data-gen5-run" in to_run:
            text.append("\n" + scripts("../"))
        write(page_of(family), "\n".join(text))
        nav.append({family: page_of(family)})
    others = [f for f in families if f[0] not in names]
    write("isa/others.md", "# Other instructions\n\n" + "| family | forms | executed |\n|---|---|---|\n" + "\n".join(f"| `{f}` | {n} | {e} |" for f, n, e in others) + "\n\n`gen5 isa FAMILY` prints the forms of each.\n")
    write("isa/index.md", "# Instructions\n\nEvery form that the parser knows, as `gen5 isa` prints it, the wrappers of `common/ptx/`, and the facts that their behaviour rests on. Descriptors and lines of PTX are taken apart by `gen5 explain`.\n\n| family | forms | executed |\n|---|---|---|\n" + "\n".join(f"| [{f}]({page_of(f)[4:]}) | {n} | {e} |" for f, n, e in special) + f"\n\n[{len(others)} other families](others.md): arithmetic, loads, control.\n")
    return names, [{"All": "isa/index.md"}, *nav, {"Others": "isa/others.md"}]


def family_in(names, ptx):
    """The longest known family that begins this instruction."""
    words = re.sub(r"^@!?\S+\s+", "", ptx.strip()).split()[0].rstrip(";").split(".")
    for n in range(len(words), 0, -1):
        if ".".join(words[:n]) in names:
            return ".".join(words[:n])
    return None


# ---- Chapters


def host_parts(path):
    """(first line, last line, name) of each function that only the host runs, with the comment above it; neighbours are one."""
    lines, parts = path.read_text().splitlines(), []
    for chunk in make_mistakes.chunks_of(path):
        name = re.search(r"(\w+)\s*\(", chunk.head)
        if not name or len(chunk.lines) < 3 or re.search(r"__global__|__device__|GEN5_PTX|constexpr", chunk.head):
            continue
        first, last = chunk.first, chunk.first + len(chunk.lines) - 1
        while first and lines[first - 1].startswith("//") and not lines[first - 1].startswith("// ----"):
            first -= 1
        if parts and not "".join(lines[parts[-1][1] + 1 : first]).strip():
            parts[-1] = (parts[-1][0], last, f"{parts[-1][2]}, {name[1]}")
        else:
            parts.append((first, last, name[1]))
    return parts


def annotated(path, known, names, folded=True):
    """The source with a mark at an instruction's first use in the file, and what the marks say. What only the host runs is folded."""
    marks, seen = {}, set()
    for line, name, ptx in instructions.uses(path, known):
        if fresh := instructions.unseen(ptx, seen):
            marks.setdefault(line, []).append((name, fresh))
    out, at, end = [], 0, len(path.read_text().splitlines())
    for first, last, name in [*(host_parts(path) if folded else []), (end, end, "")]:
        if first > at and (listing := marked(path, at, first, marks, known, names)):
            out.append(listing)
        if name:
            out.append(indented("note", f"Host code: {name}", marked(path, first, last + 1, marks, known, names)))
        at = last + 1
    return "\n".join(out)


def marked(path, first, end, marks, known, names):
    """Lines of a source, with the marks that are theirs; nothing where no line says anything."""
    notes, lines = [], path.read_text().splitlines()
    while first < end and not lines[first].strip():
        first += 1
    if first == end:
        return ""
    for line in sorted(m for m in marks if first < m <= end):
        at = len(notes) + 1
        lines[line - 1] += f" ({at})" if "//" in lines[line - 1] else f"  // ({at})!"
        said = []
        for name, ptx in marks[line]:
            family = family_in(names, ptx[0])
            link = f" — [{family}](../{page_of(family)})" if family else ""
            says = known[name].says if name in known else ""
            said.append("`" + "` `".join(instructions.written(gen5, p) for p in ptx) + f"`{link}. {escaped(says)}".replace("\n", " "))
        notes.append(f"{at}. " + "<br>".join(said))
    return f'``` {{ .cuda .annotate linenums="{first + 1}" }}\n' + "\n".join(lines[first:end]).rstrip() + "\n```\n\n" + "\n".join(notes) + "\n"


# Of a chapter whose idea stands in host code: what to read first.
HOST_CODE = {"15_search": ("numbers.h", "tiny_machine.h", "product.h", "rules.h", "search.h", "climb.cpp")}


def chapter_pages(known, names, outputs):
    nav = []
    for folder in sorted((root / "chapters").glob("[0-9]*")):
        name = folder.name
        text = [boosted(0.5), f"# {name}: the program\n"]
        beside = root / "notes" / f"{name}.md"
        if beside.exists():
            text.append(f"The lesson: [{beside.stem}](../notes/{beside.name}). Run it: `scripts/run {name}`. A mark in the code tells an instruction's PTX where the file uses it first. Functions that only the host runs are folded.\n")
        for path in [*(folder / file for file in HOST_CODE.get(name, ())), *instructions.sources_of(folder)]:
            text.append(f"## {path.name}\n\n{annotated(path, known, names, name not in HOST_CODE)}")
        if outputs and (build / "bin" / name).exists():
            text.append("## What it prints\n\nOn tinygpu, the machine model.\n\n" + fenced(run(build / "bin" / name)))
        write(f"chapters/{name}.md", "\n".join(text))
        nav.append({name: f"chapters/{name}.md"})
    return nav


# ---- Exercises


def reading(exercise):
    """What to read before, with links to the lessons."""
    chapters = {p.name[:2]: p.name for p in sorted((root / "notes").glob("[0-9][0-9]_*.md"), reverse=True)}
    text = re.sub(r"notes/[\w/]+\.md", lambda m: f"[{m[0]}]({m[0]})", exercise.read)
    return re.sub(r"chapter (\d\d)", lambda m: f"[{m[0]}](notes/{chapters[m[1]]})", text)


def exercise_page():
    text = ["# Exercises\n", "`scripts/learn` gives you one after the other, judges it each time you save, and shows the diagnosis and a timeline where it is not right yet. No GPU is needed.\n"]
    for e in judge.all_exercises():
        number = e.name.split("_")[0]
        text.append(f"## {number} {e.title}\n\n{escaped(e.task)}\n" + (f"\n{fenced(e.table)}" if e.table else "") + f"\nRead before: {reading(e)}." + (f" Budget: {e.budget:,} cycles." if e.budget else "") + "\n")
        for kind, title, body in (("example", "The file", fenced(e.text, "cuda")), ("tip", "Hint", e.hint), ("success", "Solution", fenced(e.solution(), "text" if e.session else "diff") + f"\n{escaped(e.knows)}\n\n**Remember:** {escaped(e.remember)}")):
            text.append(indented(kind, title, body))
    text.append("## Projects\n\n`scripts/learn project` gives you a skeleton, judges it milestone by milestone, and keeps a leaderboard of predicted cycles.\n")
    for p in projects.all_projects():
        task = (p.folder / "task.md").read_text().split("\n", 1)[1].strip()
        milestones = "\n".join(f"{i}. {m.name}: {m.what}" + (f", at most {m.budget:,} cycles" if m.budget else "") for i, m in enumerate(p.milestones, 1))
        text.append(f"### {p.title}\n\n{task}\n\n{milestones}\n")
    return write("exercises.md", "\n".join(text))


# ---- Diagnoses, machines, reports


def diagnosis_page():
    text = [boosted(LAST), "# Every diagnosis\n", "`gen5 explain CODE` prints one of these.\n"]
    section = ""
    for line in run(gen5, "explain", "--codes").splitlines()[2:]:
        match = re.match(r"  ([a-z][a-z0-9-]+) +([EWNw]+) +(.*)", line)
        if match:
            text.append(f"### {match[1]}\n\n{fenced(run(gen5, 'explain', match[1]))}")
        elif line.strip() and not line.startswith(" "):
            section = line.strip()
            text.append(f"## {section}\n")
    return write("diagnoses.md", "\n".join(text))


def machine_pages():
    nav = []
    for path in sorted((root / "probes" / "machines").glob("*.json")):
        known = json.loads(path.read_text())
        trust = {}
        for group in ("device", "instructions", "numbers"):
            for value in known.get(group, {}).values():
                if isinstance(value, dict) and "trust" in value:
                    trust[value["trust"]] = trust.get(value["trust"], 0) + 1
        text = [boosted(LAST), f"# {known.get('name', path.stem)}\n", escaped(str(known.get("note", ""))) + "\n"]
        text.append("Numbers by what they rest on: " + ", ".join(f"{n} {t}" for t, n in sorted(trust.items(), key=lambda x: -x[1])) + ".\n")
        for group in ("device", "instructions", "numbers"):
            rows = [(k, v) for k, v in known.get(group, {}).items() if isinstance(v, dict) and "value" in v]
            if rows:
                text.append(f"## {group}\n\n| name | value | what | source | trust |\n|---|---|---|---|---|")
                text.append("\n".join(f"| `{k}` | {escaped(str(v['value']))} {escaped(str(v.get('unit', '')))} | {escaped(str(v.get('what', '')))} | {escaped(str(v.get('source', '')))} | {v.get('trust', '')} |" for k, v in rows) + "\n")
        nav.append({path.stem: write(f"machines/{path.stem}.md", "\n".join(text))})
    return nav


REPORTS = (
    ("ring", "A ring of one and of four stages", "01_mbarrier", ["--part", "ring"]),
    ("chain", "Eight MMAs, with a wait behind each and with one for all", "05_mma", ["--part", "commit"]),
    ("gemm", "The GEMM of CTA pairs", "13_gemm", ["--m", "512", "--n", "512", "--k", "512", "--timeline", "off"]),
)


def report_pages(outputs):
    if not outputs:
        return []
    text = ["# Reports\n", "What `gen5 run --report page.html PROGRAM` writes: timelines that zoom, source lines with their time, roofline, banks. Each is one file.\n"]
    for name, title, program, arguments in REPORTS:
        (docs / "reports").mkdir(parents=True, exist_ok=True)
        run(gen5, "run", "--report", docs / "reports" / f"{name}.html", build / "bin" / program, *arguments)
        text.append(f'## {title}\n\n[Open the page](reports/{name}.html){{ target="_blank" }}\n\n<iframe src="reports/{name}.html" title="{title}" loading="lazy" class="report"></iframe>\n')
    return [{"Reports": write("reports.md", "\n".join(text))}]


# ---- All of it


def main():
    outputs = "--no-output" not in sys.argv
    shutil.rmtree(docs, ignore_errors=True)
    docs.mkdir(parents=True)
    known = instructions.wrappers()
    if with_machine:
        pages.write(docs / "machine", MODULE)
    if with_machine and outputs:
        live.update(name for name, _, _ in lessons_made(build, docs / "machine" / "lessons"))
    notes = []
    for path in sorted((root / "notes").glob("*.md")):
        notes.append((path.stem, title_of(path), note(path, f"notes/{path.name}")))
    references = [{title_of(p): note(p, f"notes/reference/{p.name}")} for p in sorted((root / "notes" / "reference").glob("*.md"))]
    note(root / "README.md", "about.md")
    write("index.md", landing.page(with_machine, outputs, repository))
    note(root / "CONTRIBUTING.md", "CONTRIBUTING.md")
    shutil.copytree(root / "notes" / "pictures", docs / "notes" / "pictures")
    names, isa_nav = instruction_pages(known)
    chapters = chapter_pages(known, names, outputs)
    by_name = {name: page for name, _, page in notes}
    lessons = [{title: page} for name, title, page in notes if re.match(r"\d\d_", name)]
    nav = [
        {"Start": ["index.md", {"Start here": by_name["start_here"]}, *([{"Exercises in PTX": practice_page()}, {"Playground": playground_page()}] if with_machine else []), {"Exercises in CUDA C++": exercise_page()},
                   {"Figures": figure_page()}, {"About gen5": "about.md"}]},
        {"Lessons": lessons},
        {"Programs": chapters},
        {"Reference": [{"Measured": references}] * bool(references) + [{"Glossary": by_name["glossary"]}, {"Diagnoses": diagnosis_page()}, {"Mistakes to make": by_name["mistakes"]}, {"Machines": machine_pages()}, {"Evidence": by_name["evidence"]}]},
        {"Instructions": isa_nav},
        {"tinygpu": [{"Your own kernels": by_name["your_kernels"]}, {"Debugging": by_name["debugging"]}, {"Commands": by_name["commands"]}, {"How it works": by_name["tinygpu"]}, {"In a browser": by_name["web"]}, *report_pages(outputs)] + [{title: page} for name, title, page in notes if not re.match(r"\d\d_", name) and name not in ("start_here", "mistakes", "evidence", "your_kernels", "tinygpu", "glossary", "debugging", "commands", "web")] + [{"Contributing": "CONTRIBUTING.md"}]},
    ]
    for name in ("extra.css", "iframe-worker.js", "accessible.js", "landing/landing.css", "landing/landing.js", "landing/card.png", "offline/manifest.webmanifest", "offline/register.js"):
        shutil.copyfile(root / "book" / name, docs / pathlib.Path(name).name)
    shutil.copytree(root / "book" / "offline" / "icons", docs / "icons")
    shutil.copytree(root / "book" / "overrides", out / "overrides", dirs_exist_ok=True)
    settings = (root / "book" / "mkdocs.yml").read_text()
    # JSON is YAML.
    more = {"docs_dir": "docs", "site_dir": "site", "nav": nav, "extra": {"generator": False, "polyfills": ["iframe-worker.js"]}}
    if site:
        more["site_url"] = site.rstrip("/") + "/"
    if repository:
        more["extra"]["social"] = [{"icon": "fontawesome/brands/git-alt", "link": repository, "name": "The repository"}]
    (out / "mkdocs.yml").write_text(settings + "\n" + "".join(f"{key}: {json.dumps(value)}\n" for key, value in more.items()))


def figure_page():
    """All figures, in the order of the lessons that show them, under their own titles and with what the lessons say of them."""
    text = [boosted(LAST), "# Figures\n", "Drawn by `scripts/figures` from what programs of this repo print on the machine model; a test draws them again.\n"]
    for lesson in sorted((root / "notes").glob("[0-9]*.md")):
        for says, name in re.findall(r"!\[([^\]]*)\]\(figures/(\w+)\.svg\)", lesson.read_text()):
            path = root / "notes" / "figures" / f"{name}.svg"
            title = html.unescape(re.search(r'aria-label="([^"]*)"', path.read_text())[1])
            text.append(f"## {title}\n\n{drawing(path, says)}\n\n{says} From [{lesson.stem}](notes/{lesson.name}).\n")
    return write("figures.md", "\n".join(text))


if __name__ == "__main__":
    main()
