"""Makes the front ends run on tinygpu: their settings, and what has to be changed in them when they are imported."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
import typing

from gen5 import _library


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function before a module is imported, and one with the module when it has been; that at once if it is there."""

    def __init__(self, before: dict[str, typing.Callable[[], None]], changes: dict[str, typing.Callable[[typing.Any], None]]):
        self._before, self._changes = before, changes
        for name in list(changes):
            if name in sys.modules:
                changes.pop(name)(sys.modules[name])

    def find_spec(self, name: str, path: typing.Any = None, target: typing.Any = None) -> typing.Any:
        if before := self._before.pop(name, None):
            before()
        change = self._changes.pop(name, None)
        if change is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: typing.Any) -> None:
            run(module)
            change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_installed = False


def install() -> None:
    """Once. What is not installed, or never imported, costs nothing."""
    global _installed
    if _installed:
        return
    _installed = True
    ptxas = str(_library.ptxas())
    os.environ["TRITON_PTXAS_PATH"] = os.environ["TRITON_PTXAS_BLACKWELL_PATH"] = ptxas
    os.environ["TRITON_LIBCUDA_PATH"] = str(_library.folder())
    from gen5 import _cupy, _cute, _numba, _torch, _triton
    sys.meta_path.insert(0, _AfterImport({**_cute.BEFORE, **_cupy.BEFORE},
                                        {**_triton.CHANGES, **_cute.CHANGES, **_numba.CHANGES, **_torch.CHANGES, **_cupy.CHANGES}))
