"""Arrays in the machine's memory, which kernels and numpy reach at one address."""

from __future__ import annotations

import ctypes
import math
import typing
import weakref

import numpy as np

from gen5 import _library

Shape = typing.Union[int, typing.Sequence[int]]


def _dtype(of: object) -> np.dtype:
    """numpy's dtype; by name also those of ml_dtypes, if it is installed: bfloat16, float8_e4m3fn, float8_e5m2 …"""
    try:
        return np.dtype(of)  # type: ignore[call-overload]
    except TypeError:
        name = str(of).rsplit(".", 1)[-1]  # torch.bfloat16
        try:
            import ml_dtypes
            return np.dtype(getattr(ml_dtypes, name, None) or name)
        except ImportError:
            raise TypeError(f"numpy has no type {name}; `pip install ml_dtypes` for bfloat16, float8_e4m3fn and their kin") from None


class _Memory:
    """One allocation; it is freed with its last reference."""

    def __init__(self, nbytes: int):
        address = ctypes.c_uint64()
        _library.call("cuMemAllocManaged", ctypes.byref(address), ctypes.c_size_t(max(nbytes, 1)), 1)
        self.address = address.value
        self.__array_interface__ = {"data": (self.address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}
        weakref.finalize(self, _library.load()[1].cuMemFree_v2, ctypes.c_uint64(self.address)).atexit = False


class Array:
    """A kernel's argument in place of a tensor. It has the attributes of torch.Tensor that Triton and CuTe read."""

    def __init__(self, view: np.ndarray):
        self._view = view

    # ---- What front ends ask
    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._view.__array_interface__["data"][0]

    @property
    def __cuda_array_interface__(self) -> dict:
        known = self._view.__array_interface__
        return {"data": (self.data_ptr(), False), "shape": self.shape, "typestr": known["typestr"], "strides": known["strides"],
                "version": 3, "stream": None}

    def __dlpack__(self, **options: object) -> object:
        """Exports the array as memory of the host, which it is too."""
        return self._view.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._view.__dlpack_device__()

    # ---- Shape
    @property
    def dtype(self) -> np.dtype:
        return self._view.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._view.shape

    @property
    def ndim(self) -> int:
        return self._view.ndim

    @property
    def nbytes(self) -> int:
        return self._view.nbytes

    @property
    def device(self) -> str:
        return "cuda:0"

    @property
    def T(self) -> Array:
        return Array(self._view.T)

    def size(self, axis: int | None = None) -> typing.Any:
        return self.shape if axis is None else self.shape[axis]

    def stride(self, axis: int | None = None) -> typing.Any:
        """In elements."""
        strides = tuple(s // self._view.itemsize for s in self._view.strides)
        return strides if axis is None else strides[axis]

    def numel(self) -> int:
        return self._view.size

    def element_size(self) -> int:
        return self._view.itemsize

    def is_contiguous(self) -> bool:
        return bool(self._view.flags.c_contiguous)

    def reshape(self, *shape: int) -> Array:
        view = self._view.view()
        view.shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape  # type: ignore[assignment]
        return Array(view)

    def view(self, dtype: object) -> Array:
        """The array's bytes in another type."""
        return Array(self._view.view(_dtype(dtype)))

    # ---- Contents
    def numpy(self) -> np.ndarray:
        """A numpy view of the array's memory: numpy and kernels see each other's writes."""
        return self._view

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._view, dtype=None if dtype is None else _dtype(dtype), copy=True if copy is None else copy)

    def __getitem__(self, at: typing.Any) -> Array:
        at = at if isinstance(at, tuple) else (at,)
        if not any(a is Ellipsis for a in at):
            at += (Ellipsis,)  # a single element is a view too
        return Array(self._view[at])

    def __setitem__(self, at: typing.Any, value: typing.Any) -> None:
        self._view[at] = value

    def __len__(self) -> int:
        return len(self._view)

    def __repr__(self) -> str:
        return f"gen5.{self._view!r}"

    def zero_(self) -> Array:
        self._view[...] = 0
        return self

    def fill_(self, value: typing.Any) -> Array:
        self._view[...] = value
        return self

    def clone(self) -> Array:
        return array(self._view)


def empty(shape: Shape, dtype: object = np.float32) -> Array:
    """An uninitialised array, at a multiple of 4096 bytes."""
    sizes = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    kind = _dtype(dtype)
    nbytes = math.prod(sizes) * kind.itemsize
    return Array(np.asarray(_Memory(nbytes))[:nbytes].view(kind).reshape(sizes))


def array(values: typing.Any, dtype: object = None) -> Array:
    """A copy of `values`: a numpy array, or values that numpy makes an array of."""
    values = np.asarray(values)
    out = empty(values.shape, values.dtype if dtype is None else dtype)
    out._view[...] = values.astype(out.dtype, copy=False)
    return out


def full(shape: Shape, value: typing.Any, dtype: object = np.float32) -> Array:
    return empty(shape, dtype).fill_(value)


def zeros(shape: Shape, dtype: object = np.float32) -> Array:
    return full(shape, 0, dtype)


def empty_like(other: typing.Any, dtype: object = None) -> Array:
    return empty(other.shape, other.dtype if dtype is None else dtype)


def zeros_like(other: typing.Any, dtype: object = None) -> Array:
    return zeros(other.shape, other.dtype if dtype is None else dtype)
