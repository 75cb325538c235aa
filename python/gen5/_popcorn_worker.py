"""A process of `gen5 popcorn` that runs a submission's cases. It reads a line of JSON for each case and writes one."""

from __future__ import annotations

import json
import os
import re
import sys
import typing


def _clone(data: typing.Any) -> typing.Any:
    if isinstance(data, (tuple, list)):
        return type(data)(_clone(x) for x in data)
    if isinstance(data, dict):
        return {k: _clone(v) for k, v in data.items()}
    return data.clone() if hasattr(data, "clone") else data


def _tensors(data: typing.Any) -> typing.Iterator[typing.Any]:
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, (tuple, list)):
        for x in data:
            yield from _tensors(x)
    elif hasattr(data, "untyped_storage") and data.is_cuda:
        yield data


def _bytes(*data: typing.Any) -> int:
    """Bytes of the storages on the device, each counted once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in _tensors(list(data))}.values())


def _sentence(e: BaseException) -> str:
    """The message's first lines that are not empty, without colours."""
    lines = [x.strip() for x in re.sub(r"\x1b\[[0-9;]*m", "", str(e)).splitlines() if x.strip()]
    return f"{type(e).__name__}: {' '.join(lines[:3])}" if lines else type(e).__name__


class _Cases:
    def __init__(self, folder: str, settings: dict):
        import gen5
        self.settings, self.options = settings, {"order": settings["order"], "check": "races" if settings["check"] == "races" else True}
        self.run = gen5.install(settings["machine"], **self.options)
        os.chdir(folder)
        sys.path.insert(0, folder)
        self.reference: typing.Any = None

    def load(self) -> None:
        if self.reference is None:
            import reference  # type: ignore[import-not-found]
            import submission  # type: ignore[import-not-found]
            for module, name in ((reference, "generate_input"), (reference, "check_implementation"), (submission, "custom_kernel")):
                if not hasattr(module, name):
                    raise AttributeError(f"{module.__name__}.py has no {name}")
            self.reference, self.submission = reference, submission

    def test(self, case: dict) -> dict:
        import torch
        data = self.reference.generate_input(**case)
        out = self.submission.custom_kernel(_clone(data))
        torch.cuda.synchronize()
        self.run.after_launch()
        good = self.reference.check_implementation(data, out)
        good, message = good if isinstance(good, tuple) else (not good, good)
        return {} if good else {"error": str(message) or "the results are wrong"}

    def benchmark(self, case: dict) -> dict:
        said = self._benchmark(case, self.settings["timing_only"])
        if "timing-only-control" in said.get("error", ""):
            said = self._benchmark(case, False)
        return said

    def _benchmark(self, case: dict, timing_only: bool) -> dict:
        import torch
        from gen5 import _library, _torch_cuda, _torch_operators, _triton
        from gen5.predict import limit
        self.run._options = {"order": "timed", "profile": True} | ({"timing_only": True} if timing_only else {})
        self.clock_alone = timing_only
        data = self.reference.generate_input(**case)
        self.submission.custom_kernel(_clone(data))  # it compiles, and makes what it keeps
        torch.cuda.synchronize()
        self.run._begin()
        _triton.clear_l2()
        start, end = _torch_cuda.Event(enable_timing=True), _torch_cuda.Event(enable_timing=True)
        start.record()
        operators = _torch_operators.calls[0]
        out = self.submission.custom_kernel(data)
        torch.cuda.synchronize()
        end.record()
        operators = _torch_operators.calls[0] - operators
        us = start.elapsed_time(end) * 1e3
        self.run.after_launch()
        if any(d.code == "timing-only-control" for d in self.run.diagnoses):
            self.run.diagnoses.clear()
            return {"error": "timing-only-control"}
        kernels = self.run.profile()
        if not kernels:
            return {"error": "it launched no kernel: torch's own operators run on the CPU, and take none of the machine's time"}
        if self.settings.get("profile"):
            _tell(kernels)
        machine = _library.machine(self.settings["machine"])
        longest = max(kernels, key=lambda k: k["cycles"])
        limiter, busy = limit(longest, self.settings["machine"])
        mmas = sum(k["tensor_core_busy"] * k["cycles"] * k["sms"] for k in kernels) / machine["sms"]
        floor = max(_bytes(data, out) / machine["peaks"]["mem.dram.bytes_per_cycle"], mmas) / machine["clock_ghz"] / 1e3
        return {"us": us, "cycles": sum(k["cycles"] for k in kernels), "launches": self.run.launches, "limiter": limiter, "busy": busy, "floor_us": floor, "operators": operators,
                "in_full": self.settings["timing_only"] and not timing_only}

    def answer(self, kind: str, case: dict) -> dict:
        import gen5
        self.run.diagnoses.clear()
        self.clock_alone = False
        self.run._options = {"order": self.settings["order"]} | ({"check": "races"} if self.settings["check"] == "races" else {})
        self.run._begin()
        try:
            self.load()
            said = self.test(case) if kind == "test" else self.benchmark(case)
        except gen5.DiagnosisError as e:
            said = {"error": str(e).partition("\n")[0]}
        except Exception as e:
            said = {"error": _sentence(e)}
            try:
                self.run.after_launch()
            except gen5.DiagnosisError as broken:
                said = {"error": str(broken).partition("\n")[0]}
        if not self.clock_alone:  # what such a run says of data is as worthless as its data
            said["diagnoses"] = [d.text for d in self.run.diagnoses if d.severity != "note" and d.kernel]
        return said


def _tell(kernels: list[dict]) -> None:
    for k in kernels:
        print(f"    {k['kernel']}: {k['cycles']:,} cycles, {k['launches']} launches, {k['ctas']} CTAs on {k['sms']} SMs, {k['waves']:.2f} waves, "
              f"tensor core {k['tensor_core_busy']:.0%}, TMA {k['tma_busy']:.0%}")
        lines = sorted(k["lines"], key=lambda x: x["issuing"] + x["operands"] + sum(x.get("waits", {}).values()), reverse=True)
        for line in lines[:5]:
            waits = line.get("waits", {})
            most = max(waits, key=lambda w: waits[w]) if waits else "operands" if line["operands"] > line["issuing"] else "issuing"
            print(f"      {line['at']:<40} {line['issuing'] + line['operands'] + sum(waits.values()):>14,} warp cycles, mostly {most}")
    sys.stdout.flush()


def main() -> None:
    import warnings
    import gen5
    answers = os.fdopen(int(os.environ.pop("GEN5_POPCORN_FD")), "w")
    os.set_inheritable(answers.fileno(), False)
    warnings.simplefilter("ignore", gen5.DiagnosisWarning)  # the parent tells of each once
    cases = _Cases(sys.argv[1], json.loads(sys.argv[2]))
    for line in sys.stdin:
        print(json.dumps(cases.answer(*json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
