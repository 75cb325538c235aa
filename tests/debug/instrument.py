"""PTX of kernels, changed so that one CTA prints what it reads: words of registers, shared memory, global memory and Tensor Memory."""
import re
from typing import NamedTuple

# A CTA's threads print: the number of the site, the thread's number in the CTA, the word.
FORMAT = b"gen5 %u %u %u\n\0"
DECLARED = ".extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);"
WORD = r"%(?:r|f)\d+"


class Site(NamedTuple):
    """A line of the PTX, from 1 on, and what is read there: `kind` is registers, shared, global or tmem. `register` has the word, `address` is the
    register that has the address, and `offset` is added to it."""

    line: int
    kind: str
    register: str
    address: str = ""
    offset: int = 0
    known_behind: int = 0  # the line behind which the register has the word; 0: before its own


def bodies(lines):
    """(name, line of the brace that opens its body, line of the one that closes it), from 0 on, of each kernel."""
    out = []
    for start, line in enumerate(lines):
        if found := re.search(r"\.entry\s+([\w$]+)", line):
            opened = next(k for k in range(start, len(lines)) if lines[k].strip() == "{")
            depth, closed = 1, opened
            while depth:
                closed += 1
                depth += lines[closed].count("{") - lines[closed].count("}")
            out.append((found[1], opened, closed))
    return out


def sites_in(lines, opened, closed):
    """All sites of a kernel."""
    found, depth, loads = [], 0, []
    for k in range(opened + 1, closed):
        text = lines[k].strip()
        inside, depth = depth, depth + text.count("{") - text.count("}")
        if inside or depth or not re.match(r"(@!?%p\d+ )?[a-z]", text) or not text.endswith(";"):
            continue  # scopes have registers of their own
        number = k + 1
        if m := re.match(rf"ld\.(shared|global)(?:\.v\d)?\.[ubsf]32\s+\{{?\s*({WORD})[^\[]*\[\s*(%rd?\d+)\s*(?:\+\s*(-?\d+)\s*)?\];", text):
            found.append(Site(number, m[1], m[2], m[3], int(m[4] or 0), number))
        elif m := re.match(rf"tcgen05\.ld\.sync\.aligned\.32x32b\.x\d+\.b32\s+\{{\s*({WORD})[^\[]*\[\s*({WORD})\s*\];", text):
            loads.append(Site(number, "tmem", m[1], m[2]))
        elif loads and text.startswith("tcgen05.wait::ld"):
            found.append(loads[-1]._replace(known_behind=number))
            loads = []
        operands = re.sub(r"^(@!?%p\d+\s+)?\S+", "", text).strip()
        read = operands if operands.startswith("[") else re.sub(r"^(\{[^}]*\}|[^,]*)", "", operands)
        if registers := re.findall(WORD + r"\b", read):
            found.append(Site(number, "registers", registers[0]))
    return found


def prints(number, register, cta):
    """What the CTA's threads do at a site."""
    return f"""{{
.reg .pred gen5_p; .reg .b32 gen5_a, gen5_b, gen5_c, gen5_r; .reg .b64 gen5_s, gen5_f;
mov.u32 gen5_a, %ctaid.x; xor.b32 gen5_a, gen5_a, {cta[0]};
mov.u32 gen5_b, %ctaid.y; xor.b32 gen5_b, gen5_b, {cta[1]}; or.b32 gen5_a, gen5_a, gen5_b;
mov.u32 gen5_b, %ctaid.z; xor.b32 gen5_b, gen5_b, {cta[2]}; or.b32 gen5_a, gen5_a, gen5_b;
setp.ne.u32 gen5_p, gen5_a, 0;
@gen5_p bra gen5_skip_{number};
mov.u32 gen5_a, %tid.z; mov.u32 gen5_b, %ntid.y; mov.u32 gen5_c, %tid.y; mad.lo.u32 gen5_a, gen5_a, gen5_b, gen5_c;
mov.u32 gen5_b, %ntid.x; mov.u32 gen5_c, %tid.x; mad.lo.u32 gen5_a, gen5_a, gen5_b, gen5_c;
mov.b32 gen5_r, {register}; mov.u32 gen5_b, {number};
st.local.u32 [gen5_words], gen5_b; st.local.u32 [gen5_words+4], gen5_a; st.local.u32 [gen5_words+8], gen5_r;
mov.u64 gen5_s, gen5_words; cvta.local.u64 gen5_s, gen5_s; mov.u64 gen5_f, gen5_format; cvta.global.u64 gen5_f, gen5_f;
{{ .param .b64 p0; st.param.b64 [p0], gen5_f; .param .b64 p1; st.param.b64 [p1], gen5_s; .param .b32 r0; call (r0), vprintf, (p0, p1); }}
gen5_skip_{number}:
}}"""


def instrumented(lines, sites, cta):
    """The module's text in which the CTA prints at these sites: {number: site}."""
    before, behind = {}, {}
    for number, site in sites.items():
        (behind if site.known_behind else before).setdefault(site.known_behind or site.line, []).append(prints(number, site.register, cta))
    head = [] if any("vprintf" in line for line in lines) else [DECLARED]
    head.append(f".global .align 1 .b8 gen5_format[{len(FORMAT)}] = {{{', '.join(map(str, FORMAT))}}};")
    opened = {o for _, o, _ in bodies(lines)}
    out = []
    for k, line in enumerate(lines):
        out += [*before.get(k + 1, []), line, *behind.get(k + 1, [])]
        if k in opened:
            out.append(".local .align 8 .b8 gen5_words[16];")
        if line.startswith(".address_size"):
            out += head
    return "\n".join(out) + "\n"


def printed(output):
    """By (site, thread): its words in order."""
    words = {}
    for site, thread, word in re.findall(r"gen5 (\d+) (\d+) (\d+)$", output, re.M):
        words.setdefault((int(site), int(thread)), []).append(int(word))
    return words
