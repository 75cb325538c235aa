"""gen5.search(), gen5.search_attention(): the best kernels for a product or for attention, found without a GPU; what `gen5 search` finds, as records,
over any executor.

The points that are timed are independent and deterministic: each is a call of `gen5` in a process of its own. So they may go to any
concurrent.futures executor, and the result is the same for any number of workers."""

from __future__ import annotations

import collections.abc
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import subprocess
import tempfile
import typing

from gen5 import _library, _session

_POOLS = 3  # of our own, one after the other, where workers die


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A kernel. `cycles` are tinygpu's, if it was timed; where that failed, `error` says why."""

    point: str  # "tile=128x256 block=128 …", which `gen5 search --point` takes
    parameters: dict[str, str]  # the same, by name
    tiny_cycles: float  # on the tiny machine
    limit: str  # what limits it there: "tensor core", "loads (L2)", …
    tensor: float  # the part of the time that the tensor core works there
    us: float  # by `cycles`, else by `tiny_cycles`, at the profile's highest clock
    cycles: float | None = None
    sampled: bool = False  # `cycles` are put together from parts of the problem
    error: str = ""
    cached: bool = dataclasses.field(default=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Pruned:
    """What a rule was the first to take out, and one of these points with its numbers."""

    rule: str
    points: int
    example: str


@dataclasses.dataclass(frozen=True)
class Search:
    """`best` in the order of tinygpu's cycles, those that were not timed behind them in the tiny machine's order."""

    problem: str  # "4096x4096x4096 bf16 -> bf16"; "32 heads, 8192 queries, 8192 keys, 128 dimensions"
    machine: str
    points: int
    legal: int
    estimated: int
    pruned: list[Pruned]
    best: list[Candidate]
    proof: bool | None = None  # whether the first gave every bit, and `gen5 check` was silent; None: it did not run

    def kernel_tuner_cache(self, path: str | os.PathLike) -> None:
        """Writes the kernels that were timed as a cache of Kernel Tuner (its `cache=` and simulation mode): times in ms."""
        from gen5 import _kernel_tuner
        _kernel_tuner.write_cache(self, pathlib.Path(path))

    def t4(self, path: str | os.PathLike) -> None:
        """The same in the T4 format of results."""
        from gen5 import _kernel_tuner
        _kernel_tuner.write_t4(self, pathlib.Path(path))


def read_kernel_tuner(path: str | os.PathLike) -> dict[str, float]:
    """{a kernel's point: milliseconds} of a file of Kernel Tuner, a cache or T4 results, measured on a GPU or written here: of the configurations that
    ran. search(points=…) takes it and times the same kernels on tinygpu. ValueError: the file is neither."""
    from gen5 import _kernel_tuner
    return _kernel_tuner.read(pathlib.Path(path))


def search(m: int = 4096, n: int = 4096, k: int = 4096, *, type: str = "bf16", out_type: str | None = None, machine: str | None = None, top: int = 8,
           measure: int = 16, points: typing.Iterable[str] | None = None, proof: bool = True, whole: bool = False,
           executor: concurrent.futures.Executor | None = None, workers: int | None = None, cache: str | os.PathLike | None = None,
           progress: typing.Callable[[int, int], None] | None = None) -> Search:
    """The best kernels for D[m x n] = A[m x k] * B[n x k]^T, rows contiguous: what `gen5 search gemm` says.

    type, out_type: of A and B, and of D, as the command has them. machine: "b200", "h200" or a profile; the default is that of gen5.gpu(), else
    of $GEN5_MACHINE, else b200. top: kernels in `best`. measure: so many of the best are compiled by nvcc and run on tinygpu's clock; 0: none, and
    no nvcc is needed. points: estimates and times these instead of searching. proof: runs the winner in full on a smaller problem.
    whole: times all of the problem, also where a part tells what the whole takes.
    executor: where points are timed, any concurrent.futures executor (processes, Dask's client.get_executor(), …); its workers have gen5 and nvcc.
    Without one, processes: `workers` of them, as many as there are processors. cache: a folder of results and programs on every worker, by default
    ~/.cache/gen5/search: a second call goes on from what is there, also where the first was interrupted. progress: called with the points timed
    so far and all of them.
    ValueError: a problem, a point, a machine or a file that cannot be used; the text says what can. RuntimeError: the executor's workers ended."""
    return _search(["gemm", "--m", m, "--n", n, "--k", k, "--type", type, *(["--out-type", out_type] if out_type else [])], machine, top, measure, points,
                   proof, whole, executor, workers, cache, progress)


def search_attention(heads: int = 32, n: int = 8192, *, queries: int | None = None, d: int = 128, causal: bool = False, machine: str | None = None,
                     top: int = 8, measure: int = 16, points: typing.Iterable[str] | None = None, proof: bool = True, whole: bool = False,
                     executor: concurrent.futures.Executor | None = None, workers: int | None = None, cache: str | os.PathLike | None = None,
                     progress: typing.Callable[[int, int], None] | None = None) -> Search:
    """The best kernels for O = softmax(Q * K^T / sqrt(d)) * V, bf16: what `gen5 search attention` says.

    heads: of all batches. n: keys; queries: as many, if it is not given. d: dimensions of a head, 64 or 128. causal: query i sees keys 0 to i.
    The others are those of gen5.search()."""
    return _search(["attention", "--heads", heads, "--n", n, "--d", d, *(["--queries", queries] if queries is not None else []),
                    *(["--causal"] if causal else [])], machine, top, measure, points, proof, whole, executor, workers, cache, progress)


def _search(problem: list, machine: str | None, top: int, measure: int, points: typing.Iterable[str] | None, proof: bool, whole: bool,
            executor: concurrent.futures.Executor | None, workers: int | None, cache: str | os.PathLike | None,
            progress: typing.Callable[[int, int], None] | None) -> Search:
    """`problem`: the command's words."""
    machine = machine or (run.machine if (run := _session.current()) else None) or os.environ.get("GEN5_MACHINE") or "b200"
    for name, value, least in (("top", top, 1), ("measure", measure, 0), ("workers", 1 if workers is None else workers, 1)):
        if value < least:
            raise ValueError(f"{name}={value}: write at least {least}")
    if isinstance(points, str):
        raise TypeError(f"points={points!r}: write a list, with a point's text for each")
    named = None if points is None else list(points)
    folder = pathlib.Path(cache) if cache is not None else _cache_folder()
    words = [*problem, "--machine", machine, *(["--whole"] if whole else [])]
    chosen = [w for p in named or [] for w in ("--point", p)]
    said = _gen5([*words, *chosen, "--measure", 0, "--top", max(top, measure), "--cache", folder])
    if named is not None:
        measure = len(named) if measure else 0
    best = said["best"]
    missing = [b for b in best[:measure] if "cycles" not in b]
    done = measure and len(best[:measure]) - len(missing)
    try:
        for b, timed in _timed(missing, words, None if cache is None else str(folder), executor, workers):
            b.update(timed)
            done += 1
            if progress:
                progress(done, len(best[:measure]))
    finally:
        _keep(folder, [b for b in missing if "cycles" in b])
    first = sorted(best[:measure], key=lambda b: b.get("cycles", float("inf")))  # of equals the tiny machine's first
    best = first + best[measure:] if named is not None else (first + best[measure:])[:top]
    right = None
    if proof and best and "cycles" in best[0]:
        right = bool(_gen5([*words, "--point", best[0]["point"], "--measure", 1, "--cache", folder])["proof"])
    return Search(said["problem"], said["machine"], said["points"], said["legal"], said["estimated"],
                  [Pruned(p["rule"], p["points"], p["example"]) for p in said.get("pruned") or []], [_candidate(b) for b in best], right)


def _candidate(b: dict) -> Candidate:
    parameters = dict(word.split("=") for word in b["point"].split())  # in the point's order
    return Candidate(b["point"], parameters, b["tiny_cycles"], b["limit"], b["tensor"], b["us"], b.get("cycles"), b.get("sampled", False), b.get("failed", ""),
                     b.get("kept", False))


def _cache_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gen5" / "search"


def _gen5(words: collections.abc.Sequence) -> dict:
    """What `gen5 search` writes into its file."""
    with tempfile.TemporaryDirectory(prefix="gen5-search-") as name:
        file = pathlib.Path(name) / "said.json"
        done = subprocess.run([str(w) for w in (_library.program(), "search", *words, "--json", file)], capture_output=True, text=True, errors="replace")
        if file.exists():
            return json.loads(file.read_text())
    first = next((line for line in done.stderr.splitlines() if line.strip()), f"gen5 ended with {done.returncode}")
    raise ValueError(first.removeprefix("gen5: "))


def _time(words: list[str], point: str, folder: str | None) -> dict:
    """A worker's part: one point on tinygpu's clock."""
    try:
        b, = _gen5([*words, "--point", point, "--measure", 1, "--no-proof", "--jobs", 1, "--cache", folder or _cache_folder()])["best"]
    except ValueError as e:
        return {"failed": str(e)}
    return {name: b[name] for name in ("cycles", "us", "sampled", "failed", "key") if name in b}


def _timed(missing: list[dict], words: list, folder: str | None, executor: concurrent.futures.Executor | None,
           workers: int | None) -> typing.Iterator[tuple[dict, dict]]:
    """Each of them with what a worker said, as it ends."""
    words = [str(w) for w in words]

    def through(pool: concurrent.futures.Executor, todo: list[dict]) -> typing.Iterator[tuple[dict, dict]]:
        futures = {pool.submit(_time, words, b["point"], folder): b for b in todo}
        try:
            for f in concurrent.futures.as_completed(futures):
                yield futures[f], f.result()
        finally:
            for f in futures:
                f.cancel()

    if not missing:
        return
    if executor is not None:
        try:
            yield from through(executor, missing)
        except concurrent.futures.BrokenExecutor as e:
            raise RuntimeError(f"the executor's workers ended ({e}); what was timed before is kept, and the next call goes on from it") from e
        return
    todo, many = list(missing), min(workers or len(os.sched_getaffinity(0)), len(missing))
    for pool_number in range(_POOLS):
        # A fork of a process with threads, which tinygpu's is, may hang.
        pool = concurrent.futures.ProcessPoolExecutor(many, multiprocessing.get_context("spawn"))
        try:
            for b, timed in through(pool, todo):
                todo = [t for t in todo if t is not b]
                yield b, timed
            return
        except concurrent.futures.BrokenExecutor as e:  # a worker died; the others' work counts
            if pool_number + 1 == _POOLS:
                raise RuntimeError(f"worker processes ended {_POOLS} times ({e}); what was timed before is kept") from e
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _keep(folder: pathlib.Path, timed: list[dict]) -> None:
    """What workers with folders of their own have timed goes into this one's file."""
    if not timed:
        return
    file = folder / "results.jsonl"
    known = {json.loads(line).get("key") for line in file.read_text().splitlines()} if file.exists() else set()
    if fresh := [b for b in timed if b["key"] not in known]:
        with file.open("a") as f:
            f.write("".join(json.dumps({"key": b["key"], "cycles": b["cycles"]}) + "\n" for b in fresh))
