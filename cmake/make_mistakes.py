#!/usr/bin/env python3
"""Makes a chapter's broken kernels from its right ones.

make_mistakes.py ROOT mistakes.txt OUT.inc

mistakes.txt names, for each mistake, functions of the chapter's sources and the lines of them that are wrong, as a diff.
OUT.inc has a namespace for each mistake with those functions copied and changed, and `kMistakes`, a table of
common/harness/mistake.h. The chapter includes it behind its kernels. A diff that does not fit the source, or fits in two
places, is an error: what a lesson shows is what is compiled. CONTRIBUTING.md describes the form.
"""
import pathlib
import re
import sys

FIELDS = ("says", "silent", "why", "find", "look", "run", "right", "copy", "silicon", "h200", "set")


class Error(Exception):
    pass


def fail(path, line, message):
    raise Error(f"{path}:{line}: {message}")


# What a mistake leaves out may have been all that used a variable.
QUIET = "#pragma nv_diagnostic push\n#pragma nv_diag_suppress 177, 550"


# ---- The sources: what stands at the top level


class Chunk:
    """A definition at the top level of a source: its lines, from `first` (0-based) on."""

    def __init__(self, path, first, lines):
        self.path, self.first, self.lines = path, first, lines
        # What is declared stands before the body, behind template parameters.
        text = "\n".join(lines)
        self.head = re.split(r"[{;=]", re.sub(r"^template\s*<[^\n]*>\n", "", text), maxsplit=1)[0]

    def declares(self, name):
        return re.search(rf"(?<![\w:]){re.escape(name)}\s*(\(|\[|:|$)", self.head.rstrip()) is not None


def chunks_of(path):
    """Definitions begin in column 0 and end where all their brackets are closed, by } or ;."""
    lines = path.read_text().splitlines()
    out, at = [], 0
    while at < len(lines):
        line = lines[at]
        if not line or line[0] in " #/" or line.startswith(("namespace ", "}", "using ")):
            at += 1
            continue
        first, depth, ended = at, 0, False
        while at < len(lines) and not ended:
            code = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|//.*', "", lines[at])
            for i, c in enumerate(code):
                if c in "({[":
                    depth += 1
                elif c in ")}]":
                    depth -= 1
                    if depth == 0 and c == "}" and code[i + 1 :].lstrip()[:1] not in (";", ",", ")"):
                        ended = True
                elif c == ";" and depth == 0:
                    ended = True
            at += 1
        out.append(Chunk(path, first, lines[first:at]))
    return out


class Sources:
    def __init__(self, folder):
        self.folder, self.files = folder, {}

    def chunks(self, file):
        if file not in self.files:
            self.files[file] = chunks_of(self.folder / file)
        return self.files[file]

    def find(self, file, name):
        if not (self.folder / file).is_file():
            raise Error(f"there is no {file}")
        found = [c for c in self.chunks(file) if c.declares(name)]
        if len(found) != 1:
            raise Error(f"{file} defines {name} {len(found)} times at its top level")
        return found[0]


# ---- The mistakes


class Hunk:
    def __init__(self, file, name, line):
        self.file, self.name, self.line = file, name, line
        self.rows = []  # (sign, text, line in mistakes.txt)


class Mistake:
    def __init__(self, name, title, line):
        self.name, self.title, self.line = name, title, line
        self.fields, self.hunks = {}, []


def parse(path):
    mistakes, current, field, hunk = [], None, None, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            hunk = field = None
        elif match := re.fullmatch(r"mistake ([a-z][a-z0-9_-]*): ([^;\[\]]+)", line):
            current = Mistake(match[1], match[2], number)
            if any(m.name == current.name for m in mistakes):
                fail(path, number, f"a second mistake {current.name}")
            mistakes.append(current)
            hunk = field = None
        elif current is None:
            fail(path, number, "before the first mistake")
        elif match := re.fullmatch(r"@@ (\S+) (\S+)", line):
            hunk = Hunk(match[1], match[2], number)
            current.hunks.append(hunk)
        elif hunk is not None:
            if line[0] not in " +-":
                fail(path, number, "a line of a diff begins with a space, + or -")
            hunk.rows.append((line[0], line[1:], number))
        elif match := re.fullmatch(r"([a-z0-9]+): *(.*)", line):
            field = match[1]
            if field not in FIELDS:
                fail(path, number, f"no such field: {field}")
            if field in current.fields:
                fail(path, number, f"{field} stands there twice")
            current.fields[field] = match[2]
        elif field and line.startswith(" "):
            current.fields[field] += " " + line.strip()
        else:
            fail(path, number, f"not understood: {line}")
    for m in mistakes:
        for needed in ("says", "run", "why"):
            if not m.fields.get(needed):
                fail(path, m.line, f"{m.name} lacks `{needed}:`")
        if not m.hunks:
            fail(path, m.line, f"{m.name} has no diff")
        if (m.fields["says"] == "wrong numbers") != bool(m.fields.get("find")):
            fail(path, m.line, f"{m.name}: `find:` says how to find the fault from wrong numbers, and stands there with these alone")
        if m.fields.get("look") and not m.fields.get("find"):
            fail(path, m.line, f"{m.name}: `look:` has the debugger's commands for `find:`")
    return mistakes


def same(source, quoted):
    """White space does not count; a comment behind the source's line may be left out."""
    return quoted.split() in (source.split(), re.sub(r"\s//.*", "", source).split())


def apply(hunk, lines):
    """`lines`: [(text, file, line)] of the function so far. Returns them changed, and the hunk as it is shown."""
    old = [text for sign, text, _ in hunk.rows if sign != "+"]
    if not old:
        raise Error("a diff without a line of the source")
    places = [
        i for i in range(len(lines) - len(old) + 1) if all(same(lines[i + k][0], old[k]) for k in range(len(old)))
    ]
    if len(places) != 1:
        raise Error(f"these lines stand {len(places)} times in {hunk.name} of {hunk.file}:\n" + "\n".join(old))
    start, at = places[0], places[0]
    out, shown = lines[:start], [(" ", lines[start - 1][0])] if start and hunk.rows[0][0] != " " else []
    for sign, text, number in hunk.rows:
        if sign == "+":
            out.append((text, None, number))
        else:
            if sign == " ":
                out.append(lines[at])
            text = lines[at][0]
            at += 1
        shown.append((sign, text))
    if hunk.rows[-1][0] != " " and at < len(lines):
        shown.append((" ", lines[at][0]))
    return out + lines[at:], lines[start][2], shown


def literal(text):
    return 'R"~~~(' + text + ')~~~"'


def place_of(chunk, hunk, line, root):
    return f"{(chunk.path.relative_to(root))}:{line}, in {hunk.name}"


def make(root, path):
    sources, mistakes = Sources(path.parent), parse(path)
    root = root.resolve()
    text = [f"// Made by cmake/make_mistakes.py from {path.resolve().relative_to(root)}.", QUIET, "namespace mistakes {", ""]
    table = []
    for m in mistakes:
        try:
            # Copies stand in the order of their files, and in a file in its order.
            wanted, files = {}, []
            for entry in filter(None, (e.strip() for e in m.fields.get("copy", "").split(";"))):
                file, *names = entry.split()
                files += [file] if file not in files else []
                for chunk in sources.chunks(file) if names == ["*"] else [sources.find(file, n) for n in names]:
                    wanted[(file, chunk.first)] = chunk
            for h in m.hunks:
                files += [h.file] if h.file not in files else []
                chunk = sources.find(h.file, h.name)
                wanted[(h.file, chunk.first)] = chunk
            shown_all = []
            text.append(f"namespace {m.name.replace('-', '_')} {{")
            for key in sorted(wanted, key=lambda k: (files.index(k[0]), k[1])):
                chunk = wanted[key]
                lines = [(t, chunk.path, chunk.first + i + 1) for i, t in enumerate(chunk.lines)]
                for h in m.hunks:
                    if sources.find(h.file, h.name) is chunk:
                        lines, at, shown = apply(h, lines)
                        shown_all.append((place_of(chunk, h, at, root), shown))
                before = None
                for t, file, number in lines:
                    here = (file or path, number)
                    if before is None or here != (before[0], before[1] + 1):
                        text.append(f'#line {number} "{here[0].resolve()}"')
                    text.append(t)
                    before = here
            text.append(f'#line {m.line} "{path.resolve()}"')
            text.append(f"inline gen5::harness::Verdict run() {{ return {m.fields['run']}; }}")
            text.append(f"}}  // namespace {m.name.replace('-', '_')}")
            text.append("")
        except Error as error:
            fail(path, m.line, f"{m.name}: {error}")
        indent = min(len(t) - len(t.lstrip()) for _, rows in shown_all for _, t in rows if t.strip())
        diff = ""
        for place, rows in shown_all:
            diff += f"@ {place}\n" + "".join((sign + " " + t[indent:]).rstrip() + "\n" for sign, t in rows)
        strings = [m.name, m.title, diff] + [m.fields.get(f, "") for f in ("says", "silent", "why", "find", "look", "h200", "set")]
        if m.fields.get("silicon", "unsafe") not in ("safe", "unsafe"):
            fail(path, m.line, f"{m.name}: silicon: safe or unsafe")
        safe = "true" if m.fields.get("silicon") == "safe" else "false"
        right = m.fields.get("right", m.fields["run"])
        table.append(
            "    {" + ",\n     ".join(literal(s) for s in strings) + f",\n     {safe}, mistakes::"
            f"{m.name.replace('-', '_')}::run, [] {{ return {right}; }}}},"
        )
    text += ["}  // namespace mistakes", "#pragma nv_diagnostic pop", "", "const gen5::harness::Mistake kMistakes[] = {", *table, "};"]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    try:
        made = make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve())
    except Error as error:
        sys.exit(f"{error}")
    pathlib.Path(sys.argv[3]).write_text(made)
