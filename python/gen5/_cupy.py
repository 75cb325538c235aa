"""Changes to CuPy. Its wheels link NVIDIA's CUDA runtime statically: when the module that contains this runtime is imported, tinygpu's
functions replace the runtime's. CuPy compiles with NVRTC to machine code; a setting makes it compile to PTX."""

from __future__ import annotations

import ctypes
import os
import typing

from gen5 import _library


def stand_in(path: str) -> None:
    """Replaces the functions of the CUDA runtime that is linked into this library of the process."""
    call = _library.load()[0].tinygpu_stand_in
    call.restype = ctypes.c_char_p
    if why := call(os.fsencode(path)):
        raise ImportError(f"{path} cannot run on tinygpu: {why.decode()}")


def _prepare() -> None:
    os.environ["CUPY_COMPILE_WITH_PTX"] = "1"


def _change_runtime(module: typing.Any) -> None:
    stand_in(module.__file__)


BEFORE = {"cupy": _prepare}
CHANGES = {"cupy_backends.cuda.api.runtime": _change_runtime}
