"""gen5.predict(): predicts how long a kernel takes, for each of many configurations. Only the machine's clock runs.

Each configuration runs in a process of its own, a copy of this one (os.fork), in which matrices are not multiplied and copies move no
bytes. So a kernel may be anything that this process can call (a kernel of Triton or CuTe DSL, a function of a module that load_inline
made), or a program on disk."""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import typing

from gen5 import _library, _session

_BUSY = 0.5  # a unit with less of its time taken is not what limits a kernel: its warps wait


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The prediction of one configuration. If it cannot run, `error` says why, and there are no cycles."""

    config: typing.Any
    cycles: int = 0  # of the kernels that it launched, by the SM's clock
    us: float = float("nan")
    limiter: str = ""  # what takes most of its time: "tensor core", "device memory", "L2", "shared memory", "issue"; else "latency of instructions", "waits for …"
    busy: float = 0.0  # the part of that unit's time that is taken; of latency and waits, their part of the warps' time
    band: float | None = None  # how far the time may be off, as a part of it, where the machine knows
    launches: int = 0
    error: str = ""
    cached: bool = dataclasses.field(default=False, compare=False)


def predict(kernel: typing.Any, configs: typing.Any = None, args: typing.Sequence[typing.Any] = (), *, machine: str | None = None,
            grid: typing.Any = None, cold: bool = True, workers: int | None = None, timeout: float | None = None, key: str | None = None,
            cache: bool = True) -> list[Prediction]:
    """Returns a Prediction for each of `configs`, in their order.

    kernel: a Triton kernel, run as kernel[grid](*args, **config); any other function, called as kernel(*args, **config); or the path of a
    program, whose configs are lists of its arguments. configs: dicts or triton.Config; the default of an autotuned kernel is its own list.
    cold: L2 is empty before each run. workers: processes at a time; default: as many as there are processors. timeout: seconds that one
    process may take. key: names a function for the cache, which cannot know what its code depends on; a Triton kernel and a program name
    themselves. The kernel and the host must not branch on results of matrix products or copies: in these runs there are none."""
    machine = machine or (run.machine if (run := _session.current()) else None) or os.environ.get("GEN5_MACHINE") or "b200"
    if isinstance(kernel, (str, os.PathLike)):
        job: _Job = _Program(pathlib.Path(kernel), machine)
        configs = [[]] if configs is None else configs
    else:
        if why := _library.session("open", machine.encode()):
            raise ValueError(why)
        from gen5 import _frontends
        _frontends.install()
        job = _Function(kernel, args, grid, machine, cold, key)
        configs = job.own_configs() if configs is None else configs
    if isinstance(configs, (dict, str)) or not isinstance(configs, collections.abc.Iterable):
        raise TypeError(f"configs={configs!r}: write a list, with a dict or triton.Config for each (of a program, a list of arguments)")
    configs = [job.check(c) for c in configs]
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers}: write at least 1")
    many = workers or len(os.sched_getaffinity(0))
    paths = [_place(text) if cache and (text := job.key(c)) else None for c in configs]
    known = [_read(p, c) for p, c in zip(paths, configs)]
    missing = [i for i, k in enumerate(known) if k is None]
    many = min(many, len(missing)) or 1
    threads = max(1, len(os.sched_getaffinity(0)) // many)
    for i, said in _children([functools.partial(job.run, configs[i], threads) for i in missing], many, timeout):
        at = missing[i]
        known[at] = Prediction(configs[at], **said)
        if paths[at] and not said.get("error"):
            _write(paths[at], said)
    return typing.cast("list[Prediction]", known)


class _Job(typing.Protocol):
    def check(self, config: typing.Any) -> typing.Any: ...
    def key(self, config: typing.Any) -> str | None: ...
    def run(self, config: typing.Any, threads: int) -> dict: ...


# ---- What is run

class _Function:
    def __init__(self, kernel: typing.Any, args: typing.Sequence[typing.Any], grid: typing.Any, machine: str, cold: bool, key: str | None):
        self.tuned: list[typing.Any] = []
        while hasattr(kernel, "configs") and hasattr(kernel, "fn"):  # triton.autotune
            self.tuned, kernel = list(kernel.configs), kernel.fn
        self.triton = hasattr(kernel, "cache_key") or hasattr(getattr(kernel, "fn", None), "cache_key")  # itself, or within triton.heuristics
        if self.triton and grid is None:
            raise TypeError(f"predict() of a Triton kernel: name its grid, as in {getattr(kernel, '__name__', 'kernel')}[grid](…)")
        if not self.triton and not callable(kernel):
            raise TypeError(f"predict({kernel!r}): write a kernel, a function, or the path of a program")
        self.kernel, self.args, self.grid, self.machine, self.cold, self.named = kernel, args, grid, machine, cold, key

    def own_configs(self) -> list[typing.Any]:
        return self.tuned or [{}]

    def check(self, config: typing.Any) -> typing.Any:
        if not isinstance(config, dict) and not hasattr(config, "all_kwargs"):
            raise TypeError(f"config {config!r}: write a dict or a triton.Config")
        return config

    @staticmethod
    def _options(config: typing.Any) -> dict:
        return config.all_kwargs() if hasattr(config, "all_kwargs") else config

    def key(self, config: typing.Any) -> str | None:
        if self.triton:
            import triton
            inner = self.kernel if hasattr(self.kernel, "cache_key") else self.kernel.fn
            name = f"triton {triton.__version__} {inner.__name__} {inner.cache_key}"
        elif self.named is not None:
            name = self.named
        else:
            return None
        options = self._options(config)
        grid = self.grid(options) if callable(self.grid) else self.grid
        try:
            said = [_described(a) for a in (*self.args, sorted(options.items()), grid)]
        except TypeError:
            return None
        return json.dumps([name, said, self.cold, self.machine])

    def run(self, config: typing.Any, threads: int) -> dict:
        from gen5 import _torch_cuda, _triton
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)  # the others of OpenMP's pool are not there in the child of a fork
        run = _session.Run(self.machine, {"order": "timed", "profile": True, "timing_only": True, "threads": threads}, False)
        _session._stack.append(run)
        call = self.kernel[self.grid] if self.triton else self.kernel
        options = self._options(config)
        run._begin()
        if self.cold:
            _triton.clear_l2()
        start, end = _torch_cuda.Event(enable_timing=True), _torch_cuda.Event(enable_timing=True)
        try:
            start.record()
            call(*self.args, **options)
            end.record()
            us = start.elapsed_time(end) * 1e3  # copies too, which the kernels' cycles leave out
        except Exception as failed:
            run.after_launch(failed=failed)  # which says more, where a kernel broke a rule
            raise
        run.after_launch()
        if not run.launches:
            return {"error": "no kernel was launched"}
        if unsure := [d for d in run.diagnoses if d.code == "timing-only-control"]:
            return {"error": f"{unsure[0].code}: {unsure[0].message}"}
        return {"us": us, "launches": run.launches, **_summary(run.profile(), self.machine)}


class _Program:
    def __init__(self, path: pathlib.Path, machine: str):
        if not path.is_file():
            raise ValueError(f"{path}: there is no such program")
        _library.machine(machine)  # or its error
        self.path, self.machine = path.resolve(), machine

    def check(self, config: typing.Any) -> typing.Any:
        if isinstance(config, (str, dict)):
            raise TypeError(f"config {config!r}: write a list of the program's arguments")
        return [str(a) for a in config]

    def key(self, config: typing.Any) -> str | None:
        return json.dumps([hashlib.sha256(self.path.read_bytes()).hexdigest(), config, self.machine])

    def run(self, config: typing.Any, threads: int) -> dict:
        with tempfile.TemporaryDirectory(prefix="gen5-predict-") as folder:
            profile = pathlib.Path(folder) / "profile.json"
            # Its results are worthless, and so is what it says of them.
            command = [_library.program(), "run", "--machine", self.machine, "--timing-only", "--counters", "--threads", str(threads),
                       "--profile-json", profile, self.path, *config]
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace")
            kernels = json.loads(profile.read_text()) if profile.exists() else []
        if not kernels:
            said = (done.stderr or done.stdout).strip().splitlines()
            return {"error": f"no kernel was launched: {said[0] if said else f'it ended with {done.returncode}'}"}
        if unsure := re.search(r"timing-only-control\]:? *(.*)", done.stderr):
            return {"error": f"timing-only-control: {unsure[1]}"}
        return {"us": _microseconds(kernels, self.machine), "launches": sum(k["launches"] for k in kernels), **_summary(kernels, self.machine)}


def _microseconds(kernels: list[dict], machine: str) -> float:
    """Returns the kernels' time in µs by the clock that GEN5_CLOCK chose."""
    clock = os.environ.get("GEN5_CLOCK") or "power"
    if clock in ("power", "sustained"):
        return sum(k["seconds"]["cold" if clock == "power" else "sustained"] for k in kernels) * 1e6
    return sum(k["cycles"] for k in kernels) / (_library.machine(machine)["clock_ghz"] * 1e3 if clock == "highest" else float(clock))


def _summary(kernels: list[dict], machine: str) -> dict:
    longest = max(kernels, key=lambda k: k["cycles"])
    limiter, busy = limit(longest, machine)
    return {"cycles": sum(k["cycles"] for k in kernels), "limiter": limiter, "busy": busy, "band": longest.get("band")}


def limit(kernel: dict, machine: str) -> tuple[str, float]:
    """Returns what limits a kernel by its profile, and its share of the time: the busiest unit, or what its warps wait for most."""
    peaks = _library.machine(machine)["peaks"]
    cycles, sm_cycles, memory, roles = kernel["cycles"], kernel["cycles"] * kernel["sms"], kernel["memory"], kernel.get("roles", [])
    lived = sum(r["cycles"] for r in roles) or 1
    units = {"tensor core": kernel["tensor_core_busy"],
             "device memory": memory["device_bytes"] / (cycles * peaks["mem.dram.bytes_per_cycle"]),
             "L2": memory["l2_bytes"] / (cycles * peaks["mem.l2.bytes_per_cycle"]),
             "shared memory": memory["shared_bytes"] / (sm_cycles * peaks["mem.shared.bytes_per_cycle"]),
             "issue": kernel["instructions"] / (sm_cycles * 4)}  # one a cycle from each of an SM's four schedulers
    unit = max(units, key=lambda u: units[u])
    if units[unit] >= _BUSY:
        return unit, round(min(units[unit], 1.0), 3)
    shares: collections.Counter[str] = collections.Counter()
    for r in roles:
        shares["latency of instructions"] += r["issuing"]
        shares["waits for operands"] += r["operands"]
        shares["waits for the issue port"] += r["port"]
        for w in r.get("waits", ()):
            shares[f"waits for {w['for']}"] += w["cycles"]
    what, most = max(shares.items(), key=lambda w: w[1])
    return what, round(most / lived, 3)


# ---- Processes

def _children(calls: list[typing.Callable[[], dict]], many: int, timeout: float | None) -> typing.Iterator[tuple[int, dict]]:
    """Yields each call's result when it ends. Each call runs in a forked child, at most `many` at a time."""
    sys.stdout.flush()
    sys.stderr.flush()
    running: dict[int, tuple[int, int, float, bytearray]] = {}  # by the pipe's end: the call's number, the child, its deadline, what it said
    waiting = collections.deque(enumerate(calls))
    try:
        while waiting or running:
            while waiting and len(running) < many:
                i, call = waiting.popleft()
                ours, theirs = os.pipe()
                child = os.fork()
                if child == 0:
                    _be_child(call, theirs)
                os.close(theirs)
                running[ours] = (i, child, time.monotonic() + (timeout or float("inf")), bytearray())
            first = min(deadline for _, _, deadline, _ in running.values())
            ready, _, _ = select.select(list(running), [], [], None if first == float("inf") else max(0.0, first - time.monotonic()))
            for pipe in list(running):
                i, child, deadline, said = running[pipe]
                part = os.read(pipe, 1 << 16) if pipe in ready else None
                late = time.monotonic() > deadline
                if part:
                    said += part
                elif part == b"" or late:
                    del running[pipe]
                    os.close(pipe)
                    yield i, _ended(child, bytes(said), timeout if part is None else None)
    finally:
        for pipe, (_, child, _, _) in running.items():
            os.close(pipe)
            _ended(child, b"", 0.0)


def _be_child(call: typing.Callable[[], dict], pipe: int) -> typing.NoReturn:
    try:
        said = call()
    except BaseException as e:  # the parent tells of it
        first = str(e).strip().partition("\n")[0]
        said = {"error": f"{type(e).__name__}: {first}" if first else type(e).__name__}
    text = memoryview(json.dumps(said).encode())
    while text:
        text = text[os.write(pipe, text):]
    os._exit(0)


def _ended(child: int, said: bytes, timeout: float | None) -> dict:
    if timeout is not None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if timeout is not None:
        return {"error": f"it took longer than {timeout:g} s"}
    try:
        return json.loads(said)
    except ValueError:
        return {"error": f"its process ended with {os.waitstatus_to_exitcode(status)}"}


# ---- Cache

def _folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gen5" / "predictions"


def _described(value: typing.Any) -> typing.Any:
    """Describes a value as far as a kernel's time depends on it. Raises TypeError for a value of an unknown type."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return [_described(v) for v in value]
    if hasattr(value, "base") and hasattr(value, "block_shape"):  # a TensorDescriptor
        return ["descriptor", _described(value.base), list(value.shape), list(value.strides), list(value.block_shape), str(getattr(value, "padding", ""))]
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        kind = str(value.dtype)
        # What numbers a kernel multiplies does not matter to the clock; where its indices point does.
        contents = hashlib.sha256(_bytes(value)).hexdigest() if "int" in kind or "bool" in kind else ""
        return ["tensor", kind, list(value.shape), list(value.stride()), value.data_ptr() % 128, contents]
    if type(value).__module__.startswith("triton.language"):  # tl.float16 and its kin
        return repr(value)
    raise TypeError(value)


def _bytes(tensor: typing.Any) -> bytes:
    host = tensor.cpu().contiguous() if hasattr(tensor, "cpu") else tensor
    return host.numpy().tobytes()


@functools.lru_cache(maxsize=None)
def _machine_state(environment: tuple[str | None, ...]) -> str:
    """Identifies the library, which contains the machine profiles, and the options that change cycles."""
    library = hashlib.sha256((_library.folder() / "libtinygpu.so").read_bytes()).hexdigest()
    files = [hashlib.sha256(pathlib.Path(e).read_bytes()).hexdigest() for e in environment if e and pathlib.Path(e).is_file()]
    return json.dumps([library, environment, files])


def _place(text: str) -> pathlib.Path:
    """The cache file of a key. For a machine named by a path the key has the file's contents."""
    machine = json.loads(text)[-1]
    state = _machine_state((machine, *(os.environ.get(v) for v in ("GEN5_CLOCK", "GEN5_PTXAS", "GEN5_REPLACE_PTX"))))
    return _folder() / f"{hashlib.sha256((state + text).encode()).hexdigest()}.json"


def _read(path: pathlib.Path | None, config: typing.Any) -> Prediction | None:
    try:
        return Prediction(config, **json.loads(path.read_text()), cached=True) if path else None
    except (OSError, ValueError, TypeError):  # there is none, or a broken one, which is made anew
        return None


def _write(path: pathlib.Path, said: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        json.dump(said, file)
    os.replace(file.name, path)
