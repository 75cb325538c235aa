"""Changes to TileLang: it has nvcc make machine code; here nvcc makes PTX. TileLang gets a cache of its own, since it would take the PTX
for machine code and the reverse."""

from __future__ import annotations

import functools
import os
import pathlib
import typing


def _prepare() -> None:
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    os.environ.setdefault("TILELANG_CACHE_DIR", str(cache / "gen5" / "tilelang"))


def _change_nvcc(module: typing.Any) -> None:
    compile_cuda = module.compile_cuda

    @functools.wraps(compile_cuda)
    def to_ptx(code: str, target_format: str = "ptx", *arguments: typing.Any, **options: typing.Any) -> typing.Any:
        return compile_cuda(code, "ptx" if target_format in ("cubin", "fatbin") else target_format, *arguments, **options)

    module.compile_cuda = to_ptx


BEFORE = {"tilelang": _prepare}
CHANGES = {"tilelang.contrib.nvcc": _change_nvcc}
