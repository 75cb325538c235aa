"""Changes to Triton: its launches report tinygpu's diagnoses, and its benchmarks read the machine's clock."""

from __future__ import annotations

import ctypes
import functools
import typing

from gen5 import _array, _cublas, _library, _session, _torch_cuda, _torch_operators


class DeviceInterface:
    """The part of torch.cuda that Triton uses."""

    Event = functools.partial(_torch_cuda.Event, enable_timing=True)

    synchronize = staticmethod(_torch_cuda.synchronize)
    stream = staticmethod(_torch_cuda.stream)
    current_stream = staticmethod(_torch_cuda.current_stream)
    default_stream = staticmethod(_torch_cuda.default_stream)

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def set_device(device: object) -> None:
        pass


def clear_l2() -> None:
    """Empties L2, as the zeroing of a large buffer does before each run of a benchmark."""
    _library.load()[0].tinygpu_session_clear_l2()


def _host_memory(arguments: typing.Iterable[typing.Any]) -> typing.Iterator[tuple[int, int]]:
    """Returns address and bytes of the storage of each CPU tensor among the arguments."""
    for a in arguments:
        if isinstance(a, (tuple, list)):
            yield from _host_memory(a)
        elif hasattr(a, "base") and hasattr(a.base, "data_ptr"):  # a TensorDescriptor
            yield from _host_memory([a.base])
        elif hasattr(a, "untyped_storage"):
            storage = a.untyped_storage()
            if storage.nbytes():
                yield storage.data_ptr(), storage.nbytes()


def _change_driver(module: typing.Any) -> None:
    launch = module.CudaLauncher.__call__

    @functools.wraps(launch)
    def checked(self: typing.Any, *arguments: typing.Any) -> None:
        __tracebackhide__ = True
        driver = _library.load()[1]
        # The machine reaches memory of the host for as long as the launch takes. What is known already stays.
        lent = [address for address, size in set(_host_memory(arguments[9:]))
                if not _library.known(address) and driver.cuMemHostRegister_v2(ctypes.c_void_p(address), ctypes.c_size_t(size), 0) == 0]
        try:
            launch(self, *arguments)
        finally:
            for address in lent:
                driver.cuMemHostUnregister(ctypes.c_void_p(address))
        if run := _session.current():
            run.after_launch()

    module.CudaLauncher.__call__ = checked
    driver = module.CudaDriver
    driver.is_active = staticmethod(lambda: True)
    begin = driver.__init__

    def without_torch(self: typing.Any) -> None:
        """Answers Triton's queries for device and stream: a torch that was built without CUDA does not know them."""
        _library.ready()
        begin(self)
        if _torch_operators.installed():
            return
        for name in ("get_device_capability", "get_current_stream", "get_current_device", "set_current_device"):
            setattr(self, name, getattr(self, f"_{name}"))

    driver.__init__ = without_torch
    interface = driver.get_device_interface
    driver.get_device_interface = lambda self: interface(self) if _torch_operators.installed() else DeviceInterface
    driver.get_empty_cache_for_benchmark = lambda self: None
    driver.clear_cache = lambda self, cache: clear_l2()
    from triton._C import libtriton
    libtriton.nvidia.cublas.CublasLt = _cublas.CublasLt


def _change_allocation(module: typing.Any) -> None:
    """Provides scratch memory for kernels that make tensor descriptors on the device, unless the program sets an allocator."""
    module.set_allocator(lambda size, alignment, stream: _array.empty(size, "int8"))


def _change_testing(module: typing.Any) -> None:
    @functools.wraps(module.do_bench)
    def do_bench(fn: typing.Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: typing.Any = None,
                 quantiles: typing.Any = None, return_mode: str = "mean") -> typing.Any:
        """Measures in milliseconds of the machine's clock. It makes one run to warm up and then two, not as many as fill `rep`: runs are
        alike, except for the phase of the memory's clock."""
        assert return_mode in ["min", "max", "mean", "median", "all"]
        fn()
        times = []
        for _ in range(2):
            for x in grad_to_none or ():
                x.grad = None
            clear_l2()
            start, end = _torch_cuda.Event(enable_timing=True), _torch_cuda.Event(enable_timing=True)
            start.record()
            fn()
            end.record()
            times.append(start.elapsed_time(end) or float("nan"))  # it launched nothing: torch's own operators run on the CPU
        return module._summarize_statistics(times, quantiles, return_mode)

    module.do_bench = do_bench
    if hasattr(module, "do_bench_cudagraph"):
        module.do_bench_cudagraph = lambda fn, rep=20, **more: do_bench(fn, **more)


CHANGES = {
    "triton.backends.nvidia.driver": _change_driver,
    "triton.runtime._allocation": _change_allocation,
    "triton.testing": _change_testing,
}
