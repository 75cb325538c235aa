#!/usr/bin/env python3
"""The launches of chapters, for the lessons' pages: lessons.py BUILD OUT [CHAPTER …] writes OUT/NAME.js for each chapter whose program is in
BUILD/bin, and says how large they are. web/page/lesson.js loads one.

Each part and each mistake of a chapter runs once, at a small shape, with GEN5_CAPTURE (cuda/launch_capture.h). Of its launches each kernel's first
is kept. Of a module's PTX what the kernel needs is kept, of its line information the files of this repository, whose text stands beside it."""
import base64
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
# Arguments that make a chapter's matrices small, and run all steps of a ladder.
SMALL = {
    "13_gemm": ["--m", "256", "--n", "256", "--k", "256"],
    "14_attention": ["--queries", "256", "--heads", "1"],
    "15_search": ["--m", "256", "--n", "256", "--k", "128"],
}
LADDERS = {name: ["--all", "--timeline", "off"] for name in ("13_gemm", "14_attention", "16_megakernel")}
# Mistakes that a page does not show, and why (tests/web/lessons_test.py finds such).
ELSEWHERE = {("12_launch_control", "no_grid_wait"): "it takes two launches", ("00_order", "not_freed"): "it is the host's: a page has the kernel alone"}
# What a chapter's program sets for its kernels (common/harness/chapter.cpp), and a mistake's `set:` may change: {variable: (key of a request, value)}.
SETTINGS = {"GEN5_CHECK": ("check", "races"), "GEN5_TMEM_CHECKS": ("tmem_checks", "strict"), "GEN5_MEMORY_CHECK": ("memory_check", "0")}
LARGEST = 3_000_000   # bytes of a chapter's memory, packed
MOST_OF_A_PART = 4    # launches; of a ladder three times as many
SECONDS = 240         # of one run


def lists(program):
    """([(part, title)], [(mistake, title)]) of --list."""
    text = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    parts = re.findall(r"^  (\S+) +(\S.*)$", text.split("parts:\n", 1)[1].split("\nmistakes:")[0], re.M)
    return parts


def mistakes(folder):
    """[(name, title, says, why, {variable: value} that it sets)] of the chapter's *mistakes.txt."""
    out = []
    for path in sorted(folder.glob("*mistakes.txt")):
        for m in re.finditer(r"^mistake ([\w-]+): (.*)\n((?:(?!^mistake )[^\n]*\n)*)", path.read_text(), re.M):
            head = m[3].split("\n@@")[0]
            field = {k: " ".join(v.split()) for k, v in re.findall(r"^(says|why): (.*(?:\n(?!\w+:)[^\n]+)*)", head, re.M)}
            out.append((m[1], m[2], field.get("says", ""), field.get("why", ""), dict(re.findall(r"^set: (\w+)=(\S+)", head, re.M))))
    return out


def settings(changed={}):
    """A launch's checks, as keys of a request."""
    now = {key: changed.get(variable, value) for variable, (key, value) in SETTINGS.items()}
    return {**now, "memory_check": now["memory_check"] == "1"}


def captured(program, arguments, folder, changed={}):
    """Its launches in order; the program may end as it likes."""
    environment = {**os.environ, "GEN5_DEVICE": "tinygpu", **changed, "GEN5_CAPTURE": str(folder), "GEN5_CHECK": "quick", "GEN5_THREADS": "1"}
    try:
        subprocess.run([program, *arguments], env=environment, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        pass  # what it has launched so far is there
    return [json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))]


# ---- PTX


def items(text):
    """The statements of a module: directives of a line, variables, functions, sections."""
    text = re.sub(r"//[^\n]*", "", text)
    at, out = 0, []
    for m in re.finditer(r"\S[^\n]*", text):
        if m.start() < at:
            continue
        if re.match(r"\.(version|target|address_size|file|loc)\b", m[0]):
            out.append(m[0].strip())
            at = m.end()
            continue
        depth, function, i = 0, bool(re.match(r"(\.\w+\s+)*\.(entry|func|section)\b", m[0])), m.start()
        while i < len(text):
            c = text[i]
            if c == '"':
                i = text.index('"', i + 1)
            elif c in "{}":
                depth += 1 if c == "{" else -1
                if depth == 0 and function:
                    i += 1
                    break
            elif c == ";" and depth == 0:
                i += 1
                break
            i += 1
        out.append(text[m.start():i])
        at = i
    return out


NAME = re.compile(r"[A-Za-z_$][\w$]*")


def defined(item):
    """The name that a statement defines; "" for others."""
    if m := re.match(r"(?:\.\w+\s+)*\.(?:entry|func)\s+(?:\.\w+\s+)*(?:\([^)]*\)\s*)?(?:\.\w+\s+)*([A-Za-z_$%][\w$]*)", item):
        return m[1]
    if re.match(r"\.(version|target|address_size|file|section)", item):
        return ""
    head = re.split(r"[=;]", item, maxsplit=1)[0]
    names = re.findall(r"[A-Za-z_$][\w$]*(?=\s*(?:\[|$))", head.strip())
    return names[0] if names else ""


def needed(text, kernel):
    """The module with that kernel alone, and what it calls and names."""
    found = items(text)
    by_name = {}
    for i, item in enumerate(found):
        if name := defined(item):
            by_name.setdefault(name, []).append(i)
    keep, ask = set(), [kernel]
    strings = set()
    while ask:
        name = ask.pop()
        for i in by_name.get(name, []):
            if i in keep:
                continue
            keep.add(i)
            words = set(NAME.findall(found[i]))
            strings |= {w for w in words if w.startswith("$L__info_string")}
            ask += [w for w in words if w in by_name]
    files = {m for i in keep for m in re.findall(r"\.loc\s+(\d+)", found[i])} | {m for i in keep for m in re.findall(r"inlined_at\s+(\d+)", found[i])}
    out = []
    for i, item in enumerate(found):
        if re.match(r"\.(version|target|address_size)", item) or i in keep:
            out.append(item)
        elif m := re.match(r'\.file\s+(\d+)\s+"([^"]*)"', item):
            if m[1] in files:
                out.append(f'.file {m[1]} "{of_repository(m[2])}"')
        elif re.match(r"\.section\s+\.debug_str", item):
            entries = re.findall(r"(\$L__info_string\d+):((?:(?!\$L__info)[^:])*)", item)
            kept = "".join(f"{name}:\n.b8 {','.join(re.findall(r'[0-9]+', body.replace('.b8', '')))}\n" for name, body in entries if name in strings)
            if kept:
                out.append(".section .debug_str\n{\n" + kept + "}")
    return tidy("\n".join(out)) + "\n"


def tidy(text):
    """Without blank lines, and what stands in braces two columns in."""
    out, depth = [], 0
    for line in filter(None, (line.strip().replace("\t", " ") for line in text.split("\n"))):
        inside = depth - line.startswith("}")
        out.append(line if re.match(r"[$\w]+:$", line) else "  " * inside + line)
        depth += line.count("{") - line.count("}")
    return "\n".join(out)


def of_repository(path):
    """From the root on, where it lies in this repository."""
    p = pathlib.Path(os.path.normpath(path))
    return str(p.relative_to(root)) if p.is_relative_to(root) else path


# ---- A chapter


def readable(names):
    """{mangled: "ring<4, false>"}: without parameters and the namespaces of a mistake."""
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.splitlines()
    return {mangled: short(name) for mangled, name in zip(names, done)}


def short(name):
    name = re.sub(r"\(anonymous namespace\)::|\([\w:]+\)(?=\d)", "", name)
    if name.endswith(")"):
        depth, at = 0, len(name)
        while at and (depth or at == len(name)):
            at -= 1
            depth += {")": 1, "(": -1}.get(name[at], 0)
        name = name[:at]
    head, bracket, rest = name.removeprefix("void ").partition("<")
    return head.split("::")[-1].split(" ")[-1] + bracket + rest


class Chapter:
    def __init__(self, name, build):
        self.name, self.program = name, build / "bin" / name
        self.ptx, self.data, self.launches, self.left_out, self.size = [], {}, [], [], 0
        self.cut = {}

    def blob(self, folder, file):
        """The name of a memory's content, which is kept without the zeros at its end."""
        key = file.removesuffix(".bin")
        if key not in self.data:
            self.data[key] = base64.b64encode((folder / file).read_bytes().rstrip(b"\0")).decode()
        return key

    def whole(self, folder, file):
        key = "all of " + file.removesuffix(".bin")
        self.data[key] = base64.b64encode((folder / file).read_bytes()).decode()
        return key

    def add(self, folder, launch, group, title, says="", changed={}):
        memory = [{"address": m["address"], "bytes": m["bytes"], "file": m["file"]} for m in launch["memory"]]
        if "left_out" in launch:
            return self.left_out.append(f"{title}: {launch['left_out']}")
        if len(launch["ptx"]) != 1:
            return self.left_out.append(f"{title}: its module is linked from several")
        fresh = {m["file"] for m in memory if m["file"].removesuffix(".bin") not in self.data}
        size = sum(len(gzip.compress((folder / file).read_bytes(), 1)) for file in fresh)
        if self.size + size > LARGEST:
            return self.left_out.append(f"{title}: {size:,} bytes of memory, packed")
        self.size += size
        key = (launch["ptx"][0], launch["kernel"])
        if key not in self.cut:
            text = needed((folder / launch["ptx"][0]).read_text(), launch["kernel"])
            if text not in self.ptx:
                self.ptx.append(text)
            self.cut[key] = self.ptx.index(text)
        ptx = self.ptx[self.cut[key]]
        self.launches.append({
            "title": title, "group": group, "says": says, **settings(changed), "ptx": self.cut[key], "kernel": launch["kernel"],
            "grid": launch["grid"], "block": launch["block"], "cluster": launch["cluster"], "shared": launch["shared"], "cooperative": launch["cooperative"],
            "packed": self.whole(folder, launch["parameters"]),
            "memory": [{"address": m["address"], "bytes": m["bytes"], "data": self.blob(folder, m["file"])} for m in memory],
            "variables": [{"name": v["name"], "data": self.blob(folder, v["file"])} for v in launch["variables"] if re.search(rf"(?<![\w$]){re.escape(v['name'])}(?![\w$])", ptx)],
        })

    def record(self, work):
        small = SMALL.get(self.name, [])
        for part, title in lists(self.program):
            folder = work / f"part_{part}"
            folder.mkdir(parents=True)
            seen = set()
            launches = captured(self.program, ["--part", part, *small, *LADDERS.get(self.name, [])], folder)
            names = readable(sorted({l["kernel"] for l in launches}))
            for launch in launches:
                if launch["kernel"] in seen:
                    continue
                if len(seen) == MOST_OF_A_PART * (3 if self.name in LADDERS else 1):
                    break
                seen.add(launch["kernel"])
                shape = " × ".join(str(n) for n in launch["grid"] if n > 1) or "1"
                self.add(folder, launch, f"{part}: {title}", f"{names[launch['kernel']]}, {shape} CTA{'s' if shape != '1' else ''} of {launch['block'][0] * launch['block'][1] * launch['block'][2]} threads")
        for name, title, says, why, changed in mistakes(root / "chapters" / self.name):
            if why_not := ELSEWHERE.get((self.name, name)):
                self.left_out.append(f"{name}: {why_not}")
                continue
            folder = work / f"mistake_{name}"
            folder.mkdir(parents=True)
            launches = captured(self.program, ["--mistake", name, "--kernel", "wrong", *small], folder, changed)
            if launches:
                self.add(folder, launches[0], "Mistakes", f"{name}: {title}", f"A mistake: {title}. {why} What is said of it: {says}.", changed)

    def sources(self):
        """Of the files that line information names, those of this repository: of_repository() leaves others absolute."""
        names = {m for text in self.ptx for m in re.findall(r'^\.file \d+ "([^"]*)"', text, re.M)}
        return {n: (root / n).read_text() for n in sorted(names) if not pathlib.Path(n).is_absolute() and (root / n).is_file() and not n.startswith("build/")}

    def write(self, out):
        content = {"name": self.name, "sources": self.sources(), "ptx": self.ptx, "data": self.data, "launches": self.launches, "left_out": self.left_out}
        packed = gzip.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)
        text = f"gen5LessonData({json.dumps(self.name)}, \"{base64.b64encode(packed).decode()}\");\n"
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{self.name}.js").write_text(text)
        return len(text)


def made(build, out, name):
    chapter = Chapter(name, build)
    with tempfile.TemporaryDirectory() as work:
        chapter.record(pathlib.Path(work))
    size = chapter.write(out) if chapter.launches else 0
    return chapter, size


def chapters(build, names=()):
    return [p.name for p in sorted((root / "chapters").glob("[0-9]*")) if (build / "bin" / p.name).exists() and (not names or p.name in names)]


def main(build, out, names=()):
    """[(chapter's name, launches, bytes)] of those that have launches."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        all_made = list(pool.map(lambda name: made(build, out, name), chapters(build, names)))
    for chapter, size in all_made:
        print(f"{chapter.name}: {len(chapter.launches)} launches, {size:,} bytes" + "".join(f"\n  left out: {w}" for w in chapter.left_out))
    return [(c.name, len(c.launches), size) for c, size in all_made if size]


if __name__ == "__main__":
    total = sum(size for _, _, size in main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]))
    print(f"{total:,} bytes")
