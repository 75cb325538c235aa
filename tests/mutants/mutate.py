"""Mutants of PTX: one thing dropped or altered in one instruction, the number of lines unchanged."""

import dataclasses
import re

# One statement: an optional label, an optional guard, the opcode with its modifiers, the operands.
STATEMENT = re.compile(r"^(?P<head>\s*(?:\{\s*)?(?:[\w$%]+:\s*)?)(?P<guard>@!?[%\w$]+\s+)?(?P<op>[a-z][\w.:]*)(?P<rest>\s[^;]*)?;(?P<tail>.*)$")
ENTRY = re.compile(r"\.(?:visible|weak|extern)?\s*\.?(?:entry|func)\b.*?([\w$]+)\s*\($")


@dataclasses.dataclass
class Mutant:
    kind: str  # "drop: tcgen05.fence::before_thread_sync"
    kernel: str
    line: int  # of the PTX, from 1 on
    before: str
    after: str
    copies: list = dataclasses.field(default_factory=list)  # what a compiler has made of the same line: changed with it

    def apply(self, text):
        lines = text.split("\n")
        for m in (self, *self.copies):
            assert lines[m.line - 1] == m.before
            lines[m.line - 1] = m.after
        return "\n".join(lines)

    def trapped(self):
        """The same places, each a trap."""
        return dataclasses.replace(self, after="trap;", copies=[m.trapped() for m in self.copies])


# What goes away: opcodes by how they begin, and what the table calls them.
DROPPED = [
    (r"fence\.proxy\.async", "fence.proxy.async"),
    (r"fence\.proxy\.tensormap", "fence.proxy.tensormap"),
    (r"fence\.mbarrier_init", "fence.mbarrier_init"),
    (r"fence\.(acq_rel|sc|acquire|release)|membar|fence\.sync_restrict", "fence"),
    (r"tcgen05\.fence::before", "tcgen05.fence::before_thread_sync"),
    (r"tcgen05\.fence::after", "tcgen05.fence::after_thread_sync"),
    (r"tcgen05\.wait::ld", "tcgen05.wait::ld"),
    (r"tcgen05\.wait::st", "tcgen05.wait::st"),
    (r"tcgen05\.commit", "tcgen05.commit"),
    (r"tcgen05\.dealloc", "tcgen05.dealloc"),
    (r"(bar|barrier)(\.cta)?\.(sync|arrive|red)", "bar.sync"),
    (r"bar\.warp\.sync", "bar.warp.sync"),
    (r"barrier\.cluster\.arrive", "barrier.cluster.arrive"),
    (r"barrier\.cluster\.wait", "barrier.cluster.wait"),
    (r"mbarrier\.arrive\.expect_tx|mbarrier\.expect_tx", "mbarrier expect_tx"),
    (r"mbarrier\.arrive", "mbarrier.arrive"),
    (r"mbarrier\.init", "mbarrier.init"),
    (r"cp\.async\.mbarrier\.arrive", "cp.async.mbarrier.arrive"),
    (r"cp\.async\.bulk\.commit_group|cp\.async\.commit_group", "commit_group"),
    (r"cp\.async\.bulk\.wait_group|cp\.async\.wait", "wait_group"),
    (r"cp\.async\.bulk\.tensor.*shared::cluster\.global|cp\.async\.bulk\.shared::cluster\.global", "bulk load"),
    (r"griddepcontrol\.wait", "griddepcontrol.wait"),
    (r"wgmma\.fence", "wgmma.fence"),
    (r"wgmma\.commit_group", "wgmma.commit_group"),
    (r"wgmma\.wait_group", "wgmma.wait_group"),
    (r"setmaxnreg", "setmaxnreg"),
]


def split_operands(rest):
    out, depth, current = [], 0, ""
    for c in rest.strip():
        if c in "[{(":
            depth += 1
        elif c in "]})":
            depth -= 1
        if c == "," and depth == 0:
            out.append(current.strip())
            current = ""
        else:
            current += c
    return out + [current.strip()] if current.strip() else out


def with_changed(m, index, kind, how):
    """The statement with operand `index`, a register or a number, replaced by `how` (PTX that makes %mutant of %was)."""
    operands = split_operands(m["rest"] or "")
    operand = operands[index]
    operands[index] = "%mutant"
    prefix = {"b64": ".reg .b64 %mutant; ", "b32": ".reg .b32 %mutant; ", "b16": ".reg .b16 %mutant; "}[kind]
    return f'{m["head"]}{{ {prefix}{how.replace("%was", operand)} {m["guard"] or ""}{m["op"]} {", ".join(operands)}; }}{m["tail"]}'


def changes(m):
    """(kind, new line) for everything that one statement can have wrong."""
    op, rest = m["op"], m["rest"] or ""
    operands = split_operands(rest)
    line = lambda new_op, new_rest=rest: f'{m["head"]}{m["guard"] or ""}{new_op}{new_rest};{m["tail"]}'
    for pattern, name in DROPPED:
        if re.match(pattern, op):
            yield f"drop: {name}", f'{m["head"]}{m["tail"]}'
            break
    if re.match(r"mbarrier\.(try_wait|test_wait)", op):
        yield "drop: mbarrier wait", f'{m["head"]}setp.eq.u32 {operands[0]}, 0, 0;{m["tail"]}'
        if ".parity" in op:
            index = 2
            yield "alter: parity", with_changed(m, index, "b32", "xor.b32 %mutant, %was, 1;")
    if re.match(r"mbarrier\.init", op):
        yield "alter: count + 1", with_changed(m, 1, "b32", "add.u32 %mutant, %was, 1;")
        yield "alter: count - 1", with_changed(m, 1, "b32", "sub.u32 %mutant, %was, 1;")
    if "expect_tx" in op and op.startswith("mbarrier"):
        yield "alter: bytes + 16", with_changed(m, len(operands) - 1, "b32", "add.u32 %mutant, %was, 16;")
        yield "alter: bytes - 16", with_changed(m, len(operands) - 1, "b32", "sub.u32 %mutant, %was, 16;")
    sync = re.match(r"mbarrier|barrier\.cluster|fence|ld\.|st\.|atom|red\.|tcgen05\.commit", op)
    if sync and (".release" in op or ".acquire" in op) and "fence.proxy" not in op and "mbarrier_init" not in op:
        relaxed = re.sub(r"\.(release|acquire)\b", ".relaxed", op)
        if not op.startswith("fence") and relaxed != "barrier.cluster.wait.relaxed":
            yield "alter: .relaxed", line(relaxed)
    elif re.match(r"barrier\.cluster\.arrive(\.aligned)?$", op):
        yield "alter: .relaxed", line(op.replace("arrive", "arrive.relaxed"))
    elif re.match(r"mbarrier\.(arrive|try_wait|test_wait)\b", op) and ".relaxed" not in op:
        scoped = re.sub(r"^(mbarrier\.(?:arrive_drop|arrive|try_wait|test_wait)(?:\.expect_tx|\.parity|\.noComplete)*)", r"\1.relaxed.cta", op)
        yield "alter: .relaxed", line(scoped)
    if sync and re.search(r"\.(cluster|gpu|sys)\b(?!\.)", re.sub(r"shared::cluster|multicast::cluster|barrier\.cluster", "", op)) or re.search(
            r"\.(acquire|release|acq_rel|relaxed|sc)\.(cluster|gpu|sys)", op):
        narrow = re.sub(r"(\.(?:acquire|release|acq_rel|relaxed|sc))\.(cluster|gpu|sys)", r"\1.cta", op)
        if narrow != op and "mbarrier_init" not in op:
            yield "alter: scope", line(narrow)
    if re.match(r"fence\.proxy\.async", op):
        yield "alter: proxy", line("fence.proxy.async.global" if "global" not in op else "fence.proxy.async.shared::cta")
    if re.match(r"cp\.async\.bulk\.wait_group", op):
        yield "alter: group + 1", line(op, f" {int(operands[0]) + 1}")
        if ".read" not in op:
            yield "alter: .read", line(op + ".read")
    if re.match(r"cp\.async\.wait_group|wgmma\.wait_group", op) and operands[0].isdigit():
        yield "alter: group + 1", line(op, f" {int(operands[0]) + 1}")
    if "multicast::cluster" in op and (op.startswith("tcgen05.commit") or op.startswith("cp.async.bulk")):
        index = 1 if op.startswith("tcgen05") else 3
        if index < len(operands) and "cache_hint" not in op:
            yield "alter: mask", with_changed(m, index, "b16", "xor.b16 %mutant, %was, 1;")
        yield "alter: mask + a CTA that is not there", with_changed(m, index, "b16", "or.b16 %mutant, %was, 0x8000;") if index < len(operands) else line(op)
    if re.match(r"tcgen05\.mma", op) and ".ws" not in op and not operands[1].startswith("["):
        for name, bits in (("start address", 1), ("leading offset", 1 << 16), ("stride offset", 1 << 32), ("swizzle", 1 << 61)):
            yield f"alter: descriptor, {name}", with_changed(m, 1, "b64", f"xor.b64 %mutant, %was, {bits};")
        yield "alter: descriptor, start address of B", with_changed(m, 2, "b64", "xor.b64 %mutant, %was, 1;")
        yield "alter: instruction descriptor, N", with_changed(m, 3, "b32", f"xor.b32 %mutant, %was, {1 << 18};")
    if re.match(r"tcgen05\.alloc", op):
        yield "alter: columns / 2", with_changed(m, 1, "b32", "shr.u32 %mutant, %was, 1;")
    if re.match(r"tcgen05\.(mma|commit|cp)\b", op) and "cta_group::2" in op:
        yield "alter: cta_group", line(op.replace("cta_group::2", "cta_group::1"))


def mutants(text, kernels=None):
    """Every mutant of the entries named in `kernels` (all, if None)."""
    kernel, depth = None, 0
    for number, line in enumerate(text.split("\n"), 1):
        code = line.split("//")[0] if "begin inline asm" not in line else ""
        if ".entry" in code:
            kernel = re.search(r"\.entry\s+([\w$]+)", code).group(1)
        elif ".func" in code:
            kernel = None
        if kernel is None or (kernels is not None and kernel not in kernels):
            continue
        m = STATEMENT.match(code)
        if not m:
            continue
        for kind, after in changes(m):
            if after != line:
                yield Mutant(kind, kernel, number, line, after)
