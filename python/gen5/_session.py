"""The machine, and runs: parts of the program whose kernels run on it under one order of completion."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import typing
import warnings

from gen5 import _library

Order = typing.Literal["timed", "late", "seeded"]


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """tinygpu's message about a kernel, or about a call that it refuses."""

    code: str  # `gen5 explain CODE` tells all about it
    severity: str  # "error", "warning" or "note"
    message: str
    help: str
    kernel: str  # empty: the host did it
    file: str  # the Triton, CuTe or CUDA source, and the line in it; empty and 0 where that is unknown
    line: int
    column: int
    # All places, the one above first: each a dict of label, file, line, column, ptxLine, ptx, kernel, cta, warp, thread, operation,
    # cycle, as far as known, and "inlined", the calls that the line was inlined through, innermost first.
    places: list[dict[str, typing.Any]] = dataclasses.field(repr=False)
    text: str = dataclasses.field(repr=False)  # all of it, with the source lines, the rule and the fix

    def __str__(self) -> str:
        return self.text


# What CUDA calls them, for programs that look for its words.
_CUDA_WORDS = {"device-assert": "CUDA error: device-side assert triggered", "trap": "CUDA error: unspecified launch failure"}


class DiagnosisError(RuntimeError):
    """A kernel broke a rule. `diagnoses` has all diagnoses; `code`, `file` and `line` are those of the first."""

    def __init__(self, diagnoses: typing.Sequence[Diagnosis]):
        self.diagnoses = list(diagnoses)
        self.code, self.file, self.line = diagnoses[0].code, diagnoses[0].file, diagnoses[0].line
        words = [_CUDA_WORDS[self.code]] if self.code in _CUDA_WORDS else []
        super().__init__("\n".join([d.text.rstrip() for d in diagnoses] + words))

    def __reduce__(self) -> tuple[type[DiagnosisError], tuple[list[Diagnosis]]]:
        """A process that runs kernels for another one may hand it over."""
        return type(self), (self.diagnoses,)


class DiagnosisWarning(UserWarning):
    """A warning of tinygpu's."""


# Frames of these are not the program's: what calls kernels, and what starts programs and calls functions at their end.
_BETWEEN = {"gen5", "triton", "torch", "cutlass", "numba", "cupy", "contextlib", "runpy", "threading"}


def _warn(d: Diagnosis) -> None:
    """Warns at the program's running line. At the program's end, when no line runs, it warns at the kernel's line."""
    frame = sys._getframe(1)
    here = os.path.dirname(__file__)
    while frame is not None and (frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN or frame.f_code.co_filename.startswith((here, "<frozen"))):
        frame = frame.f_back
    if frame is None:
        warnings.warn_explicit(d.text.rstrip(), DiagnosisWarning, d.file or sys.argv[0] or "gen5", d.line or 1)
    else:
        warnings.warn_explicit(d.text.rstrip(), DiagnosisWarning, frame.f_code.co_filename, frame.f_lineno,
                               registry=frame.f_globals.setdefault("__warningregistry__", {}))


class Run:
    """A part of the program whose kernels run on the machine. gpu() and install() make it."""

    def __init__(self, machine: str, options: dict[str, object], check: bool | str):
        self.machine = machine
        self.check = check
        self.diagnoses: list[Diagnosis] = []  # all of them, also those that raised
        self.launches = 0  # of kernels, in this stretch
        self.cycles = 0  # of the machine's clock, copies included
        self._options = options
        self._start: tuple[int, int] = (0, 0)
        self._document: dict[str, str | None] = {}
        self._live = False

    def profile(self) -> list[dict]:
        """Returns where each kernel's time went, as `gen5 run --profile-json` writes it."""
        return json.loads(self._text("profile"))

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a timeline for ui.perfetto.dev: the first 8 launches on 4 SMs, or those since the last call."""
        pathlib.Path(path).write_text(self._text("trace"))

    def _text(self, what: str) -> str:
        text = _library.session(what) if self._live else self._document.get(what)
        if text is None:
            raise RuntimeError(f"nothing was kept: ask for it with gpu(…, {what}=True)")
        return text

    def _begin(self) -> None:
        if why := _library.session("begin", json.dumps(self._options).encode()):
            raise ValueError(why)
        state = _library.take()
        self._start = (state["launches"], state["cycles"])
        self._live = True

    def _end(self) -> None:
        for what in ("profile", "trace"):
            if self._options.get(what):
                self._document[what] = _library.session(what)
        self._live = False

    def _collect(self) -> tuple[list[Diagnosis], int]:
        """Returns new diagnoses and the sticky error, and clears that error."""
        state = _library.take()
        self.launches, self.cycles = state["launches"] - self._start[0], state["cycles"] - self._start[1]
        new = [Diagnosis(**d) for d in state["diagnoses"]]
        self.diagnoses += new
        if state["error"]:
            _library.session("recover")
        return new, state["error"]

    def after_launch(self, failed: BaseException | None = None) -> None:
        """Raises the errors of kernels since the last call, and warns of their other diagnoses."""
        __tracebackhide__ = True
        new, error = self._collect()
        broken = [d for d in new if d.severity == "error" and d.kernel]
        for d in new:
            if d.severity != "note" and d not in broken:
                if failed is not None and d.severity == "error" and hasattr(failed, "add_note"):
                    failed.add_note(d.text.rstrip())  # what a refused call has to do with the exception on its way
                elif d.code != "private-interface" and "cuLogsRegisterCallback" not in d.message:  # who asks for it and goes on has another way
                    _warn(d)
        if broken and (self.check or error):
            for d in broken:
                if d.code == "device-assert":
                    print(d.message, file=sys.stderr)  # as the driver does
            raise DiagnosisError(broken) from failed


_stack: list[Run] = []


def current() -> Run | None:
    """The innermost run, if any."""
    return _stack[-1] if _stack else None


def _make(machine: str, order: Order | None, seed: int | None, check: bool | str, options: dict[str, object]) -> Run:
    if check not in (True, False, "races"):
        raise ValueError(f"check={check!r}: write True, False or 'races'")
    chosen: dict[str, object] = {k: v for k, v in options.items() if v}
    if order is not None:
        chosen["order"] = order
    if seed is not None:
        chosen["seed"] = seed
    if check == "races":
        chosen["check"] = "races"
    if why := _library.session("open", machine.encode()):
        raise ValueError(why)
    from gen5 import _frontends
    _frontends.install()
    return Run(machine, chosen, check)


def install(machine: str | None = None, *, order: Order | None = None, seed: int | None = None, check: bool | str = True,
            profile: bool = False, trace: bool = False, max_cycles: int = 0) -> Run:
    """Runs kernels on tinygpu from here to the end of the process, as gpu() does for a block. The default machine is $GEN5_MACHINE, or the
    B200. Call it before a library uses CUDA; a second call changes the options."""
    run = _make(machine or os.environ.get("GEN5_MACHINE") or "b200", order, seed, check,
                {"profile": profile, "trace": trace, "max_cycles": max_cycles})
    if len(_stack) > 1:
        raise RuntimeError("install() within gpu()")
    run._begin()
    if not _stack:
        atexit.register(_tell_at_the_end)
    _stack[:] = [run]
    return run


def _tell_at_the_end() -> None:
    """Reports refused calls, and rules that kernels broke after the program's last wait."""
    try:
        if _stack:
            _stack[-1].after_launch()
    except DiagnosisError as broken:
        print(broken, file=sys.stderr)


@contextlib.contextmanager
def gpu(machine: str = "b200", order: Order | None = None, check: bool | str = True, *, seed: int | None = None, profile: bool = False,
        trace: bool = False, max_cycles: int = 0) -> typing.Iterator[Run]:
    """Runs the block's kernels on tinygpu.

    machine: a profile ("b200", "h200", a path); one for each process. order: when asynchronous effects land, "timed", "late" or "seeded" (a
    seed alone means seeded). check: True: a kernel that breaks a rule raises DiagnosisError; "races": the check also searches for every
    missing order between accesses to memory, and takes up to five times as long; False: only errors that stop a kernel raise. profile,
    trace: keep the data of Run.profile() and Run.trace(). max_cycles: a kernel that runs longer is stopped.
    """
    run = _make(machine, order, seed, check, {"profile": profile, "trace": trace, "max_cycles": max_cycles})
    outer = current()
    if outer is not None:
        outer.after_launch()
        outer._end()
    run._begin()
    _stack.append(run)
    try:
        yield run
    except BaseException as failed:
        run.after_launch(failed=failed)
        raise
    else:
        run.after_launch()
    finally:
        run._end()
        _stack.pop()
        if outer is not None:
            outer._begin()
        else:
            _library.load()[0].tinygpu_session_end()
