"""The notes' figures: SVG, drawn from what programs of this repo print when they run on tinygpu.

A figure is a function in one of the files here that takes `printed(program, arguments…)` and returns an Svg. scripts/figures
writes all of them to notes/figures, or checks that those are still what would be drawn.
"""
from . import debugging, ladder, layouts, machine, search, tensor_memory, timelines

ALL = {**machine.ALL, **layouts.ALL, **tensor_memory.ALL, **timelines.ALL, **ladder.ALL, **search.ALL, **debugging.ALL}
