"""What Helion's autotuner needs here: candidates are measured on the machine's clock, once each and not as often as fills a time."""

from __future__ import annotations

import os
import typing


def _change_benchmarking(module: typing.Any) -> None:
    def do_bench(fn: typing.Callable[[], object], warmup: int = 25, rep: int = 100, grad_to_none: typing.Any = None, quantiles: typing.Any = None,
                 return_mode: str = "mean", process_group_name: str | None = None, **_: typing.Any) -> typing.Any:
        """Milliseconds of the machine's clock."""
        import triton.testing  # _triton.py has changed it
        return triton.testing.do_bench(fn, grad_to_none=grad_to_none, quantiles=quantiles, return_mode=return_mode)

    def interleaved_bench(fns: typing.Sequence[typing.Callable[[], object]], *_: typing.Any, **__: typing.Any) -> list[float]:
        """The machine's clock does not wander: candidates need not take turns."""
        return [float(do_bench(fn)) for fn in fns]

    module.do_bench = module.do_bench_cuda_graph = do_bench
    module.interleaved_bench = interleaved_bench


def _prepare() -> None:
    """Candidates are measured in this process: a new one would have no machine, and its own compile takes longer than a run here."""
    os.environ.setdefault("HELION_AUTOTUNE_BENCHMARK_SUBPROCESS", "0")


BEFORE = {"helion": _prepare}
CHANGES = {"helion.autotuner.benchmarking": _change_benchmarking}
