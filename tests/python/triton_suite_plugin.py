"""The pytest plugin of triton_suite.py: which of the collected tests run, and a line of JSON for the begin and the end of each."""

import gc
import hashlib
import json
import os
import pathlib
import re

IDS, LOG = "GEN5_SUITE_IDS", "GEN5_SUITE_LOG"


def place(name, seed):
    """A number between 0 and 1 that a test has for a seed, whatever other tests there are."""
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8], "big") / 2**64


def sampled(name, share, seed):
    return place(name, seed) < share


def read(path):
    """The complete lines so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def _write(**line):
    with open(os.environ[LOG], "a") as f:
        f.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(config, items):
    if config.option.collectonly:
        for item in items:
            _write(id=item.nodeid)
        return
    wanted = set(pathlib.Path(os.environ[IDS]).read_text().split("\n"))
    config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in wanted])
    items[:] = [i for i in items if i.nodeid in wanted]


def pytest_collection_finish(session):
    """The suite collects garbage behind each test. What the collection of tests made stays: looking through it takes as long as a small test."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logstart(nodeid):
    _write(begins=nodeid)


_said = {}


def pytest_runtest_logreport(report):
    """One outcome a test: the worst of its set-up, its call and its end."""
    seconds, worst, why = _said.get(report.nodeid, (0, "passed", ""))
    seconds += report.duration
    outcome = "skipped" if hasattr(report, "wasxfail") and report.skipped else report.outcome
    if outcome != "passed" and worst == "passed":
        worst = outcome
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    _said[report.nodeid] = seconds, worst, why
    if report.when == "teardown":
        codes = sorted(set(re.findall(r"tinygpu error\[([\w-]+)\]", why)))
        _write(id=report.nodeid, outcome=worst, why=why[-1500:], codes=codes, seconds=round(seconds, 1))
        del _said[report.nodeid]
