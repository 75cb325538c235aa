"""The pytest plugin, in processes of its own."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent

pytestmark = pytest.mark.gen5_orders("timed")  # each starts a pytest of its own, which has orders of its own


def run(folder, *options):
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "gen5._pytest", "-p", "no:cacheprovider", "-q", *options, str(folder)],
                          capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def tests(tmp_path):
    def write(body):
        (tmp_path / "kernel.py").write_text((HERE / "kernel.py").read_text())
        (tmp_path / "test_it.py").write_text("import gen5, numpy as np, pytest\nfrom kernel import *\n" + body)
        return tmp_path
    return write


GOOD = "def test_it(gen5_run):\n    o = gen5.zeros(32, np.int32)\n    launch(COUNT, 'count', o.data_ptr(), 0)\n    assert o.numpy().sum() == 496\n"


def test_each_order(tests):
    code, text = run(tests(GOOD + "@pytest.mark.gen5_orders('timed')\ndef test_other():\n    pass\n"), "-vv", "--gen5", "b200", "--gen5-orders",
                     "timed,late,seeded:3")
    assert code == 0 and re.findall(r"::(\S+) PASSED", text) == [f"test_it[{o}]" for o in ("timed", "late", "seed1", "seed2", "seed3")] + \
        ["test_other[timed]"]
    assert "machine b200, orders timed,late,seeded:3" in text


def test_diagnosis_fails_a_test_that_looks_at_nothing(tests):
    code, text = run(tests("def test_it():\n    o = gen5.zeros(32, np.int32)\n    launch(COUNT, 'count', o.data_ptr(), 4)\n"
                           "def test_next():\n    o = gen5.zeros(32, np.int32)\n    launch(COUNT, 'count', o.data_ptr(), 0)\n"), "--gen5", "b200")
    assert code == 1 and "illegal-address" in text and "3 failed, 3 passed" in text


def test_wrong_numbers_point_to_the_race_check(tests):
    code, text = run(tests(GOOD.replace("496", "497")), "--gen5", "b200", "--gen5-orders", "late")
    assert code == 1 and "--gen5-check races" in text


def test_without_the_option(tests):
    code, text = run(tests(GOOD + "def test_plain():\n    pass\n"))
    assert code == 0 and "1 passed, 1 skipped" in text


@pytest.mark.parametrize("options, message", [(["--gen5-orders", "soon"], "write timed, late or seeded:COUNT"), (["--gen5", "b3"], "b3")])
def test_bad_options(tests, options, message):
    code, text = run(tests(GOOD), "--gen5", "b200", *options)
    assert code != 0 and message in text


@pytest.mark.parametrize("line, options, said", [
    # Which of the two depends on how long device memory takes; the numbers are wrong in both cases.
    ("mbarrier.wait(full.index(stage)", [], r"(error\[mbarrier-over-arrival|warning\[mbarrier-phase-unobserved)"),
    ("mbarrier.wait(done", ["--gen5-check", "races"], r"error\[[\w-]*async-not-complete"),
    ("mbarrier.init(done", [], r"error\[[\w-]*mbarrier-not-initialised")])
def test_missing_barrier_of_a_gluon_kernel(tmp_path, line, options, said):
    text = (ROOT / "examples/python/test_gluon_ring.py").read_text()
    assert text.count(line) == 1
    (tmp_path / "test_ring.py").write_text("".join(x for x in text.splitlines(True) if line not in x))
    code, text = run(tmp_path, "--gen5", "b200", "--gen5-orders", "timed", *options)
    assert code == 1 and re.search(rf"tinygpu {said}", text), text[-3000:]
    assert re.search(r"--> \S*test_ring.py:\d+", text)
