"""gen5.search(): what the command says, from any number of workers, from what was kept; bad input."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import gen5
from gen5 import _kernel_tuner, _library

pytestmark = pytest.mark.gen5_orders("timed")
PROBLEM = {"m": 256, "n": 512, "k": 512, "machine": "h200"}
POINTS = ["tile=64x64 block=128 stages=3 schedule=serial consumers=1", "tile=64x128 block=128 stages=3 schedule=serial consumers=1"]


def command(*words, operation="gemm"):
    done = subprocess.run([str(w) for w in (_library.program(), "search", operation, *words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_as_the_command(tmp_path):
    command("--machine", "h200", "--m", 256, "--n", 512, "--k", 512, "--measure", 0, "--json", tmp_path / "said.json")
    said, here = json.loads((tmp_path / "said.json").read_text()), gen5.search(**PROBLEM, measure=0, cache=tmp_path / "cache")
    assert (here.problem, here.machine) == ("256x512x512 bf16 -> bf16", "h200") and here.proof is None
    assert [(c.point, c.tiny_cycles, c.limit, c.us) for c in here.best] == [(b["point"], b["tiny_cycles"], b["limit"], b["us"]) for b in said["best"]]
    assert sum(p.points for p in here.pruned) + here.legal == here.points == said["points"]
    assert {p.rule: p.points for p in here.pruned} == {p["rule"]: p["points"] for p in said["pruned"]}
    assert "227" in next(p for p in here.pruned if p.rule == "shared-memory").example or here.pruned


def test_attention_as_the_command(tmp_path):
    words = ["--machine", "h200", "--heads", 4, "--n", 700, "--queries", 300, "--d", 64, "--causal", "--measure", 0, "--json", tmp_path / "said.json"]
    command(*words, operation="attention")
    said = json.loads((tmp_path / "said.json").read_text())
    here = gen5.search_attention(4, 700, queries=300, d=64, causal=True, machine="h200", measure=0, cache=tmp_path / "cache")
    assert here.problem == said["problem"] == "4 heads, 300 queries, 700 keys, 64 dimensions, causal"
    assert [(c.point, c.tiny_cycles, c.limit) for c in here.best] == [(b["point"], b["tiny_cycles"], b["limit"]) for b in said["best"]]
    assert sum(p.points for p in here.pruned) + here.legal == here.points
    with pytest.raises(ValueError, match="--d 80 is not taken: the templates of attention have heads of 64 and of 128 dimensions"):
        gen5.search_attention(d=80, measure=0)


def test_bad_input(tmp_path):
    for words, sentence in (({"k": 12}, "--k 12 is not taken"), ({"machine": "no_such"}, "no_such"), ({"points": ["tiles=1"]}, '"tiles" is no parameter'),
                            ({"top": 0}, "top=0: write at least 1"), ({"workers": 0}, "workers=0")):
        with pytest.raises(ValueError, match=sentence):
            gen5.search(**{**PROBLEM, "measure": 0, "cache": tmp_path, **words})
    with pytest.raises(TypeError, match="write a list"):
        gen5.search(**PROBLEM, points="tile=64x64")
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(ValueError, match="line 1: not a result that gen5 search has written"):
        gen5.search(**PROBLEM, cache=tmp_path)
    assert (tmp_path / "results.jsonl").read_text() == "{}\n"
    with pytest.raises(ValueError, match="no kernel of this search was timed"):
        gen5.search(**PROBLEM, measure=0, top=1, cache=tmp_path / "other").t4(tmp_path / "t4.json")


class Breaks(concurrent.futures.Executor):
    """Its worker ends after the first call."""

    def __init__(self):
        self.calls = 0

    def submit(self, function, *args, **kwargs):
        future, self.calls = concurrent.futures.Future(), self.calls + 1
        if self.calls == 1:
            future.set_result(function(*args, **kwargs))
        else:
            future.set_exception(concurrent.futures.BrokenExecutor("gone"))
        return future


@pytest.mark.skipif(not (os.environ.get("GEN5_NVCC") or shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)), reason="no nvcc")
def test_any_workers_and_what_is_kept(tmp_path):
    """Timed by two processes; by a thread of this one; in part by a worker that ends; and from what was kept. Always the same."""
    folder, seen = tmp_path / "two", []
    two = gen5.search(**PROBLEM, points=POINTS, proof=False, workers=2, cache=folder, progress=lambda done, of: seen.append((done, of)))
    assert [c.error for c in two.best] == ["", ""] and two.best[0].cycles < two.best[1].cycles and seen == [(1, 2), (2, 2)]
    assert not any(c.cached for c in two.best)
    file = folder / "results.jsonl"
    lines = file.read_text().splitlines()
    assert len(lines) == 2  # kept once each, by workers with the same folder
    again = gen5.search(**PROBLEM, points=POINTS, proof=False, cache=folder)
    assert again == two and all(c.cached for c in again.best)

    file.unlink()  # the programs stay
    with pytest.raises(RuntimeError, match="workers ended.*gone.*is kept"):
        gen5.search(**PROBLEM, points=POINTS, proof=False, cache=folder, executor=Breaks())
    assert len(file.read_text().splitlines()) == 1
    with concurrent.futures.ThreadPoolExecutor(1) as one:
        resumed = gen5.search(**PROBLEM, points=POINTS, proof=False, cache=folder, executor=one)
    assert resumed == two and sorted(c.cached for c in resumed.best) == [False, True]
    assert sorted(file.read_text().splitlines()) == sorted(lines)

    two.t4(tmp_path / "t4.json")
    two.kernel_tuner_cache(tmp_path / "cache.json")
    for name in ("t4.json", "cache.json"):
        kept = _kernel_tuner.read(tmp_path / name)
        assert kept == {c.point: pytest.approx(c.us / 1e3) for c in two.best}, name
    with pytest.raises(ValueError, match="neither a cache nor T4"):
        _kernel_tuner.read(pathlib.Path(__file__).with_name("broken.json"))


def test_records_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        gen5.Pruned("rule", 1, "").points = 2
