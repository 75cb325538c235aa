"""Makes the front ends run on tinygpu: their settings, and the changes that their import needs."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
import typing

from gen5 import _library


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls one function before the import of a module, and one with the module after it; the second at once if the module is loaded
    already."""

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
    """Installs the hooks, once. A front end that is not installed, or never imported, costs nothing."""
    global _installed
    if _installed:
        return
    _installed = True
    ptxas = str(_library.ptxas())
    os.environ["TRITON_PTXAS_PATH"] = os.environ["TRITON_PTXAS_BLACKWELL_PATH"] = ptxas
    os.environ["TRITON_LIBCUDA_PATH"] = str(_library.folder())
    tools = _library.PACKAGE / "bin" / "path"
    if str(tools) not in os.environ.get("PATH", "").split(os.pathsep):  # a child has it already
        os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ["PYTORCH_NVCC"] = str(tools / "nvcc")
    # Inductor: no processes that compile, each of which would import torch; and launches by Triton's launcher, which says what tinygpu says.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ.setdefault("TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER", "0")
    # And candidates measured by Triton's do_bench, which _triton.py changes: Inductor's own way runs each up to 106 times, and zeroes a tensor
    # of L2's size before most of them and 100 times more, which here is the CPU's work and does not empty the machine's L2.
    os.environ.setdefault("TORCHINDUCTOR_USE_EXPERIMENTAL_BENCHMARKER", "0")
    from gen5 import _cupy, _cute, _helion, _numba, _pycuda, _tilelang, _torch, _triton, _warp
    sys.meta_path.insert(0, _AfterImport({**_cute.BEFORE, **_cupy.BEFORE, **_tilelang.BEFORE, **_helion.BEFORE},
                                        {**_triton.CHANGES, **_cute.CHANGES, **_numba.CHANGES, **_torch.CHANGES, **_cupy.CHANGES, **_pycuda.CHANGES, **_helion.CHANGES,
                                         **_tilelang.CHANGES, **_warp.CHANGES}))
