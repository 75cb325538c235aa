"""Kernel Tuner's files: a cache, which its simulation mode takes for measurements, and T4, its format of results.

Cache: as kernel_tuner.util.process_cache (1.5.0) describes and reads it. T4: github.com/odgaard/TuningSchema, 1.0.0."""

from __future__ import annotations

import json
import pathlib
import re
import typing

if typing.TYPE_CHECKING:
    from gen5.search import Search

_NEVER = "1970-01-01T00:00:00+00:00"  # results are of no time: they are the same whenever they are computed


def tune_params(best: list) -> dict[str, list]:
    """Each parameter's values among these candidates, numbers as numbers."""
    out: dict[str, list] = {}
    for c in best:
        for name, text in c.parameters.items():
            values = out.setdefault(name, [])
            if (value := _value(text)) not in values:
                values.append(value)
    return {name: sorted(values, key=lambda v: (isinstance(v, str), v)) for name, values in out.items()}


def _value(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _configuration(candidate) -> dict[str, int | str]:
    return {name: _value(text) for name, text in candidate.parameters.items()}


def _size(s: Search) -> list[int]:
    first = s.problem.split()[0]  # "4096x4096x4096 …", or "32 heads, 8192 queries, …"
    return [int(x) for x in (first.split("x") if "x" in first else re.findall(r"\d+", s.problem))]


def _timed(s: Search) -> list:
    timed = [c for c in s.best if c.cycles is not None or c.error]
    if not timed:
        raise ValueError("no kernel of this search was timed: search with measure=1 or more")
    return timed


def write_cache(s: Search, path: pathlib.Path) -> None:
    timed = _timed(s)
    params = tune_params(timed)
    lines = {}
    for c in timed:
        config = _configuration(c)
        failed = {} if c.cycles is not None else {"__error__": "RuntimeFailedConfig"}
        ms = failed.get("__error__", c.us / 1e3)
        lines[",".join(str(config[name]) for name in params)] = {
            **config, **failed, "time": ms, "times": [] if failed else [ms], "compile_time": 0, "verification_time": 0, "benchmark_time": 0,
            "strategy_time": 0, "framework_time": 0, "timestamp": _NEVER}
    path.write_text(json.dumps({"device_name": f"tinygpu {s.machine}", "kernel_name": "gemm" if "x" in s.problem.split()[0] else "attention", "problem_size": _size(s),
                                "tune_params_keys": list(params), "tune_params": params, "objective": "time", "cache": lines}, indent=1) + "\n")


def write_t4(s: Search, path: pathlib.Path) -> None:
    results = []
    for c in _timed(s):
        right = c.cycles is not None
        results.append({"timestamp": _NEVER, "configuration": _configuration(c), "objectives": ["time"],
                        "times": {"compilation_time": 0, "framework": 0, "search_algorithm": 0, "validation": 0, "runtimes": [c.us / 1e3] if right else []},
                        "invalidity": "correct" if right else "runtime", "correctness": int(right),
                        "measurements": [{"name": "time", "value": c.us / 1e3, "unit": "ms"}, {"name": "cycles", "value": c.cycles, "unit": ""}] if right else []})
    path.write_text(json.dumps({"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds", "hardware": f"tinygpu {s.machine}", "problem": s.problem},
                                "results": results}, indent=1) + "\n")


def read(path: pathlib.Path) -> dict[str, float]:
    """{a point's text: ms} of a file of either kind, of the configurations that ran. ValueError: it is neither."""
    try:
        said = json.loads(path.read_text())
        if "results" in said:
            rows = [(r["configuration"], m["value"]) for r in said["results"] for m in r["measurements"] if m["name"] == "time"]
        else:
            rows = [({name: row[name] for name in said["tune_params_keys"]}, row["time"]) for row in said["cache"].values()]
        return {" ".join(f"{name}={value}" for name, value in config.items()): ms for config, ms in rows if isinstance(ms, (int, float))}
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"{path}: neither a cache nor T4 results of Kernel Tuner: {e}") from e
