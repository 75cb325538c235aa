"""The pytest plugin: `pytest --gen5 b200` runs each test under several orders of completion. A diagnosis of a kernel fails its test."""

from __future__ import annotations

import os
import sys
import typing

import pytest

import gen5
from gen5 import _library, _session


def _orders(text: str) -> list[tuple[str, dict[str, typing.Any]]]:
    """"timed,late,seeded:5" → names, and the options of gpu()."""
    out: list[tuple[str, dict[str, typing.Any]]] = []
    for part in text.split(","):
        name, _, count = part.strip().partition(":")
        if name in ("timed", "late") and not count:
            out.append((name, {"order": name}))
        elif name == "seeded" and (not count or count.isdigit()):
            out += [(f"seed{n}", {"seed": n}) for n in range(1, int(count or 1) + 1)]
        else:
            raise pytest.UsageError(f"--gen5-orders: {part!r}: write timed, late or seeded:COUNT, with commas between")
    return out


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gen5", "kernels on a machine model instead of a GPU")
    group.addoption("--gen5", metavar="MACHINE", help="run kernels on this machine: b200, h200, or a profile's path")
    group.addoption("--gen5-orders", metavar="LIST", default="timed,late,seeded:1",
                    help="run each test once in each of these orders of completion (default: timed,late,seeded:1)")
    group.addoption("--gen5-check", choices=["quick", "races", "off"], default="quick",
                    help="which checks run: quick (default), races: every missing order between accesses to memory, off: only "
                    "what stops a kernel fails a test")
    group.addoption("--gen5-debug", action="store_true", help="end at the first test in which a kernel breaks a rule, and run it again in "
                    "gen5 debug, which goes to where that happens")
    group.addoption("--gen5-max-cycles", metavar="N", type=int, default=0, help="stop a kernel that runs longer")


_TO_DEBUG = pytest.StashKey[str]()


def _debugged() -> bool:
    return bool(os.environ.get("GEN5_DEBUG_SOCKET"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """The test that failed runs once more, alone: this process becomes the debugger of another."""
    node = config.stash.get(_TO_DEBUG, None)
    if node is None or _debugged():
        return
    program = str(_library.program())
    asked = [a for a in config.invocation_params.args if a not in config.args and a != "--gen5-debug"]
    sys.stdout.flush()
    os.execv(program, [program, "debug", "--diagnosis", sys.executable, "-m", "pytest", *map(str, asked), "-s", node])


def _check(config: pytest.Config) -> bool | str:
    return {"quick": True, "races": "races", "off": False}[config.getoption("--gen5-check")]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gen5_orders(list): the orders of completion of this test, in place of --gen5-orders")
    if machine := config.getoption("--gen5"):
        _orders(config.getoption("--gen5-orders"))
        try:
            gen5.install(machine, check=_check(config))
        except (ImportError, ValueError) as e:
            raise pytest.UsageError(f"--gen5 {machine}: {e}") from e


def pytest_report_header(config: pytest.Config) -> str | None:
    machine = config.getoption("--gen5")
    return f"gen5: machine {machine}, orders {config.getoption('--gen5-orders')}" if machine else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if not metafunc.config.getoption("--gen5"):
        return
    marker = metafunc.definition.get_closest_marker("gen5_orders")
    orders = _orders(marker.args[0] if marker else metafunc.config.getoption("--gen5-orders"))
    metafunc.parametrize("_gen5_stretch", [options for _, options in orders], ids=[name for name, _ in orders], indirect=True)


@pytest.fixture(autouse=True)
def _gen5_stretch(request: pytest.FixtureRequest) -> typing.Iterator[gen5.Run | None]:
    machine = request.config.getoption("--gen5")
    if not machine:
        yield None
        return
    options = getattr(request, "param", {})  # none for what is no function of pytest's own, such as unittest's
    with gen5.gpu(machine, check=_check(request.config), max_cycles=request.config.getoption("--gen5-max-cycles"), **options) as run:
        yield run


@pytest.fixture
def gen5_run(_gen5_stretch: gen5.Run | None) -> gen5.Run:
    """The Run in which the test runs: its diagnoses, launches and cycles."""
    if _gen5_stretch is None:
        pytest.skip("needs --gen5 MACHINE")
    return _gen5_stretch


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> typing.Iterator[None]:
    """A rule that a kernel breaks fails the test, even if the test ends before it waits for the kernel or reads a result."""
    outcome = yield
    run = _session.current()
    if run is None or not pyfuncitem.config.getoption("--gen5"):
        return
    failed = outcome.excinfo[1] if outcome.excinfo else None
    try:
        run.after_launch(failed=failed)
    except gen5.DiagnosisError as broken:
        failed = broken
        outcome.force_exception(broken)
    if isinstance(failed, gen5.DiagnosisError):
        if pyfuncitem.config.getoption("--gen5-debug") and not pyfuncitem.session.shouldstop:
            pyfuncitem.config.stash[_TO_DEBUG] = pyfuncitem.nodeid
            pyfuncitem.session.shouldstop = "a kernel has broken a rule: gen5 debug is next"
        return
    if isinstance(failed, AssertionError) and run.launches and _check(pyfuncitem.config) is True:
        pyfuncitem.add_report_section("call", "gen5", "No kernel broke a rule that the quick checks know. If the numbers are wrong in "
                                      "some orders only, a wait or a fence is missing: --gen5-check races looks for it.")
