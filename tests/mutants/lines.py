#!/usr/bin/env python3
"""Takes one synchronising line at a time out of the chapters' kernels, compiles them anew, and asks what tinygpu says.

  lines.py [--chapter NAME …] [--jobs N]    does so, appends to RESULTS
  lines.py --table                          what was found, by what the line does, of all that RESULTS has
  lines.py --not-told                       every line whose absence nothing told of, with the reason where equivalent.txt has one
  lines.py --write-note, --check-note       the table in notes/mistakes.md of what RESULTS has: renews it, or says whether it holds
  lines.py --list                           the lines

What a reader deletes is a statement of CUDA, not an instruction of PTX: a helper's call takes a fence, a barrier and a fence
with it, and the compiler may move what stood around it. A line counts where the PTX without it lacks an instruction that
synchronises, and nothing that computes or copies. The kernels run inside of their programs, whose other PTX stays as it was.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mutate
import run

NVCC = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
FLAGS = ["-std=c++20", "-O3", "-lineinfo", "--expt-relaxed-constexpr", "-DFMT_USE_CONSTEXPR=1", "-DFMT_CONSTEVAL=", "-w"]
NOTE = run.NOTE


def attention(program, *more):
    return [program, "--timeline", "off", "--heads", "2", "--batch", "1", "--queries", "300", "--keys", "700", *more]


# A chapter: its folder, and programs beside those of run.py that run its kernels.
CHAPTERS = {
    **{name: (name, {f"{name} whole": [name]}) for name in (
        "00_order", "01_mbarrier", "02_bulk_tensor", "03_tmem_alloc", "04_tmem_ld_st", "05_mma", "06_mma_operands", "07_tmem_cp_shift",
        "08_mma_block_scaled", "09_mma_sparse", "10_mma_ws", "11_cta_pair", "12_launch_control")},
    "13_gemm": ("13_gemm", {**{f"13_gemm {kind} step {n}": ["13_gemm", "--kind", kind, "--step", str(n), "--timeline", "off", "--m", "512", "--n", "512",
                                                             "--k", "704"] for kind in ("mxf8",) for n in (7, 8)},
                            "13_gemm bf16 step 2": ["13_gemm", "--out", "bf16", "--step", "2", "--timeline", "off", "--m", "256", "--n", "256", "--k", "320"]}),
    "13_gemm_hopper": ("13_gemm/hopper", {}),
    "14_attention": ("14_attention", {f"14_attention step {n}": attention("14_attention", "--step", str(n)) for n in range(1, 8)}),
    "14_attention_hopper": ("14_attention/hopper", {
        f"14_attention_hopper {keys} keys": ["14_attention_hopper", "--heads", "8", "--batch", "1", "--queries", "300", "--keys", str(keys)] for keys in (700, 100)}),
}
NO_KERNELS = {"mistakes.cu", "compare_cublas.cu", "library.cu"}  # no kernels of the chapter in them
run.PERSISTENT = re.compile(run.PERSISTENT.pattern + r"|13_gemm mxf8 step \d|14_attention step 7|14_attention_hopper.*")

# Instructions that order others, and those that do something else; a line may well take loads of an address with it.
ORDERS = [(re.compile(pattern), name) for pattern, name in mutate.DROPPED if name not in ("bulk load", "tcgen05.dealloc")]
ORDERS += [(re.compile(r"mbarrier\.(try_wait|test_wait)"), "mbarrier wait")]
WORKS = re.compile(r"cp\.|tcgen05\.(mma|cp|ld|st|shift|alloc)|wgmma\.mma|mma\.|st\.global|st\.async|red\.async|clusterlaunch|atom|red\.|griddepcontrol\.launch")
CALL = re.compile(r"(?<![\w.>:])((?:gen5::ptx::|tensor_kernel::)?[a-z_]\w*)(<[^<;(){}][^;(){}]*>)?\(")
SUSPECT = re.compile(r"fence|wait|sync|arrive|commit|expect|complete_tx|init|meet|ready|release|end|landed|receive|setmaxnreg|hand|drained|begin|signal|pass|give|take|next")


class Line:
    def __init__(self, path, number, first, last, text, source):
        self.path, self.number, self.first, self.last, self.text, self.source = path, number, first, last, text, source
        self.chapters = []  # whose kernels have it

    def without(self):
        """The file without the statement."""
        return self.source[:self.first] + "(void)0" + self.source[self.last:]

    def judge(self):
        """What becomes of the first chapter that tells of its absence; None if it is none that synchronises."""
        best = None
        for chapter in self.chapters:
            verdict = chapter.judge(self)
            if verdict and (not best or rank(verdict) > rank(best)):
                best = verdict
            if best and best.get("line"):
                break
        return best


def closing(text, at):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i + 1
    return len(text)


def lines_in(path):
    """Statements that are one call of what may synchronise."""
    source = path.read_text()
    blank = re.sub(r'//[^\n]*|R"\w*\(.*?\)\w*"|"(?:[^"\\\n]|\\.)*"', lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.S)
    for m in CALL.finditer(blank):
        before = blank[:m.start()].rstrip()
        if not SUSPECT.search(m[1]) or not (before[-1:] in ";{})" or before.endswith("else")):
            continue
        last = closing(blank, m.end() - 1)
        if blank[last:last + 1] == ";":
            text = " ".join(source[m.start():last].split())
            yield Line(path, source.count("\n", 0, m.start()) + 1, m.start(), last, text, source)


def sources_of(folder):
    return [p for p in sorted(folder.glob("*.cu")) if p.name not in NO_KERNELS]


def includes(path):
    """The files of this repository that a source has in it, itself included."""
    found, todo = set(), [path]
    while todo:
        p = todo.pop()
        if p in found or not p.exists():
            continue
        found.add(p)
        todo += [run.ROOT / name for name in re.findall(r'^#include "(chapters/[^"]+)"', p.read_text(), re.M)]
    return found


def compile_ptx(path, arch, overlay, out):
    """The PTX of a source, with the files in `overlay` before those of the repository; None if it does not compile."""
    first = overlay / path.relative_to(run.ROOT)
    done = subprocess.run([NVCC, "-ptx", f"-arch=compute_{arch}", *FLAGS, f"-I{overlay}", f"-I{run.ROOT}", f"-I{overlay}/stand_in", "-o", str(out),
                           str(first if first.exists() else path)], capture_output=True, text=True)
    return out.read_text() if done.returncode == 0 else None


def stand_ins(overlay, folder):
    """Files without mistakes, in place of those that the build makes; with them where the chapter's program runs them."""
    (overlay / "stand_in").mkdir(parents=True)
    for name in {n for p in sources_of(folder) for n in re.findall(r'#include "(\w*mistakes\.inc)"', p.read_text())}:
        made = overlay / "stand_in" / name
        if folder.name == "00_order":
            subprocess.run([sys.executable, run.ROOT / "cmake" / "make_mistakes.py", run.ROOT, folder / "mistakes.txt", made], check=True)
        else:
            made.write_text("const gen5::harness::Mistake kMistakes[1] = {};\n")


def kernels_of(text):
    """Kernel -> its instructions, without what tells where they come from."""
    out, name = {}, None
    for line in text.split("\n"):
        if m := re.search(r"\.entry\s+([\w$]+)", line):
            name = m[1]
        if re.match(r"\s*(\.loc|\.file|\.section|//|$)", line):
            continue
        if name:
            out.setdefault(name, []).append(line)
    return out


def opcodes(lines):
    found = collections.Counter()
    for line in lines:
        if m := mutate.STATEMENT.match(line.split("//")[0]):
            found[m["op"]] += 1
    return found


class Chapter:
    def __init__(self, name, build, folder):
        self.name, self.build, self.folder = name, build, folder
        place, more = CHAPTERS[name]
        self.place = run.ROOT / "chapters" / place
        self.arch = "90a" if "hopper" in name else "100a"
        run.PROGRAMS.update(more)
        names = [n for n in run.PROGRAMS if n.split()[0] == name]
        self.programs = [run.Program(n, build, make(folder / n.replace(" ", "_"))) for n in names]
        self.base = {}
        stand_ins(folder / "base", self.place)
        for path in sources_of(self.place):
            if (text := compile_ptx(path, self.arch, folder / "base", folder / "base" / "out.ptx")) is not None:
                self.base[path] = text

    def files(self):
        """What its kernels are written in: its own, and chapters/tensor_kernel.cuh."""
        return sorted({p for source in self.base for p in includes(source) if p.parent in (self.place, self.place.parent)})

    def judge(self, line):
        """What becomes of the chapter without the line; None if it is none that synchronises."""
        kinds, verdict = set(), {"found": "not reached"}
        with tempfile.TemporaryDirectory(dir=self.folder) as overlay:
            overlay = pathlib.Path(overlay)
            stand_ins(overlay, self.place)
            changed_file = overlay / line.path.relative_to(run.ROOT)
            changed_file.parent.mkdir(parents=True)
            changed_file.write_text(line.without())
            for path, base in self.base.items():
                if line.path not in includes(path) or verdict.get("line"):
                    continue
                text = compile_ptx(path, self.arch, overlay, overlay / "out.ptx")
                if text is None:
                    return None  # a definition, or its value is used
                lost, kernels = difference(base, text)
                if any(WORKS.match(op) and not synchronises(op) for op in lost):
                    return None
                if here := set(filter(None, map(synchronises, lost))):
                    kinds |= here
                    verdict = max(verdict, self.judge_source(text, kernels, here), key=rank)
        if not kinds:
            return None
        return {"chapter": self.name, "file": str(line.path.relative_to(run.ROOT)), "cuda": line.number, "text": line.text, "kinds": sorted(kinds), **verdict}

    def judge_source(self, text, kernels, kinds):
        """What becomes of the chapter's programs with other PTX of one source."""
        verdict = {"found": "not reached"}
        for program in self.programs:
            files = {file: same_names(text, old) for file, old in program.texts.items() if entries(text) <= entries(old)}
            if files and kernels & set(map(plain, program.kernels)) and not verdict.get("line"):
                this = program.judge_with(files, lambda r: run.names_it(r, [f"drop: {k}" for k in kinds]), lambda key: key[:3])
                verdict = max(verdict, {**this, "program": program.name}, key=rank)
        return verdict


def difference(base, text):
    """The instructions that a source's PTX has lost, and the kernels that have lost them. Kernels keep their order."""
    was, now = kernels_of(base), kernels_of(text)
    lost, kernels = collections.Counter(), set()
    for k, n in zip(was, now):
        if missing := opcodes(was[k]) - opcodes(now[n]):  # others may have changed too: inline assembly numbers its labels
            lost += missing
            kernels.add(plain(k))
    return lost, kernels


def synchronises(op):
    """What mutate.py calls it, or None."""
    return next((name for pattern, name in ORDERS if pattern.match(op)), None)


def rank(verdict):
    """Of two programs with the same line missing, the one that says more counts."""
    return (("not reached", "not legal", "nothing", "result", "by order", "diagnosed").index(verdict["found"]), verdict.get("line", False))


UNNAMED = re.compile(r"(?<=_GLOBAL__N__)[0-9a-f]{8}(?=_)")  # what the compiler makes of the path of a file with an unnamed namespace


def plain(name):
    return UNNAMED.sub("", name)


def entries(text):
    return set(map(plain, re.findall(r"\.entry\s+([\w$]+)", text)))


def same_names(text, old):
    """The PTX with the names that `old` gives to an unnamed namespace."""
    name = UNNAMED.search(old)
    return UNNAMED.sub(name[0], text) if name else text


def make(folder):
    folder.mkdir(parents=True)
    return folder


def reason_of(r, same):
    """Why a line may go, if it may."""
    source = r["text"] + ";"
    for (program, kind, text), reason in same.items():
        if kind in {f"drop: {k}" for k in r["kinds"]} and text in ("*", source) and program.split()[0] in ("*", r["chapter"]):
            return reason
    return ""


def table(results):
    same, rows, total = run.equivalent(), collections.defaultdict(collections.Counter), collections.Counter()
    for r in results:
        found = r["found"]
        if found in run.UNTOLD and reason_of(r, same):
            found = "equivalent"
        rows[r["kinds"][0] if len(r["kinds"]) == 1 else "several of these, in a helper's call"].update([found, *(["named"] if r.get("line") else [])])
    for row in rows.values():
        total.update(row)
    columns = ("diagnosed", "named", "result", "by order", "nothing", "equivalent", "not reached")
    width = max(map(len, rows), default=0) + 2
    out = [f"{'what the line did':<{width}}" + f"{'lines':>8}" + "".join(f"{c:>12}" for c in columns)]
    for kind, row in [*sorted(rows.items()), ("all", total)]:
        lines = sum(n for found, n in row.items() if found != "named")
        out.append((f"{kind:<{width}}{lines:>8}" + "".join(f"{row[c] or '':>12}" for c in columns)).rstrip())
    wrong = total["diagnosed"] + sum(total[found] for found in run.UNTOLD)
    share = 100 * total["diagnosed"] / max(1, wrong)
    out += ["", f"Of {wrong} that are reached and not equivalent, {share:.1f} % are diagnosed."]
    return "\n".join(out) + "\n", share


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", type=pathlib.Path, default=run.ROOT / "build" / "default")
    options.add_argument("--results", type=pathlib.Path)
    options.add_argument("--chapter", action="append", choices=CHAPTERS)
    options.add_argument("--line", help="only lines that this regular expression matches")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--at-least", type=float, default=0, help="with --table: fail where a smaller share in percent is diagnosed")
    for what in ("list", "table", "not-told", "write-note", "check-note"):
        options.add_argument(f"--{what}", action="store_true")
    o = options.parse_args()
    file = o.results or o.build / "lines.jsonl"
    if o.table or o.not_told or o.write_note or o.check_note:
        results = [json.loads(line) for line in file.read_text().splitlines()]
    if o.table:
        text, share = table(results)
        print(text, end="")
        sys.exit(share < o.at_least and f"less than {o.at_least} %")
    if o.write_note or o.check_note:
        sys.exit(run.kept.settle(NOTE, {"tests/mutants/lines.py --table": table(results)[0].splitlines()}, o.write_note, __file__))
    if o.not_told:
        same = run.equivalent()
        for r in results:
            if r["found"] == "diagnosed":
                continue
            reason = reason_of(r, same)
            print(f"{r['file']}:{r['cuda']}: {r['text']}: {r['found']}{' under ' + r['order'] if 'order' in r else ''}; {', '.join(r['kinds'])}"
                  f"{': ' + reason if reason else ''}")
        return None
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        chapters = pool.map(lambda name: Chapter(name, o.build.resolve(), pathlib.Path(folder) / name), o.chapter or CHAPTERS)
        lines = {}
        for chapter in chapters:
            for path in chapter.files():
                for line in lines.setdefault(path, list(lines_in(path))):
                    line.chapters.append(chapter)
        work = [line for found in lines.values() for line in found if not o.line or re.search(o.line, line.text)]
        random.Random(16).shuffle(work)  # what has been found when one stops early is a sample
        if o.list:
            return print("\n".join(f"{w.path.relative_to(run.ROOT)}:{w.number}: {w.text}" for w in work))
        counts = collections.Counter()
        with open(file, "a") as out:
            for verdict in pool.map(Line.judge, work):
                counts[verdict["found"] if verdict else "no line that synchronises"] += 1
                if verdict:
                    out.write(json.dumps(verdict) + "\n")
                    out.flush()
        print(f"{len(work)} lines: " + ", ".join(f"{n} {found}" for found, n in counts.most_common()))
    return None


if __name__ == "__main__":
    main()
