"""torch.cuda, as far as programs with kernels use it. It needs no torch. It refuses by name what is not here."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import types
import typing

from gen5 import _library


class Event:
    """torch.cuda.Event. Its time is the machine's clock."""

    def __init__(self, enable_timing: bool = False, **_: object):
        self._handle = ctypes.c_void_p()
        _library.call("cuEventCreate", ctypes.byref(self._handle), 0 if enable_timing else 2)

    def record(self, stream: object = None) -> None:
        _library.call("cuEventRecord", self._handle, None)

    def synchronize(self) -> None:
        _library.call("cuEventSynchronize", self._handle)

    def query(self) -> bool:
        return True  # a launch is done when it returns

    def wait(self, stream: object = None) -> None:
        pass

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds."""
        ms = ctypes.c_float()
        _library.call("cuEventElapsedTime_v2", ctypes.byref(ms), self._handle, end._handle)
        return ms.value


class Stream:
    """torch.cuda.Stream. Launches run in the order of their submission whatever their stream, so one stream is enough."""

    cuda_stream, device_index = 0, 0

    def __init__(self, device: object = None, priority: int = 0, **_: object):
        pass

    def synchronize(self) -> None:
        synchronize()

    def query(self) -> bool:
        return True

    def wait_stream(self, other: object) -> None:
        pass

    def wait_event(self, event: object) -> None:
        pass

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record()
        return event


def synchronize(device: object = None) -> None:
    _library.call("cuCtxSynchronize")


def _attribute(number: int) -> int:
    value = ctypes.c_int()
    _library.call("cuDeviceGetAttribute", ctypes.byref(value), number, 0)
    return value.value


def get_device_capability(device: object = None) -> tuple[int, int]:
    return _attribute(75), _attribute(76)


def get_device_name(device: object = None) -> str:
    text = ctypes.create_string_buffer(256)
    _library.call("cuDeviceGetName", text, 256, 0)
    return text.value.decode()


def get_device_properties(device: object = None) -> types.SimpleNamespace:
    """torch's properties that CUdevice_attribute has; the numbers are its enumerators."""
    memory = ctypes.c_size_t()
    _library.call("cuDeviceTotalMem_v2", ctypes.byref(memory), 0)
    major, minor = get_device_capability()
    return types.SimpleNamespace(
        name=get_device_name(), major=major, minor=minor, total_memory=memory.value, multi_processor_count=_attribute(16), warp_size=_attribute(10),
        max_threads_per_multi_processor=_attribute(39), max_threads_per_block=_attribute(1), regs_per_multiprocessor=_attribute(82),
        shared_memory_per_block=_attribute(8), shared_memory_per_block_optin=_attribute(97), shared_memory_per_multiprocessor=_attribute(81),
        L2_cache_size=_attribute(38), is_integrated=_attribute(18), is_multi_gpu_board=0)


class StreamContext(contextlib.nullcontext):
    """torch.cuda.StreamContext."""


ONE_STREAM = Stream()


def stream(stream: object = None) -> StreamContext:
    return StreamContext(stream)


def current_stream(device: object = None) -> Stream:
    return ONE_STREAM


def default_stream(device: object = None) -> Stream:
    return ONE_STREAM


# torch has rules by function and class (torch._dynamo.trace_rules), so that none of these may be another's namesake.
def _answer(name: str, value: object = None) -> typing.Callable:
    def answer(*_: object, **__: object) -> object:
        return value
    answer.__name__ = answer.__qualname__ = name
    return answer


def _refuse(name: str) -> typing.Callable:
    def refused(*_: object, **__: object) -> typing.NoReturn:
        raise NotImplementedError(f"torch.cuda.{name} is not there on tinygpu (notes/python.md says what is)")
    refused.__name__ = refused.__qualname__ = name.partition(" ")[0]
    return refused


def _refuse_class(name: str) -> type:
    """A class for calls of isinstance(); it refuses only to be instantiated."""
    return type(name, (), {"__new__": _refuse(name), "__module__": "torch.cuda"})


def _context(name: str) -> type:
    return type(name, (contextlib.nullcontext,), {"__module__": "torch.cuda"})


def without_kernels(profiler: typing.Any) -> None:
    """`profiler`: torch.autograd.profiler. For kernels it asks CUPTI, which ends the process where NVIDIA's driver is not: it records what the host
    does."""
    begin = profiler.profile.__init__

    @functools.wraps(begin)
    def begin_on_host(self: typing.Any, *arguments: object, **options: object) -> None:
        if options.get("use_device") == "cuda":
            options |= {"use_device": None, "use_cpu": True}
        begin(self, *arguments, **options)

    profiler.profile.__init__ = begin_on_host


def stand_in(cuda: typing.Any, generator: typing.Any) -> None:
    """Puts these classes and functions into torch.cuda. Everything else there begins with _lazy_init, which refuses. `generator`: torch's
    generator of the CPU, which makes the random numbers."""

    def manual_seed(seed: int) -> None:
        generator.manual_seed(seed)

    def manual_seed_all(seed: int) -> None:
        generator.manual_seed(seed)

    def get_rng_state(device: object = "cuda") -> typing.Any:
        return generator.get_state()

    def set_rng_state(new_state: typing.Any, device: object = "cuda") -> None:
        generator.set_state(new_state)

    there: dict[str, typing.Any] = {
        "Event": Event, "Stream": Stream, "ExternalStream": type("ExternalStream", (Stream,), {}), "StreamContext": StreamContext,
        "synchronize": synchronize, "get_device_name": get_device_name,
        "get_device_capability": get_device_capability, "get_device_properties": get_device_properties,
        "current_stream": current_stream, "default_stream": default_stream, "stream": stream,
        "device": _context("device"), "device_of": _context("device_of"), "manual_seed": manual_seed, "manual_seed_all": manual_seed_all,
        "get_rng_state": get_rng_state, "set_rng_state": set_rng_state,
    }
    for name, value in (("is_available", True), ("is_initialized", True), ("device_count", 1), ("current_device", 0), ("is_bf16_supported", True)):
        there[name] = _answer(name, value)
    for name in ("init", "set_device", "set_stream", "empty_cache", "seed"):
        there[name] = _answer(name)
    for name in ("CUDAGraph", "graph", "MemPool"):
        there[name] = _refuse_class(name)
    for name in ("make_graphed_callables", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_stats",
                 "mem_get_info", "reset_peak_memory_stats"):
        there[name] = _refuse(name)
    for name, value in there.items():
        setattr(cuda, name, value)
    cuda._lazy_init = _refuse("_lazy_init (a function that asks torch's own CUDA library)")
