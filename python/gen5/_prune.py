"""Triton's autotuner asks tinygpu which configurations are worth a launch."""

from __future__ import annotations

import typing

from gen5.predict import predict

_OF_THE_CALL = ("grid", "warmup")  # what kernel[grid](…) hands on beside the kernel's own arguments


def prune_configs(kernel: typing.Callable[[], typing.Any], keep: int | float = 0.25, *, machine: str | None = None, workers: int | None = None,
                  timeout: float | None = None, cache: bool = True) -> dict[str, typing.Any]:
    """For triton.autotune: only the configurations that gen5.predict() says are the fastest are launched.

        @triton.autotune(configs, key=["M"], prune_configs_by=gen5.prune_configs(lambda: matmul, keep=4))
        @triton.jit
        def matmul(...)

    kernel: a function that returns the kernel, whose name is bound later than this call. keep: how many configurations, or which part of them.
    Those that cannot run (shared memory, say) are left out; where none can, Triton gets all of them and says why. Arguments and grid are those of
    the launch that is tuned. machine, workers, timeout, cache: as predict() has them.
    The dict has `perf_model` too, for those who want Triton's own top_k instead: prune_configs_by={**…, "early_config_prune": None, "top_k": 4}."""
    if not callable(kernel) or hasattr(kernel, "run"):
        raise TypeError(f"prune_configs({kernel!r}): write a function that returns the kernel, as in prune_configs(lambda: matmul)")
    if not keep > 0 or (isinstance(keep, float) and keep > 1):
        raise ValueError(f"keep={keep}: write how many configurations, or a part of them between 0 and 1")
    options: dict[str, typing.Any] = {"machine": machine, "workers": workers, "timeout": timeout, "cache": cache}

    def early_config_prune(configs: list, named_args: dict, **given: typing.Any) -> list:
        meta = {name: value for name, value in given.items() if name not in _OF_THE_CALL}
        said = predict(kernel(), [{**meta, **c.all_kwargs()} for c in configs], list(named_args.values()), grid=given["grid"], **options)
        runs = sorted((p.us, i) for i, p in enumerate(said) if not p.error)
        count = keep if isinstance(keep, int) else max(1, round(keep * len(configs)))
        return [configs[i] for _, i in runs[:count]] or list(configs)

    def perf_model(*, grid: typing.Any, **given: typing.Any) -> float:
        """Milliseconds of one configuration."""
        tuned = kernel()
        while not hasattr(tuned, "arg_names") or hasattr(tuned, "configs"):
            tuned = tuned.fn
        args = []
        for name in tuned.arg_names:  # up to the first that the configuration, or the launch, names
            if name not in given or name in _constexprs(tuned):
                break
            args.append(given.pop(name))
        given.pop("warmup", None)
        said, = predict(tuned, [given], args, grid=grid, **options)
        return said.us / 1e3 if not said.error else float("inf")

    return {"early_config_prune": early_config_prune, "perf_model": perf_model, "top_k": 1.0}


def _constexprs(kernel: typing.Any) -> set[str]:
    return {p.name for p in kernel.params if p.is_constexpr}
