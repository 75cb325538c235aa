"""The runner of Triton's suite: what passes, fails, dies and hangs; the sample; the list of what is expected."""

import argparse
import pathlib
import sys

import pytest

# Behind what is installed: tests/python has a folder torch.
sys.path += [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parents[2] / "foreign")]

import triton_suite  # noqa: E402
import triton_suite_plugin  # noqa: E402

del sys.path[-2:]

pytestmark = pytest.mark.gen5_orders("timed")
TESTS = """
import os, pytest, time
def test_right(device): assert device == "cuda"
def test_wrong(): assert 1 == 2, "one is not two"
def test_dies(): os._exit(3)
def test_hangs(): time.sleep(600)
@pytest.mark.skip(reason="no such GPU")
def test_left_out(): pass
@pytest.mark.parametrize("a", [1, 2])
def test_behind(a): pass
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.setattr(triton_suite, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(triton_suite, "ORDERS", ("timed",))
    repo = tmp_path / "repo"
    (repo / "python/test/unit").mkdir(parents=True)
    (repo / "python/triton").mkdir()
    (repo / "python/triton/__init__.py").write_text("raise ImportError('not the one that is installed')")
    (repo / "python/conftest.py").write_text("import pytest\n@pytest.fixture\ndef device(): return 'cuda'\n")
    (repo / "python/test/unit/test_some.py").write_text(TESTS)
    (repo / "python/test/unit/test_lacks.py").write_text("import no_such_module")
    (repo / "python/test/gluon").mkdir()
    (repo / "python/test/gluon/conftest.py").write_text("raise ImportError('skips tests for another Triton')")
    (repo / "python/test/gluon/test_names.py").write_text("def test(): assert old_one(old_one_too()) and not_old_one()\n")
    installed = tmp_path / "installed"
    (installed / "experimental/gluon/hopper").mkdir(parents=True)
    (installed / "experimental/gluon/hopper/tma.py").write_text('raise RuntimeError("old_one has been removed; call new_one instead")')
    out = object.__new__(triton_suite.Environment)
    out.python, out.triton, out.source = sys.executable, "0", "0"
    out.tests = triton_suite.copy_of_tests(repo, installed)
    return out


def test_run(environment, tmp_path):
    files = ["unit/test_some.py", "unit/test_lacks.py", "unit/test_that_is_not_there.py"]
    log, ids_file = tmp_path / "log", tmp_path / "ids"
    ids, errors = triton_suite.collect(environment, "b200", files, log)
    assert len(ids) == 7 and "no_such_module" in " ".join(errors)
    said = {line["id"].partition("::")[2].partition("[")[0]: line for line in triton_suite.run_ids(environment, "b200", ids, 3, log, ids_file)}
    assert {name: line["outcome"] for name, line in said.items()} == {
        "test_right": "passed", "test_wrong": "failed", "test_dies": "crashed", "test_hangs": "slow", "test_left_out": "skipped", "test_behind": "passed"}
    assert "one is not two" in said["test_wrong"]["why"]


def test_copy(environment):
    assert (environment.tests / "gluon/test_names.py").read_text() == "def test(): assert new_one(old_one_too()) and not_old_one()\n"
    assert not (environment.tests / "gluon/conftest.py").exists()


def test_sample():
    names = [f"test_{i}" for i in range(10000)]
    taken = [n for n in names if triton_suite_plugin.sampled(n, 0.1, 1)]
    assert 900 < len(taken) < 1100
    assert [n for n in taken if triton_suite_plugin.sampled(n, 0.05, 1)] == [n for n in names if triton_suite_plugin.sampled(n, 0.05, 1)], "part of the larger one"
    assert taken != [n for n in names if triton_suite_plugin.sampled(n, 0.1, 2)]


@pytest.fixture
def expected(tmp_path, monkeypatch):
    monkeypatch.setattr(triton_suite, "EXPECTED", tmp_path / "list.txt")
    triton_suite.expected.cache_clear()
    yield triton_suite.EXPECTED
    triton_suite.expected.cache_clear()


def test_sample_takes_so_many_of_each_file():
    ids = [f"{file}.py::test_{i}" for file in "ab" for i in range(50)] + ["c.py::test_0"]
    taken = triton_suite.sample(ids, 1, 1, 5)
    assert [sum(name.startswith(file) for name in taken) for file in "abc"] == [5, 5, 1]
    assert set(taken) < set(triton_suite.sample(ids, 1, 1, 20)), "part of the larger one"
    assert set(triton_suite.sample(ids, 1, 1, 0)) == set(ids)


def test_continue(environment, expected, monkeypatch):
    expected.write_text("")
    monkeypatch.setattr(triton_suite, "AREAS", {"some": ["unit/test_some.py"]})
    monkeypatch.setattr(triton_suite, "SAID", triton_suite.RESULTS / "said.json")

    def run(**options):
        given = {"share": 1, "seed": 1, "most": 0, "seconds": 3, "limit": 60, "go_on": True} | options
        return triton_suite.run_area(environment, "b200", "some", argparse.Namespace(**given))

    assert run(most=2, limit=0) == 0 and triton_suite.record_of("some", "b200") is None, "there was no time for any"
    run(most=2)
    first = [line["id"] for line in triton_suite.record_of("some", "b200")["said"]]
    assert len(first) == 2
    assert run() == 2, "test_wrong and test_dies, which no list knows"
    said = [line["id"] for line in triton_suite.record_of("some", "b200")["said"]]
    assert said[:2] == first and len(said) == len(set(said)) == 7
    triton_suite.keep()
    assert triton_suite.kept.load(triton_suite.SAID) == {"0": {
        "unit/test_some.py": {"b200": {"tests": 7, "taken": 7, "passed": 3, "skipped": 1, "slow": 1, "known": 0, "unknown": 2, "reasons": {}}}}}
    assert "| 0 | unit/test_some.py | b200 | 7 of 7 | 3 | 1 | 1 | 0 | 2 |" in triton_suite.table()
    assert "7 of 7 tests. Of 5 that ran to their end 3 pass (60.0%), 0 fail with a reason and 2 without." in triton_suite.table()[-1]


def test_a_test_for_another_triton_counts_as_skipped(environment, expected, monkeypatch):
    expected.write_text("b200 timed other-triton unit/test_some.py::test_wrong[* -- one is two there\n")
    monkeypatch.setattr(triton_suite, "AREAS", {"some": ["unit/test_some.py"]})
    monkeypatch.setattr(triton_suite, "SAID", triton_suite.RESULTS / "said.json")
    given = {"share": 1, "seed": 1, "most": 0, "seconds": 3, "limit": 60, "go_on": False}
    assert triton_suite.run_area(environment, "b200", "some", argparse.Namespace(**given)) == 1, "test_dies"
    triton_suite.keep()
    assert triton_suite.kept.load(triton_suite.SAID)["0"]["unit/test_some.py"]["b200"] == {
        "tests": 7, "taken": 7, "passed": 3, "skipped": 2, "slow": 1, "known": 0, "unknown": 1, "reasons": {}}


def test_the_table_counts_reasons(environment, expected, monkeypatch):
    expected.write_text("b200 timed - unit/test_some.py::test_wrong[* -- one is not two\nb200 timed - unit/test_some.py::test_dies[* -- it dies\n")
    monkeypatch.setattr(triton_suite, "AREAS", {"some": ["unit/test_some.py"]})
    monkeypatch.setattr(triton_suite, "SAID", triton_suite.RESULTS / "said.json")
    given = {"share": 1, "seed": 1, "most": 0, "seconds": 3, "limit": 60, "go_on": False}
    assert triton_suite.run_area(environment, "b200", "some", argparse.Namespace(**given)) == 0
    triton_suite.keep()
    *_, sums, empty, one, two = triton_suite.table()
    assert "3 pass (60.0%), 2 fail with a reason and 0 without." in sums and not empty
    assert {one, two} == {"* 1 fail: one is not two.", "* 1 fail: it dies."}


def test_reasons(expected):
    expected.write_text("# a comment\nb200,h200 timed,late - a.py::test_one -- one\n"
                        "h200 late data-race a.py::test_two[*-f8-*] -- brackets are the test's\n")
    assert triton_suite.reason_of("b200", "a.py::test_one", []) == "one"
    assert triton_suite.reason_of("b200", "a.py::test_one", ["deadlock"]) is None, "it fails otherwise"
    assert triton_suite.reason_of("h200", "a.py::test_two[late-f8-3]", ["data-race"]) == "brackets are the test's"
    assert triton_suite.reason_of("h200", "a.py::test_two[late-f8-3]", []) is None, "a wrong number is no race"
    assert triton_suite.reason_of("h200", "a.py::test_two[timed-f8-3]", ["data-race"]) is None
    assert triton_suite.reason_of("b200", "a.py::test_two[late-f8-3]", ["data-race"]) is None
    assert triton_suite.reason_of("h200", "a.py::test_two[late-f16-3]", ["data-race"]) is None


@pytest.mark.parametrize("line", ["b200 timed - a.py::test_one", "b200 timed - a.py::test_one -- ", "b300 timed - a.py::test_one -- why",
                                  "b200 soon - a.py::test_one -- why", "b200 timed a.py::test_one -- why"])
def test_a_line_without_a_reason_is_refused(expected, line):
    expected.write_text(line + "\n")
    with pytest.raises(SystemExit, match="list.txt:1: not MACHINES ORDERS CODE PATTERN -- REASON"):
        triton_suite.expected()
