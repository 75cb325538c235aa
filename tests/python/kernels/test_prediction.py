"""gen5.predict() of Triton kernels: what the launch itself takes, which configuration is the best one, what cannot be."""

import numpy as np
import pytest
import triton
import triton.language as tl

import gen5
from gen5 import _library

pytestmark = pytest.mark.gen5_orders("timed")


@triton.jit
def product(a, b, c, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    m, n = tl.program_id(0) * TM + tl.arange(0, TM), tl.program_id(1) * TN + tl.arange(0, TN)
    k = tl.arange(0, TK)
    total = tl.zeros((TM, TN), tl.float32)
    for start in range(0, K, TK):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k[:, None]) * N + n[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))


def grid(meta):
    return 256 // meta["TM"], 256 // meta["TN"]


@pytest.fixture
def operands(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return [gen5.array(np.ones((256, 256), np.float16)), gen5.array(np.ones((256, 256), np.float16)), gen5.zeros((256, 256), np.float16), 256, 256, 256]


CONFIGS = [triton.Config({"TM": m, "TN": 64, "TK": 32}, num_warps=4, num_stages=s) for m in (64, 128) for s in (1, 3)]


def test_product(gen5_run, operands):
    said = gen5.predict(product, CONFIGS, operands, grid=grid)
    assert [p.error for p in said] == [""] * 4 and not operands[2].numpy().any() and gen5_run.launches == 0
    for config, p in zip(CONFIGS, said):
        gen5_run.after_launch()
        before = gen5_run.cycles
        _library.session("clear_l2")
        product[grid](*operands, **config.all_kwargs())
        # Here the launches before have left writes on their way to device memory.
        assert gen5_run.cycles - before == pytest.approx(p.cycles, rel=0.03)
    assert (operands[2].numpy() == 256).all()
    assert gen5.predict(product, CONFIGS, operands, grid=grid) == said and all(p.cached for p in gen5.predict(product, CONFIGS, operands, grid=grid))


def test_autotuned_kernels_bring_their_configurations(gen5_run, operands):
    tuned = triton.autotune(CONFIGS, key=["M"])(product)
    assert [p.cycles for p in gen5.predict(tuned, args=operands, grid=grid)] == [p.cycles for p in gen5.predict(product, CONFIGS, operands, grid=grid)]


def test_too_large_a_tile_says_why(gen5_run, operands):
    too_large, fits = gen5.predict(product, [{"TM": 256, "TN": 256, "TK": 256, "num_stages": 4}, CONFIGS[0]], operands, grid=grid)
    assert "OutOfResources" in too_large.error and fits.cycles > 0


def test_its_grid_must_be_named(operands):
    with pytest.raises(TypeError, match=r"name its grid, as in product\[grid\]"):
        gen5.predict(product, [{}], operands)


def test_the_autotuner_launches_what_is_predicted(gen5_run, operands):
    said = gen5.predict(product, CONFIGS, operands, grid=grid)
    best = min(range(4), key=lambda i: said[i].us)
    by_keep = triton.autotune(CONFIGS, key=["M"], prune_configs_by=gen5.prune_configs(lambda: product, keep=1))(product)
    by_model = triton.autotune(CONFIGS, key=["M"], prune_configs_by={**gen5.prune_configs(lambda: product), "early_config_prune": None, "top_k": 1})(product)
    for tuned in (by_keep, by_model):
        operands[2][:] = 0
        tuned[grid](*operands)
        assert tuned.best_config is CONFIGS[best] and (operands[2].numpy() == 256).all()
    gen5_run.after_launch()
    assert gen5_run.launches == 2  # nothing else ran


def test_configurations_that_cannot_run_are_pruned(gen5_run, operands):
    prune = gen5.prune_configs(lambda: product, keep=1.0)["early_config_prune"]
    names = dict(zip(("a", "b", "c", "M", "N", "K"), operands))
    too_large = triton.Config({"TM": 256, "TN": 256, "TK": 256}, num_stages=4)
    assert set(prune([too_large, *CONFIGS], names, grid=grid, warmup=False)) == set(CONFIGS)
    assert prune([too_large], names, grid=grid, warmup=False) == [too_large]  # Triton says why


def test_pruning_takes_a_function_and_a_number():
    with pytest.raises(TypeError, match="a function that returns the kernel"):
        gen5.prune_configs(product)
    with pytest.raises(ValueError, match="keep=0"):
        gen5.prune_configs(lambda: product, keep=0)
