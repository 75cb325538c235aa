"""Helion: its kernels are Triton's, on torch's tensors."""

import pytest
import torch

import gen5

helion = pytest.importorskip("helion")
import helion.language as hl  # noqa: E402


@helion.kernel(config=helion.Config(block_sizes=[256]), static_shapes=True)
def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for t in hl.tile(out.size()):
        out[t] = x[t] + y[t]
    return out


@helion.kernel(config=helion.Config(block_sizes=[4]), static_shapes=True)
def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for t in hl.tile(x.size(0)):
        out[t, :] = torch.nn.functional.softmax(x[t, :], dim=1)
    return out


@helion.kernel(config=helion.Config(block_sizes=[64, 64, 32]), static_shapes=True)
def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0), y.size(1)], dtype=torch.float32, device=x.device)
    for m, n in hl.tile(out.size()):
        total = hl.zeros([m, n], dtype=torch.float32)
        for k in hl.tile(x.size(1)):
            total = torch.addmm(total, x[m, k], y[k, n])
        out[m, n] = total
    return out


def test_add(gen5_run):
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    assert torch.equal(add(x, y), x + y)
    assert gen5_run.launches == 1


def test_softmax():
    x = torch.randn(64, 100, device="cuda")
    torch.testing.assert_close(softmax(x).cpu(), x.cpu().softmax(1), atol=1e-6, rtol=1e-5)


def test_product():
    x, y = (torch.randn(128, 128, device="cuda", dtype=torch.float16) for _ in range(2))
    torch.testing.assert_close(product(x, y).cpu(), x.cpu().float() @ y.cpu().float(), atol=1e-3, rtol=1e-3)


def narrow_and_wide(block):
    return helion.Config(block_sizes=[block], num_warps=1 if block == 32 else 4)


@helion.kernel(configs=[narrow_and_wide(32), narrow_and_wide(1024)], static_shapes=True, autotune_precompile=None)
def tuned_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for t in hl.tile(out.size()):
        out[t] = x[t] + y[t]
    return out


@pytest.mark.gen5_orders("timed")
def test_the_autotuner_measures_the_machine(monkeypatch, tmp_path):
    """It takes the configuration that gen5.gpu() counts fewer cycles for: tiles of 1024 numbers and not of 32."""
    monkeypatch.setenv("HELION_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HELION_SKIP_CACHE", "1")
    x, y = torch.randn(1 << 16, device="cuda"), torch.randn(1 << 16, device="cuda")
    cycles = {}
    for block in (32, 1024):
        kernel = helion.kernel(tuned_add.fn, config=narrow_and_wide(block), static_shapes=True)
        kernel(x, y)  # compiles
        with gen5.gpu(gen5._session.current().machine) as run:
            kernel(x, y)
        cycles[block] = run.cycles
    assert torch.equal(tuned_add(x, y), x + y)
    best = tuned_add.bind((x, y))._config
    assert best.block_sizes == [min(cycles, key=cycles.get)] == [1024]
