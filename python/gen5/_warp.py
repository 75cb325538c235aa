"""Refuses NVIDIA Warp's GPU device; its CPU device works. Warp's library contains NVIDIA's CUDA runtime without its functions' names, so
tinygpu's functions cannot replace them. That runtime's interface to the driver is not public."""

from __future__ import annotations

import typing


def _change_context(module: typing.Any) -> None:
    find, begin = module.Runtime.get_device, module.Runtime.__init__

    def get_device(self: typing.Any, ident: typing.Any = None) -> typing.Any:
        device = find(self, ident)
        if device.is_cuda and module.runtime is not None:  # it has begun
            raise NotImplementedError("warp cannot use the GPU on tinygpu: warp.so has NVIDIA's CUDA runtime in it, without the names by which tinygpu takes "
                                      "its place; device='cpu' works")
        return device

    def on_cpu(self: typing.Any) -> None:
        begin(self)
        self.set_default_device("cpu")

    module.Runtime.get_device, module.Runtime.__init__ = get_device, on_cpu


CHANGES = {"warp._src.context": _change_context}
