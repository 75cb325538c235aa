"""Keeps what each test said, for the table of the note: one file a test, machine and order in $GEN5_PYTHON_RESULTS."""

import json
import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    folder = os.environ.get("GEN5_PYTHON_RESULTS")
    if not folder or (call.when != "call" and report.passed) or "_gen5_stretch" not in getattr(item, "callspec", item.session).__dict__.get("params", ()):
        return
    parameters = dict(item.callspec.params)
    order = parameters.pop("_gen5_stretch")
    order = "seeded" if "seed" in order else order["order"]
    arguments = [a for a in item.callspec.id.split("-") if not re.fullmatch("timed|late|seed[0-9]+|<lambda>|gluon_kind[0-9]|interleaved", a)]
    name = item.originalname + (f"[{'-'.join(arguments)}]" if parameters else "")
    said = {"file": item.path.stem, "name": name, "machine": item.config.getoption("--gen5"), "order": order,
            "verdict": "right" if report.passed else "skipped" if report.skipped else "wrong",
            "reason": report.longrepr[2] if report.skipped else ""}
    key = re.sub(r"[^\w.-]", "_", f"{item.path.stem}.{name}.{said['machine']}.{order}")
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    (pathlib.Path(folder) / f"{key}.json").write_text(json.dumps(said))
