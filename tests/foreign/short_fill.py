"""PTX of programs that fill their operands by curand, without each thread's way to its place in the sequence.

CUTLASS's tools give each thread a subsequence of its own. To get there it multiplies with matrices of 160 × 160 bits, which takes nine
tenths of such a program's time on tinygpu. Here a thread's number is mixed into the seed instead: other random numbers, and right ones,
since these programs compare with a reference of the same operands.
"""

import re

# curand_init for XORWOW: the state's last word, and later the branch around the way of subsequence 0.
STATE = re.compile(r"^(?P<indent>\s*)add\.s32 (?P<word>%r\d+), %r\d+, 5783321;$", re.M)
BRANCH = re.compile(r"setp\.eq\.s(?P<bits>32|64) (?P<p>%p\d+), (?P<number>%rd?\d+), 0;\s*@(?P=p) bra (?P<label>\S+);")
NEAR = 1500  # characters between them


def shorten(text):
    """The PTX without those ways, and how many there were."""
    out, at, ways = [], 0, 0
    for state in STATE.finditer(text):
        branch = BRANCH.search(text, state.end(), state.end() + NEAR)
        if not branch:
            continue
        number = branch["number"]
        narrow = f"cvt.u32.u64 %way, {number};" if branch["bits"] == "64" else f"mov.u32 %way, {number};"
        mix = f"{{ .reg .b32 %way; {narrow} mad.lo.s32 {state['word']}, %way, -1640531535, {state['word']}; }}"
        out += [text[at:state.end()], " ", mix, text[state.end():branch.start()], f"bra.uni {branch['label']};"]
        at = branch.end()
        ways += 1
    return "".join(out) + text[at:], ways
