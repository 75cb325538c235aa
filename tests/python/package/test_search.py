"""gen5.search(): what the command says, from any number of workers, from what was kept; bad input."""

import concurrent.futures
import dataclasses
import enum
import json
import os
import pathlib
import shutil
import subprocess
import sys
import types

import pytest

import gen5
from gen5 import _library

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
        kept = gen5.read_kernel_tuner(tmp_path / name)
        assert kept == {c.point: pytest.approx(c.us / 1e3) for c in two.best}, name
        assert gen5.search(**PROBLEM, points=kept, proof=False, cache=folder) == two, "its points are those of a search"
    with pytest.raises(ValueError, match="neither a cache nor T4"):
        gen5.read_kernel_tuner(pathlib.Path(__file__).with_name("broken.json"))


def test_records_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        gen5.Pruned("rule", 1, "").points = 2


class Choice(enum.Enum):
    """Enumerators of cutlass_library, as far as they are asked for."""

    bf16, f16, e4m3, f32, s8, RowMajor, ColumnMajor = range(7)


@pytest.fixture
def cutlass_library(monkeypatch):
    class MatmulHeuristics:
        def __init__(self, gpu=None):
            raise AssertionError("nvMatmulHeuristics is not asked")

    for name, what in (("cutlass_library", {}), ("cutlass_library.library", {"DataType": Choice, "LayoutType": Choice}),
                       ("cutlass_library.heuristics_provider", {"MatmulHeuristics": MatmulHeuristics})):
        module = types.ModuleType(name)
        vars(module).update(what)
        monkeypatch.setitem(sys.modules, name, module)
    return MatmulHeuristics


TNT = (Choice.RowMajor, Choice.ColumnMajor, Choice.RowMajor)
BF16 = (Choice.bf16, Choice.bf16, Choice.f32, Choice.bf16, Choice.bf16)


def test_cutlass_asks_the_search(cutlass_library, tmp_path):
    provider = gen5.cutlass_heuristics("h200", cache=tmp_path)
    assert isinstance(provider, cutlass_library)
    configs = provider.get_configs(1024, 1024, 16384, 1, BF16, TNT, 8, 8, count=4)
    best = gen5.search(1024, 1024, 16384, machine="h200", measure=0, cache=tmp_path).best[0]
    first = configs[0]
    assert f'{first["cta_tile_m"]}x{first["cta_tile_n"]}' == best.parameters["tile"] and f'{first["cluster_m"]}x{first["cluster_n"]}' == best.parameters["cluster"]
    assert first["estimated_runtime"] == pytest.approx(best.us * 1e-6) and best.parameters["split"] == f'{first["split_k_slices"]}meet'
    assert first["cta_tile_k"] * 2 == int(best.parameters["block"]) and first["instr_tile_m"] == 64 and first["dtype_a"] == Choice.bf16
    assert len({str(sorted((k, v) for k, v in c.items() if k != "estimated_runtime" and not isinstance(v, Choice))) for c in configs}) == 4
    provider.set_cta_div_n(192)
    assert all(c["cta_tile_n"] == 192 for c in provider.get_configs(4096, 4096, 4096, 1, BF16, TNT, 8, 8, count=2))
    pairs = gen5.cutlass_heuristics("b200", cache=tmp_path).get_configs(4096, 4096, 4096, 1, BF16, TNT, 8, 8)
    assert pairs[0]["cluster_m"] == 2 and pairs[0]["instr_tile_m"] == 2 * min(pairs[0]["cta_tile_m"], 128)


def test_what_cutlass_may_not_ask(cutlass_library):
    ask = gen5.cutlass_heuristics("h200").get_configs
    with pytest.raises(ValueError, match="a batch of 2: gen5 search has single products"):
        ask(64, 64, 64, 2, BF16, TNT, 8, 8)
    with pytest.raises(ValueError, match="layout 'tnt'"):
        ask(64, 64, 64, 1, BF16, (Choice.ColumnMajor, *TNT[1:]), 8, 8)
    with pytest.raises(ValueError, match="gen5 search has bf16, f16 and e4m3"):
        ask(64, 64, 64, 1, (Choice.s8, Choice.s8, Choice.f32, Choice.bf16, Choice.bf16), TNT, 8, 8)


def test_without_cutlass(monkeypatch):
    monkeypatch.setitem(sys.modules, "cutlass_library.heuristics_provider", None)
    with pytest.raises(ImportError, match="pip install nvidia-cutlass"):
        gen5.cutlass_heuristics()
