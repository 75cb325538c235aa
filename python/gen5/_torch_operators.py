"""torch's operators on the device: each runs on the CPU, on the device's memory. Their kernels in torch's CUDA library are machine code,
which tinygpu does not run. The rest of that library (tensors, allocator, streams, graphs) is the real one on tinygpu's runtime."""

from __future__ import annotations

import ctypes
import functools
import itertools
import typing
import warnings

from gen5 import _library, _scaled, _session

_DL_CPU = 1  # kDLCPU
_BLOCK = 512  # kMinBlockSize of torch's allocator: sizes are rounded up to it

# These work on a tensor's shape, or ask the allocator or the runtime: they are torch's own.
_NATIVE = {"empty", "empty_strided", "resize_", "set_", "record_stream", "is_pinned", "_pin_memory", "_has_compatible_shallow_copy_type"}
# Kernels for every device, which reach CUDA's otherwise than by the dispatcher.
_OF_ALL_DEVICES = ("copy_", "convolution", "convolution_backward", "_local_scalar_dense")
# What the CPU has otherwise, or not at all.
_OTHERWISE: dict[str, typing.Callable] = {
    "_scaled_mm": _scaled.scaled_mm, "_scaled_mm.out": _scaled.scaled_mm, "_scaled_mm_v2": _scaled.scaled_mm_v2, "_scaled_mm_v2.out": _scaled.scaled_mm_v2,
    "_scaled_grouped_mm_v2": _scaled.scaled_grouped_mm_v2,
}
# Products of f16 and bf16 have a tensor core's bits.
_WIDE = {f"{name}{form}" for name in ("mm", "bmm", "addmm", "baddbmm") for form in ("", ".out", ".dtype", ".dtype_out")}

_kept: list[typing.Any] = []
calls = [0]  # of operators that ran on the CPU


def installed() -> bool:
    return bool(_kept)


# ---- The same memory as a tensor of the CPU

def _view_on_host(capsule: typing.Any, address: int) -> typing.Any:
    """Marks a DLPack capsule as the CPU's memory at this address. The address and the device stand first in an unversioned tensor, and
    behind version, two pointers and flags in a versioned one."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetPointer.restype = ctypes.c_char_p, ctypes.c_void_p
    name = python.PyCapsule_GetName(ctypes.py_object(capsule))
    at = python.PyCapsule_GetPointer(ctypes.py_object(capsule), ctypes.c_char_p(name)) + {b"dltensor": 0, b"dltensor_versioned": 32}[name]
    ctypes.c_void_p.from_address(at).value = address
    ctypes.c_int32.from_address(at + 8).value = _DL_CPU
    return capsule


def _span(t: typing.Any) -> int:
    """Bytes from the tensor's first element to behind its last."""
    return (sum((n - 1) * s for n, s in zip(t.shape, t.stride())) + 1) * t.element_size()


def on_host(t: typing.Any, writes: bool) -> typing.Any:
    """Returns the tensor's memory for the CPU, after all launched work is done."""
    import torch
    if t.numel() == 0:
        return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype)
    as_bytes = t.view(torch.uint8) if t.element_size() == 1 and t.dtype != torch.uint8 else t  # of fp8 and fp4 DLPack knows little
    address = _library.load()[0].tinygpu_session_host_address(t.data_ptr(), _span(t) if writes else 0)
    out = torch._C._from_dlpack(_view_on_host(torch._C._to_dlpack(as_bytes.detach()), address))
    out = out if out.dtype == t.dtype else out.view(t.dtype)
    out = torch._conj(out) if t.is_conj() else out
    return torch._neg_view(out) if t.is_neg() else out


def _on_device(t: typing.Any) -> typing.Any:
    """Allocates a tensor of the device for the contents of a tensor of the CPU."""
    import torch
    return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cuda")


class _Call:
    """The arguments of one operator, on the device and on the CPU."""

    def __init__(self, op: typing.Any, args: typing.Sequence[typing.Any], kwargs: dict[str, typing.Any], written: set[str]):
        self.pairs: list[tuple[typing.Any, typing.Any]] = []  # of (the device's tensor, the same of the CPU)
        known = op._schema.arguments
        self._same_device(op, itertools.chain(((known[i].name, a) for i, a in enumerate(args)), kwargs.items()))
        self.args = [self._there(a, known[i].name in written) for i, a in enumerate(args)]
        self.kwargs = {k: self._there(v, k in written) for k, v in kwargs.items()}
        if "pin_memory" in self.kwargs:
            self.kwargs["pin_memory"] = None
        # The dispatcher gives numbers where a tensor is meant: the overload for numbers is another one.
        self.op = op.overloadpacket if any(isinstance(a, (int, float, complex)) and str(known[i].type) == "Tensor" for i, a in enumerate(args)) else op

    @staticmethod
    def _same_device(op: typing.Any, args: typing.Iterable[tuple[str, typing.Any]]) -> None:
        """Checks the devices as CUDA's operators do: a tensor of the CPU must be an index, or have no dimension."""
        for name, v in args:
            if name != "indices" and any(t.device.type == "cpu" and t.dim() for t in _tensors(v)) and op._schema.name != "aten::copy_":
                raise RuntimeError(f"{op}: expected all tensors to be on the same device, but '{name}' is on cpu and another one on cuda:0")

    def _there(self, v: typing.Any, writes: bool) -> typing.Any:
        import torch
        if isinstance(v, torch.Tensor) and v.device.type == "cuda":
            self.pairs.append((v, on_host(v, writes)))
            return self.pairs[-1][1]
        if isinstance(v, (list, tuple)):
            return type(v)(self._there(x, writes) for x in v)
        if isinstance(v, torch.device):
            return torch.device("cpu")
        return None if isinstance(v, torch.Generator) else v

    def back(self, v: typing.Any, fill: bool = True) -> typing.Any:
        """Converts the CPU's result to tensors of the device."""
        import torch
        if isinstance(v, (list, tuple)):
            return type(v)(self.back(x, fill) for x in v)
        if not isinstance(v, torch.Tensor):
            return v
        out = next((there for there, here in self.pairs if here is v), None)
        if out is not None and out.shape == v.shape:
            return out
        out = _on_device(v) if out is None else out.resize_(v.shape)  # the latter: out= of another size
        if fill and out.numel():
            on_host(out, True).copy_(v)
        return out


def _same(v: typing.Any, of: typing.Any) -> typing.Any:
    """Copies the tensors among arguments; `of` remembers the copies, so that one tensor that occurs twice has one copy."""
    import torch
    if isinstance(v, torch.Tensor):
        return of.setdefault(id(v), v.clone())
    return type(v)(_same(x, of) for x in v) if isinstance(v, (list, tuple)) else v


def _tensors(v: typing.Any) -> typing.Iterator[typing.Any]:
    import torch
    if isinstance(v, torch.Tensor):
        yield v
    elif isinstance(v, (list, tuple)):
        for x in v:
            yield from _tensors(x)


# ---- Operators

def _seeded(run: typing.Callable[[], typing.Any], generator: typing.Any) -> typing.Any:
    """Calls `run` with the CPU's generator in a state that follows from the device's; the device's generator advances as CUDA's does."""
    import torch
    own = generator if generator is not None else torch.cuda.default_generators[0]
    before = torch.default_generator.get_state()
    torch.default_generator.manual_seed((own.initial_seed() * 0x9E3779B97F4A7C15 + own.get_offset()) % (1 << 63))
    try:
        return run()
    finally:
        torch.default_generator.set_state(before)
        own.set_offset(own.get_offset() + 4)


def _widely(args: list[typing.Any], kwargs: dict[str, typing.Any]) -> typing.Any:
    """mm and bmm of two matrices; addmm and baddbmm, which have a third one in front."""
    import torch
    *added, a, b = (v for v in args if isinstance(v, torch.Tensor))
    dtype = next((v for v in (*args, *kwargs.values()) if isinstance(v, torch.dtype)), a.dtype)
    made = torch.empty((*a.shape[:-1], b.shape[-1]))
    for to, x, y in zip(made, a, b) if a.dim() == 3 else [(made, a, b)]:
        to.copy_(_scaled.product(x, y.t()))
    if added:
        made = made * kwargs.get("alpha", 1)
        beta = kwargs.get("beta", 1)
        made = made + beta * added[0].float() if beta else made
    made, out = made.to(dtype), kwargs.get("out")
    return made if out is None else out.copy_(made)


def _record(call: _Call, run: typing.Callable[[list, dict], typing.Any], stream: typing.Any) -> typing.Any:
    """Within the capture of a graph: makes the operator a node of the graph, which runs on the arguments' memory at each replay. At once it
    runs on copies, to learn the shape of its result."""
    copies: dict[int, typing.Any] = {}
    args, kwargs = _same(call.args, copies), {k: _same(v, copies) for k, v in call.kwargs.items()}
    returned = run(args, kwargs)
    by_copy = {id(copies[id(here)]): there for there, here in call.pairs if id(here) in copies}

    def place(v: typing.Any) -> typing.Any:
        import torch
        if isinstance(v, (list, tuple)):
            return type(v)(place(x) for x in v)
        if not isinstance(v, torch.Tensor):
            return v
        return by_copy[id(v)] if id(v) in by_copy else _on_device(v)

    out = place(returned)
    fresh = [(i, on_host(there, True)) for i, (now, there) in enumerate(zip(_tensors(returned), _tensors(out))) if id(now) not in by_copy and there.numel()]

    def replay(_: object) -> None:
        made = list(_tensors(run(call.args, call.kwargs)))
        for i, view in fresh:
            view.copy_(made[i])

    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(replay)
    _capturing[-1].append((function, out))
    _library.call("cuLaunchHostFunc", ctypes.c_void_p(stream.cuda_stream), function, None)
    return out


_capturing: list[list[typing.Any]] = []


def _operator(torch: typing.Any, name: str, op: typing.Any) -> typing.Callable:
    random, halves = torch.Tag.nondeterministic_seeded in op.tags, (torch.float16, torch.bfloat16)
    written = {a.name for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write}

    def on_cpu(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        calls[0] += 1
        call = _Call(op, args, kwargs, written)
        generator = next((a for a in (*args, *kwargs.values()) if isinstance(a, torch.Generator)), None)

        def run(args: list, kwargs: dict) -> typing.Any:
            if name in _WIDE and args[0].dtype in halves:
                return _widely(args, kwargs)
            return _OTHERWISE.get(name, call.op)(*args, **kwargs)

        def run_seeded(args: list, kwargs: dict) -> typing.Any:
            return _seeded(lambda: run(args, kwargs), generator) if random and not torch.cuda.is_current_stream_capturing() else run(args, kwargs)

        try:
            if _capturing and torch.cuda.is_current_stream_capturing():
                return _record(call, run_seeded, torch.cuda.current_stream())
            return call.back(run_seeded(call.args, call.kwargs))
        except NotImplementedError:
            raise NotImplementedError(f"{op}: torch has it for GPUs only, and gen5 runs torch's operators on the CPU") from None

    return on_cpu


def _refused(name: str) -> typing.Callable:
    def refused(*_: object, **__: object) -> typing.NoReturn:
        raise NotImplementedError(f"torch.cuda.{name}: gen5 does not keep torch's statistics of memory; torch.cuda.mem_get_info() has the machine's")
    return refused


@functools.lru_cache(maxsize=None)
def tell_blocks() -> None:
    """Tells the machine that on a GPU tensors lie in whole blocks: accesses past a tensor, but in its block, are warnings."""
    _library.load()[0].tinygpu_session_blocks(_BLOCK)


def _allocate_exactly(cuda: typing.Any) -> None:
    """Makes each tensor's memory an allocation of its own, so that the machine finds an access past its end. Within the capture of a graph
    torch's caching allocator keeps the memory, as the graph uses it later. The machine knows the size of that allocator's blocks."""
    import torch
    enable = torch._C._cuda_cudaCachingAllocator_enable
    cuda._lazy_call(lambda: (enable(False), tell_blocks()))
    graph = cuda.CUDAGraph
    begin, end = graph.capture_begin, graph.capture_end

    def capture_begin(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:
        self.gen5_operators = []
        enable(True)
        begin(self, *args, **kwargs)
        _capturing.append(self.gen5_operators)

    def capture_end(self: typing.Any) -> None:
        try:
            end(self)
        finally:
            _capturing.pop()
            enable(False)

    graph.capture_begin, graph.capture_end = capture_begin, capture_end
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_stats", "memory_summary", "memory_snapshot",
                 "reset_peak_memory_stats"):
        setattr(cuda, name, _refused(name))
        setattr(cuda.memory, name, getattr(cuda, name))


def _time_nothing_as_nan(event: typing.Any) -> None:
    """Between two events that had only operators between them, no time passes here. A program that divides by it gets nan, as from do_bench."""
    elapsed = event.elapsed_time
    event.elapsed_time = functools.wraps(elapsed)(lambda self, end: elapsed(self, end) or float("nan"))


def install(torch: typing.Any) -> None:
    # Of several ways to the same result, those that the CPU has too.
    torch.backends.cudnn.enabled = False
    for name in ("flash", "mem_efficient", "cudnn"):
        getattr(torch.backends.cuda, f"enable_{name}_sdp")(False)
    torch.cuda._is_in_bad_fork = lambda: False  # the machine goes on in the child of a fork
    _allocate_exactly(torch.cuda)
    synchronize = torch.cuda.synchronize

    def telling(device: typing.Any = None) -> None:
        try:
            synchronize(device)
        except RuntimeError as failed:
            if run := _session.current():
                run.after_launch(failed=failed)
            raise
        if run := _session.current():
            run.after_launch()

    torch.cuda.synchronize = telling
    _time_nothing_as_nan(torch.cuda.Event)
    library, has = torch.library.Library("aten", "IMPL"), torch._C._dispatch_has_kernel_for_dispatch_key
    _kept.append(library)
    names = {n[6:] for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::") and has(n, "CUDA")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each replaces one of torch's
        for name in itertools.chain(sorted(names), set(_OF_ALL_DEVICES) - names):
            base, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, base), overload or "default")
            view = any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns)
            if base not in _NATIVE and not view:
                library.impl(name, _operator(torch, name, op), "CUDA", allow_override=True)
