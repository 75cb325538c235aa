"""What the wrappers of common/ptx/ stand for, and which chapter uses an instruction first.

instructions.py CHAPTER GEN5 OUT.cpp writes what is new in a chapter for common/harness/new_instructions.h.
"""
import functools
import pathlib
import re
import subprocess
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parent.parent

# Wrappers that macros make: a pattern of their names, and the instruction.
MADE = (
    (re.compile(r"tcgen05_(ld|st)_(\d+x\d+b(?:x2)?)(_pack16b|_unpack16b)?$"), lambda m: f"tcgen05.{m[1]}.sync.aligned.{m[2]}.xN{(m[3] or '').replace('_', '.::').replace('.::', '.')}.b32"),
    (re.compile(r"tcgen05_cp$"), lambda m: "tcgen05.cp.cta_group::1.SHAPE [address], source;"),
    (re.compile(r"tcgen05_mma_ws_f16$"), lambda m: "tcgen05.mma.ws.cta_group::1.kind::f16.collector::bN::… [d], a, b, idesc, p, zero_columns;"),
    (re.compile(r"wgmma_m64k16$"), lambda m: "wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16 {d…}, a, b, p, 1, 1, 0, 0;"),
    (re.compile(r"wgmma_m64k32$"), lambda m: "wgmma.mma_async.sync.aligned.m64nNk32.f32.e4m3.e4m3 {d…}, a, b, p, 1, 1;"),
)


# What chapters write as assembly themselves.
SAYS = {
    "st.shared::cluster": "Stores to any CTA of the cluster, at an address made by mapa.",
    "fence.proxy.tensormap": "Behind a change of a tensor map in global memory: whoever acquires it with fence.proxy.tensormap::generic.acquire sees the change.",
    "red.release": "Adds to a counter in global memory, and releases this thread's earlier accesses to whoever acquires the sum.",
}


class Wrapper:
    def __init__(self, name, header, ptx, says):
        self.name, self.header, self.ptx, self.says = name, header, ptx, says
        self.arguments = {}  # by PTX: what stands for %0, %1 …

    @property
    def families(self):
        return [family_of(p) for p in self.ptx]


def family_of(ptx):
    """The instruction's name as `gen5 isa` has it: its words before the first qualifier."""
    words = re.sub(r"^@!?\S+\s+", "", ptx.strip()).split()[0].rstrip(";").split(".")
    qualifiers = re.compile(r"(cta_group::.*|kind::.*|shared.*|global|sync|async|\dd|aligned|release|acquire|relaxed|u32|u64|b32|b64|b128|x\d+|down|inval|gpu|to|rn|cluster|\d+x\d+b.*|SHAPE|m64.*|read|all|pred|v4|inc|dec)$")
    kept = []
    for i, word in enumerate(words):
        if i and qualifiers.fullmatch(word) and not (kept == ["cp"] and word == "async") and not (kept == ["st"] and word == "async") and not (kept == ["cp", "reduce"] and word == "async") and not (kept == ["barrier"] and word == "cluster") and not (kept == ["elect"] and word == "sync") and not (kept == ["mbarrier"] and word == "inval") and not (kept[:1] == ["bar"] and word == "sync"):
            break
        kept.append(word)
    return ".".join(kept)


def form_of(ptx):
    """The family, and what makes a form of it worth a line of its own: where a copy goes and how, the kind of a product and where its A is."""
    words = re.sub(r"^@!?\S+\s+", "", ptx.strip()).split()[0].rstrip(";").split(".")
    family, told = family_of(ptx), []
    if family.startswith("cp."):
        told += [w for w in words if w in ("global", "shared::cta", "shared::cluster")][:1]
        told += [w for w in words if w in ("im2col", "tile::gather4", "multicast::cluster", "read", "add")]
    if family.startswith("tcgen05.mma"):
        told += [w for w in words if w.startswith(("kind::", "block_scale"))]
        told += ["a"] * bool(re.search(r"\], \[", ptx)) + ["mask"] * ("{" in ptx)
    if family.startswith(("mbarrier.arrive", "tcgen05.commit")):
        told += [w for w in words if w == "multicast::cluster"] + ["remote"] * ("mbarrier" in family and "shared::cluster" in words)
    return (family, *told)


def wrappers():
    """All of them, by name."""
    found = {}
    for header in sorted((root / "common" / "ptx").glob("*.h")):
        text = header.read_text()
        for match in re.finditer(r"((?:^///.*\n)*)(?:^template <[^\n]*>\n)?^GEN5_PTX [\w:]+ (\w+)\(", text, re.M):
            end = text.find("\n}\n", match.end())
            one_line = text.find("}\n", match.end())
            line_end = text.find("\n", match.end())
            body = text[match.end() : (line_end if text[match.end() : line_end].rstrip().endswith("}") else end)]
            ptx, arguments = [], {}
            for asm in re.finditer(r"asm volatile\(\s*((?:GEN5_\w+\(\s*(?:\"%\d+\",\s*)?)?\s*(?:\"[^\"]*\"\s*\)?\s*)+)", body):
                parts = re.findall(r'"([^"]*)"', asm[1])
                joined = "".join(p for p in parts if not re.fullmatch(r"%\d+", p)).replace("\\n\\t", "\n").strip("{}\n")
                for line in joined.split("\n"):
                    line = line.strip()
                    if re.match(r"(@\S+ )?[a-z][a-z0-9_.:]+[. ]", line) and not line.startswith(("selp", "setp", "mov.u32 %1", "mov.u32 %2", "mov.u32 %3", ".reg")):
                        ptx.append(line)
                        arguments[line] = re.findall(r'"[=+&]*\w"\(([^()]*)\)', body[asm.end() :].split(";")[0])
            for pattern, make in MADE:
                if not ptx and (made := pattern.match(match[2])):
                    ptx.append(make(made))
            says = " ".join(line[3:].strip() for line in match[1].splitlines()).replace("kCtaGroup 2", ".cta_group::2")
            name = match[2]
            if name in found:
                found[name].ptx += [p for p in ptx if p not in found[name].ptx]
            else:
                found[name] = Wrapper(name, header.relative_to(root), ptx, says)
            found[name].arguments |= arguments
    for direction in ("ld", "st"):
        for shape in ("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"):
            name = f"tcgen05_{direction}_{shape}"
            registers, further = "{%0, %1, %2, %3}", ", 4" if shape == "16x32bx2" else ""
            operands = f"{registers}, [%4]{further}" if direction == "ld" else f"[%4]{further}, {registers}"
            says = "Each thread of a warp " + ("gets registers from" if direction == "ld" else "puts registers into") + " the warp's own 32 lanes; .x1 to .x128 says how many columns, here .x4."
            found[name] = Wrapper(name, pathlib.Path("common/ptx/tcgen05_ld_st.h"), [f"tcgen05.{direction}.sync.aligned.{shape}.x4.b32 {operands};"], says)
    for name, wrapper in {"mbarrier_wait_parity": "mbarrier_try_wait_parity"}.items():
        if name in found and not found[name].ptx:
            found[name].ptx, found[name].arguments = list(found[wrapper].ptx), found[wrapper].arguments
    return found


def reading_order():
    """Chapters as notes/start_here.md tells to read them."""
    text = (root / "notes" / "start_here.md").read_text()
    part = text[text.index("## The order to read in") :]
    order = []
    for number in re.findall(r"\]\((\d\d)_\w+\.md\)", part):
        order += [number] if number not in order else []
    return order


def sources_of(folder):
    """A chapter's sources, its main first."""
    files = [f for f in sorted(folder.iterdir()) if f.suffix in (".cu", ".cuh")]
    return sorted(files, key=lambda f: (f.name != "main.cu", f.suffix != ".cuh" and f.name != "main.cu", f.name))


def uses(path, known):
    """(line number, wrapper or instruction) of each use in a source, in order."""
    out = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = line.split("//")[0]
        for name in re.findall(r"\b([a-z]\w+)(?:<[^;()]*>)?\(", code):
            if name in known:
                out.append((number, known[name].name, known[name].ptx))
        for asm in re.findall(r'asm volatile\("([a-z][\w.:]+[^"]*)', code):
            out.append((number, re.split("[ ;]", asm)[0], [asm]))
    return out


OVERVIEW = "00"  # uses what the others teach


def unseen(ptx, seen):
    """Those whose form is not in `seen`; there they are from now on."""
    fresh = []
    for p in ptx:
        if form_of(p) not in seen:
            seen.add(form_of(p))
            fresh.append(p)
    return fresh


def first_uses(without=()):
    """For each chapter in reading order: [(path, line, name, ptx)] of instructions, or forms of them, that no chapter before it uses."""
    known, seen, out = wrappers(), set(), []
    for number in (n for n in reading_order() if n not in without):
        for folder in sorted((root / "chapters").glob(f"{number}_*")):
            new = []
            for path in sources_of(folder):
                for line, name, ptx in uses(path, known):
                    if fresh := unseen(ptx, seen):
                        new.append((path, line, name, fresh))
            out.append((folder.name, new))
    return out


def named(ptx):
    """With names for inline assembly's %0, %1 …, and without what stands for a list."""
    order = list(dict.fromkeys(re.findall(r"(?<!%)%\d+", ptx)))
    return re.sub(r"(?<!%)%\d+", lambda m: "abcdefghijklmnopqrstuvwxyz"[order.index(m[0]) % 26], ptx).replace("%%", "%").rstrip(";") + ";"


@functools.lru_cache(None)
def literals_of(gen5, ptx):
    """{register: name} of operands that `gen5 explain` wants to be a literal."""
    said = subprocess.run([gen5, "explain", ptx], capture_output=True, text=True).stdout
    return {register: name for name, register in re.findall(r"error: (\w+) of \S+ is register (\w+) of type \S+\n +help: it must be a literal", said)}


def split_operands(text):
    """Operands of an instruction: what commas outside of brackets part."""
    out, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            out.append("")
        else:
            out[-1] += letter
    return [o.strip() for o in out]


def written(gen5, ptx):
    """The instruction with its operands' names, as `gen5 explain` has them, for %0, %1 …"""
    text = named(ptx)
    words = text.rstrip(";").split(" ", 1)
    names = [line.split(":")[0] for line in operands_of(gen5, text) if re.match(r"\w+: ", line)]
    if not names:  # what must be a literal is named where its register is found fault with
        return re.sub(r"\b[a-z]\b(?!\.)", lambda m: literals_of(gen5, text).get(m[0], m[0]), text)
    if text.startswith("@") or len(words) == 1 or len(names) != len(split_operands(words[1])):
        return text
    out = []
    for operand, name in zip(split_operands(words[1]), names):
        if match := re.fullmatch(r"\[\w+, \{(.*)\}(, .*)?\]", operand):
            out.append(f"[{name}, {{{', '.join('xyzwv'[: match[1].count(',') + 1])}}}{', …' if match[2] else ''}]")
        elif match := re.fullmatch(r"\{(.*)\}", operand):
            out.append(f"{{{name}0 … {name}{match[1].count(',')}}}")
        elif re.fullmatch(r"\[[a-z]\]", operand):
            out.append(f"[{name}]")
        else:
            out.append(name if re.fullmatch(r"[a-z]", operand) else operand)
    return f"{words[0]} {', '.join(out)};"


def says_of(gen5, wrapper, ptx):
    """What the wrapper's comment says, with the names of the instruction's operands for those of the wrapper's parameters."""
    bare, shown = (t.rstrip(";").split(" ", 1) for t in (ptx, written(gen5, ptx)))
    names = {}
    if len(bare) == 2 and len(shown) == 2:
        for before, after in zip(split_operands(bare[1]), split_operands(shown[1])):
            place = re.fullmatch(r"\[?%(\d+)\]?", before)
            if place and int(place[1]) < len(wrapper.arguments.get(ptx, ())):
                names[wrapper.arguments[ptx][int(place[1])]] = after.strip("[]")
    return re.sub(r"`(\w+)`", lambda m: f"`{names.get(m[1], m[1])}`", wrapper.says)


@functools.lru_cache(None)
def operands_of(gen5, ptx):
    """The lines about operands that `gen5 explain` prints; it may find fault with the types of names that nobody has declared."""
    done = subprocess.run([gen5, "explain", ptx], capture_output=True, text=True)
    lines, inside = [], False
    for line in done.stdout.splitlines():
        inside = line.startswith("  operands") or (inside and line.startswith(" " * 13))
        if inside:
            lines.append(line[13:].strip())
    return lines


def as_taught(chapter, pairs):
    """(wrapper, PTX) in the order in which the chapter's note names them; what it does not name comes last."""
    note = root / "notes" / f"{chapter}.md"
    text = note.read_text() if note.exists() else ""

    def place(pair):
        found = re.search(rf"(?<![\w.]){re.escape(family_of(pair[1]))}(?!\w)", text)
        return found.start() if found else len(text)

    return sorted(pairs, key=place)


def write_new(chapter, gen5, out):
    """A function for common/harness/new_instructions.h. The chapter that is an overview teaches none."""
    known, rows = wrappers(), []
    for name, new in first_uses(without=(OVERVIEW,)):
        for wrapper, text in as_taught(chapter, [(w, p) for _, _, w, ptx in new for p in ptx]) if name == chapter else []:
            says = says_of(gen5, known[wrapper], text) if wrapper in known else next(told for begin, told in SAYS.items() if text.startswith(begin))
            says = textwrap.fill(says, 92, subsequent_indent=" " * 6)
            operands = "".join(textwrap.fill(o, 92, initial_indent=" " * 8, subsequent_indent=" " * 10) + "\n" for o in operands_of(gen5, named(text)))
            rows.append("    {" + ", ".join(f'R"gen5({t})gen5"' for t in (written(gen5, text), says, operands)) + "},\n")
    body = "".join(rows)
    table = f"constexpr NewInstruction kNew[] = {{\n{body}}};\n" if rows else ""
    made = "return kNew;" if rows else "return {};"
    pathlib.Path(out).write_text(
        '// Made by book/instructions.py.\n#include "common/harness/new_instructions.h"\n\nnamespace gen5::harness {\n'
        f"namespace {{\n{table}}}  // namespace\nstd::span<const NewInstruction> new_instructions() {{ {made} }}\n}}  // namespace gen5::harness\n"
    )


if __name__ == "__main__":
    write_new(*sys.argv[1:])
