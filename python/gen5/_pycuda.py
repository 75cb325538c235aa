"""What PyCUDA needs here: SourceModule has nvcc make machine code; what it gets is PTX for the machine."""

from __future__ import annotations

import functools
import inspect
import typing


def _change_compiler(module: typing.Any) -> None:
    compile_source = module.compile
    signature = inspect.signature(compile_source)

    @functools.wraps(compile_source)
    def to_ptx(*arguments: typing.Any, **options: typing.Any) -> typing.Any:
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        asked = bound.arguments
        if asked["target"] in ("cubin", "fatbin"):
            asked["target"], asked["code"] = "ptx", None
            if asked["arch"] is None:
                import pycuda.driver
                # With the instructions of this machine alone, as tcgen05 is.
                asked["arch"] = "compute_{}{}a".format(*pycuda.driver.Context.get_device().compute_capability())
            else:
                asked["arch"] = asked["arch"].replace("sm_", "compute_")
        return compile_source(*bound.args, **bound.kwargs)

    module.compile = to_ptx


CHANGES = {"pycuda.compiler": _change_compiler}
