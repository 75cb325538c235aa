"""The parts of an SM that the notes are about, and the ways between them."""
from .svg import COLOURS, EMPTY, Svg


def sm(_):
    svg = Svg("One SM: threads, shared memory, TMA, the tensor core and Tensor Memory, and how data goes between them")
    svg.text(4, 12, "one SM of a B200")
    svg.frame(4, 18, 392, 226)
    svg.box(14, 28, 206, 34, COLOURS[0], "threads, registers 256 KiB", True)
    svg.box(290, 28, 98, 34, COLOURS[2], "Tensor Memory", True)
    svg.box(14, 106, 206, 66, EMPTY)
    svg.text(20, 120, "shared memory, 228 KiB", "on small")
    for i, name in enumerate(("A", "B")):
        svg.box(20 + 44 * i, 128, 40, 36, COLOURS[4], name)
    svg.box(120, 128, 94, 36, COLOURS[5], "mbarriers", True)
    svg.box(290, 106, 98, 66, COLOURS[3], "tensor core", True)
    svg.box(14, 206, 206, 28, COLOURS[1], "TMA", True)
    svg.box(14, 272, 374, 24, EMPTY, "L2 and device memory", True)
    svg.way(40, 62, 40, 106, both=True)
    svg.text(46, 80, "ld, st:", "small")
    svg.text(46, 92, "generic proxy", "small")
    svg.way(168, 62, 168, 128)
    svg.text(174, 80, "arrive,", "small")
    svg.text(174, 92, "wait", "small")
    svg.way(220, 45, 290, 45, both=True)
    svg.text(255, 40, "ld, st", "small", "middle")
    svg.text(255, 57, "tcgen05", "small", "middle")
    svg.way(339, 106, 339, 62, both=True)
    svg.text(345, 88, "sums", "small")
    svg.way(220, 122, 290, 122)
    svg.text(255, 117, "operands", "small", "middle")
    svg.way(290, 150, 214, 150)
    svg.text(255, 164, '"done"', "small", "middle")
    svg.way(40, 172, 40, 206, both=True)
    svg.text(46, 192, "boxes", "small")
    svg.way(168, 206, 168, 164)
    svg.text(174, 192, '"bytes are in"', "small")
    svg.text(290, 226, "async proxy:", "small")
    svg.text(290, 238, "TMA, tensor core", "small")
    svg.way(40, 234, 40, 272, both=True)
    return svg


ALL = {"sm": sm}
