"""device="cuda" for a torch without CUDA: such tensors lie in memory of the host, their operators run on the CPU, and kernels reach their
memory. A torch with CUDA has tensors of the device (_torch_operators.py).

A torch function mode sees each call in Python. If the caller names cuda, it asks torch for a CPU tensor and remembers it. If the program
reads that tensor's device, it returns cuda:0. notes/python.md says what it does not do."""

from __future__ import annotations

import ctypes
import functools
import os
import typing
import weakref

from gen5 import _library, _torch_cuda, _torch_operators

_MARK = "_gen5_on_device"


def _is_cuda(device: object) -> bool:
    """Whether torch would take `device` for the one GPU. Raises RuntimeError for a second GPU."""
    name = str(device) if type(device).__name__ == "device" or isinstance(device, str) else f"cuda:{device}" if type(device) is int else ""
    kind, _, index = name.partition(":")
    if kind == "cuda" and index not in ("", "0"):
        raise RuntimeError(f"{name}: the machine has one device, cuda:0")
    return kind == "cuda"


def lend(storage: typing.Any) -> None:
    """Lets the machine reach this storage of a tensor, as long as the storage lives."""
    _torch_operators.tell_blocks()
    address, size = storage.data_ptr(), storage.nbytes()
    if size and not _library.known(address):
        _library.call("cuMemHostRegister_v2", ctypes.c_void_p(address), ctypes.c_size_t(size), 0)
        weakref.finalize(storage, _library.load()[1].cuMemHostUnregister, ctypes.c_void_p(address)).atexit = False


def _say_cuda(capsule: typing.Any) -> typing.Any:
    """Marks a DLPack capsule of memory that the host and the machine share as the machine's. The device stands behind the data's address.
    That address is first in an unversioned tensor, and stands behind version, two pointers and flags in a versioned one."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetPointer.restype = ctypes.c_char_p, ctypes.c_void_p
    name = python.PyCapsule_GetName(ctypes.py_object(capsule))
    managed = python.PyCapsule_GetPointer(ctypes.py_object(capsule), ctypes.c_char_p(name))
    ctypes.c_int32.from_address(managed + {b"dltensor": 8, b"dltensor_versioned": 40}[name]).value = _DL_CUDA
    return capsule


_DL_CUDA = 2  # kDLCUDA


def _change(torch: typing.Any) -> None:
    """Installs the real CUDA tensors if torch was built with CUDA, and otherwise CPU tensors under another name."""
    _torch_cuda.without_kernels(torch.autograd.profiler)
    if torch.version.cuda and os.environ.get("GEN5_TORCH") != "cpu":
        _torch_operators.install(torch)
    else:
        _stand_in(torch)


def _stand_in(torch: typing.Any) -> None:
    from torch.overrides import TorchFunctionMode
    tensor, cuda, cpu = torch.Tensor, torch.device("cuda", 0), torch.device("cpu")
    in_backward = torch._C._current_autograd_node

    def marked(t: typing.Any) -> bool:
        """Whether a tensor counts as the device's. C++ makes gradients without a mark: within a backward pass every tensor counts."""
        return isinstance(t, tensor) and (hasattr(t, _MARK) or (in_backward() is not None and t.device == cpu))

    def any_marked(values: typing.Any) -> bool:
        return any(any_marked(v) if isinstance(v, (tuple, list)) else marked(v) for v in values)

    def mark(out: typing.Any) -> typing.Any:
        if isinstance(out, tensor):
            if out.device == cpu:  # and not meta
                setattr(out, _MARK, True)
        elif isinstance(out, (tuple, list)):
            for o in out:
                mark(o)
        return out

    def unmark(out: typing.Any) -> typing.Any:
        if hasattr(out, _MARK):
            delattr(out, _MARK)
        return out

    def moved(t: typing.Any, to_cuda: bool, **options: typing.Any) -> typing.Any:
        """Moves a tensor. To the other device it is copied, as with a GPU; on its own device it stays itself, unless its type changes."""
        copy = options.pop("copy", False) or to_cuda != marked(t)
        out = t.to(**options, device=cpu, copy=copy)
        return mark(out) if to_cuda else unmark(out)

    def to(t: typing.Any, *arguments: typing.Any, **options: typing.Any) -> typing.Any:
        rest = list(arguments)
        other = options.pop("other", rest.pop(0) if rest and isinstance(rest[0], tensor) else None)
        device = options.pop("device", None)
        if other is not None:
            device, options["dtype"] = (cuda if marked(other) else cpu), other.dtype
        elif rest and not isinstance(rest[0], torch.dtype):
            device = rest.pop(0)
        typed = rest and (rest[0] is None or isinstance(rest[0], torch.dtype))
        options |= zip(("dtype", "non_blocking", "copy") if typed else ("non_blocking", "copy"), rest)
        if device is not None and not _is_cuda(device) and str(device) != "cpu":
            raise NotImplementedError(f"Tensor.to({device}): gen5 has cuda:0 and the CPU")
        return moved(t, marked(t) if device is None else _is_cuda(device), **options)

    def data_ptr(t: typing.Any) -> int:
        if marked(t):
            lend(t.untyped_storage())
        return t.data_ptr()

    def dlpack(t: typing.Any, *arguments: typing.Any, **options: typing.Any) -> typing.Any:
        if not marked(t):
            return t.__dlpack__(*arguments, **options)
        lend(t.untyped_storage())
        return _say_cuda(t.__dlpack__(**{k: v for k, v in options.items() if k == "max_version"}))

    def numpy(t: typing.Any, *arguments: typing.Any, **options: typing.Any) -> typing.Any:
        if marked(t) and in_backward() is None:
            raise TypeError("can't convert a cuda:0 tensor to numpy: use Tensor.cpu() to copy it to memory of the host first")
        return t.numpy(*arguments, **options)

    def array_interface(t: typing.Any) -> dict:
        if not marked(t):
            raise AttributeError("__cuda_array_interface__: the tensor is not on cuda")
        known = t.detach().numpy().__array_interface__
        return {"data": (data_ptr(t), False), "shape": known["shape"], "typestr": known["typestr"], "strides": known["strides"], "version": 2}

    answers: dict[typing.Any, typing.Callable] = {
        tensor.device.__get__: lambda t: cuda if marked(t) else t.device,
        tensor.is_cuda.__get__: marked,
        tensor.is_cpu.__get__: lambda t: not marked(t),
        tensor.get_device: lambda t: 0 if marked(t) else -1,
        tensor.cuda: lambda t, device=None, **_: moved(t, _is_cuda(device) or device is None),
        tensor.cpu: lambda t, **_: moved(t, False),
        tensor.to: to,
        tensor.pin_memory: lambda t, device=None: t,  # the machine reaches all of it
        tensor.is_pinned: lambda t, device=None: not marked(t),
        tensor.data_ptr: data_ptr,
        tensor.__dlpack__: dlpack,
        tensor.__dlpack_device__: lambda t: (_DL_CUDA, 0) if marked(t) else t.__dlpack_device__(),
        tensor.numpy: numpy,
        tensor.__array__: lambda t, *dtype: numpy(t).astype(*dtype) if dtype and dtype[0] is not None else numpy(t),
        tensor.__cuda_array_interface__.__get__: array_interface,
    }
    aliases = {torch.as_tensor, torch.asarray, torch.from_numpy}

    class Device(TorchFunctionMode):
        def __torch_function__(self, func: typing.Any, types: typing.Any, args: tuple = (), kwargs: dict | None = None) -> typing.Any:
            options = dict(kwargs or {})
            if answer := answers.get(func):
                return answer(*args, **options)
            device = options.get("device")
            if device is not None and _is_cuda(device):
                options["device"] = cpu
                options.pop("pin_memory", None)
                out = func(*args, **options)
                return mark(out.clone() if func in aliases else out)
            options.pop("pin_memory", None)
            out = func(*args, **options)
            if args and out is args[0]:
                return out  # in place: it stays where it is
            if getattr(func, "__name__", "") == "__set__":  # x.data = y, x.grad = y
                return mark(args[0]) if marked(args[1]) else out
            if device is None and (any_marked(args) or any_marked(options.values())):
                mark(out)
            return out

    make = torch.nn.Parameter.__new__

    @functools.wraps(make)
    def parameter(cls: typing.Any, data: typing.Any = None, *arguments: typing.Any, **options: typing.Any) -> typing.Any:
        out = make(cls, data, *arguments, **options)
        return mark(out) if marked(data) else out

    class Generator(torch.Generator):
        """A generator of the CPU, whatever device the caller names: its numbers differ from a GPU's with that seed."""

        def __new__(cls, device: object = "cpu") -> typing.Any:
            return super().__new__(cls, "cpu")

    default: list[typing.Any] = []

    def set_default_device(device: object) -> None:
        """Replaces torch's function, which puts its mode below ours, so that ours could not see its calls."""
        while default:
            default.pop().__exit__(None, None, None)
        if device is not None:
            default.append(torch.device(device))
            default[-1].__enter__()

    begin = torch.amp.autocast_mode.autocast.__init__

    @functools.wraps(begin)
    def autocast(self: typing.Any, device_type: str, *arguments: typing.Any, **options: typing.Any) -> None:
        if device_type == "cuda":
            raise NotImplementedError("torch.autocast('cuda'): gen5 runs torch's operators on the CPU, whose list of types is another")
        begin(self, device_type, *arguments, **options)

    # What passes Python by would call them tensors of the CPU. TVM's interface, which CuTe DSL has, asks these instead.
    if "__dlpack_c_exchange_api__" in tensor.__dict__:
        del tensor.__dlpack_c_exchange_api__
    os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] = "1"
    torch.utils.dlpack.to_dlpack = torch.to_dlpack = lambda t: t.__dlpack__()
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    torch.nn.Parameter.__new__ = parameter
    torch.Generator = Generator
    torch.set_default_device = set_default_device
    torch.amp.autocast_mode.autocast.__init__ = autocast
    _torch_cuda.stand_in(torch.cuda, torch.default_generator)
    Device().__enter__()


CHANGES = {"torch": _change}
