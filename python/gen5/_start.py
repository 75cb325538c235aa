"""Reads GEN5_MACHINE: gen5.pth imports this module at the start of every Python process. If the variable is set, the process runs its
kernels on tinygpu."""

from __future__ import annotations

import os
import pathlib
import sys


def _has_another() -> bool:
    """Whether another program sets the machine up: `gen5 run`, whose libraries come first, or `python -m gen5` with its options."""
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    arguments = sys.orig_argv[1:]
    return any(folder and (pathlib.Path(folder) / "libtinygpu.so").exists() for folder in libraries) or ("-m", "gen5") in zip(arguments, arguments[1:])


def _start() -> None:
    import gen5
    try:
        gen5.install()
    except (ImportError, ValueError) as why:  # within site.py an exception would be two tracebacks
        sys.stderr.write(f"gen5: GEN5_MACHINE={os.environ['GEN5_MACHINE']}: {why}\n")
        sys.stderr.flush()
        os._exit(2)


if not _has_another():
    _start()
