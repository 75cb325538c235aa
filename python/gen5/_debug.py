"""gen5.debug(): the script starts again under `gen5 debug`."""

from __future__ import annotations

import os
import sys

from gen5 import _library


def debug(*commands: str, machine: str | None = None, order: str | None = None) -> None:
    """Debugs the kernels of this script: the process becomes `gen5 debug` with the script's command line, which starts it again and
    stops before its first launch. There, in the debugger, this call does nothing. `commands` are the prompt's and run first
    ("diagnosis" goes to the first thing that tinygpu reports); `order` is the order of completion: timed, late.
    Call it before kernels are launched: what the script has done so far, it does again.
    """
    if os.environ.get("GEN5_DEBUG_SOCKET"):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    program = str(_library.program())
    options = [o for name, value in (("--machine", machine), ("--order", order)) if value for o in (name, value)]
    for command in commands:
        options += ["-x", command]
    os.execv(program, [program, "debug", *options, sys.executable, *sys.orig_argv[1:]])
