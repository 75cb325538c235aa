"""The subjects of Triton's tutorials that are more than one product or reduction: attention, persistent and grouped matrix
products, layer norm's backward pass."""

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import gen5
from support import TYPES, close, random, wide


@triton.jit
def attention(q, k, v, o, scale, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    """One block of rows of one head: softmax(q k^T) v, the sums renewed block by block."""
    row, head = tl.program_id(0), tl.program_id(1)
    d, m = tl.arange(0, D), row * BM + tl.arange(0, BM)
    base = head * n * D
    queries = tl.load(q + base + m[:, None] * D + d[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    last = (row + 1) * BM if CAUSAL else n
    for start in range(0, last, BN):
        at = start + tl.arange(0, BN)
        keys = tl.load(k + base + at[None, :] * D + d[:, None])
        s = tl.dot(queries, keys) * scale
        if CAUSAL:
            s = tl.where(m[:, None] >= at[None, :], s, -float("inf"))
        new = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(most - new)
        total = total * shrink + tl.sum(p, 1)
        values = tl.load(v + base + at[:, None] * D + d[None, :])
        out = tl.dot(p.to(values.dtype), values, out * shrink[:, None])
        most = new
    tl.store(o + base + m[:, None] * D + d[None, :], (out / total[:, None]).to(o.dtype.element_ty))


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("kind, D", [("fp16", 64), ("bf16", 64), ("fp16", 128)])
def test_attention(kind, D, causal):
    heads, n, BM, BN = 2, 256, 128, 64
    q, k, v = (random((heads, n, D), kind, seed) for seed in (1, 2, 3))
    o = gen5.empty((heads, n, D), TYPES[kind])
    scale = D**-0.5 / np.log(2)
    attention[(n // BM, heads)](q, k, v, o, scale, n, D, BM, BN, causal)
    s = wide(q) @ wide(k).transpose(0, 2, 1) * D**-0.5
    if causal:
        s = np.where(np.tri(n, dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    close(o, p / p.sum(-1, keepdims=True) @ wide(v), atol=1e-2)  # the tutorial's tolerance


@triton.jit
def persistent(a, b, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
               SPECIALISED: tl.constexpr):
    """Few programs walk over all tiles, GROUP rows of tiles at a time."""
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), rows * columns, PROGRAMS, flatten=True, warp_specialize=SPECIALISED):
        group = tile // (GROUP * columns)
        height = min(rows - group * GROUP, GROUP)
        m = (group * GROUP + tile % (GROUP * columns) % height) * BM
        n = tile % (GROUP * columns) // height * BN
        sum = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            sum = tl.dot(a.load([m, k]), b.load([n, k]).T, sum)
        c.store([m, n], sum.to(tl.float16))


@pytest.mark.parametrize("specialised", [False, True], ids=["plain", "specialised"])
def test_persistent_matmul(specialised, gen5_run):
    if specialised and gen5_run.machine != "b200":
        pytest.skip("Triton specialises this loop for Blackwell alone")
    M, N, K = 384, 192, 128
    a, b, c = random((M, K), "fp16", 1), random((N, K), "fp16", 2), gen5.zeros((M, N), np.float16)
    descriptors = [TensorDescriptor.from_tensor(x, block) for x, block in ((a, [128, 64]), (b, [64, 64]), (c, [128, 64]))]
    persistent[(4,)](*descriptors, M, N, K, 4, 128, 64, 64, 2, specialised, num_warps=4)
    close(c, wide(a) @ wide(b).T, rtol=2e-3, atol=2e-3)


@triton.jit
def grouped(addresses, sizes, groups, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products of different sizes, their addresses and sizes in memory: {a, b, c} and {m, n, k} of each."""
    tile, before = tl.program_id(0), 0
    for g in range(groups):
        M, N, K = tl.load(sizes + 3 * g), tl.load(sizes + 3 * g + 1), tl.load(sizes + 3 * g + 2)
        columns = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * columns
        a = tl.load(addresses + 3 * g).to(tl.pointer_type(tl.float16))
        b = tl.load(addresses + 3 * g + 1).to(tl.pointer_type(tl.float16))
        c = tl.load(addresses + 3 * g + 2).to(tl.pointer_type(tl.float32))
        while tile >= before and tile < before + tiles:
            m = (tile - before) // columns * BM + tl.arange(0, BM)
            n = (tile - before) % columns * BN + tl.arange(0, BN)
            sum = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                k = start + tl.arange(0, BK)
                x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
                y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
                sum = tl.dot(x, y, sum)
            tl.store(c + m[:, None] * N + n[None, :], sum, mask=(m[:, None] < M) & (n[None, :] < N))
            tile += PROGRAMS
        before += tiles


def test_grouped_matmul():
    shapes = [(128, 64, 64), (40, 100, 32), (200, 64, 96)]
    operands = [(random((m, k), "fp16", 1), random((k, n), "fp16", 2), gen5.empty((m, n))) for m, n, k in shapes]
    addresses = gen5.array(np.array([x.data_ptr() for group in operands for x in group], np.int64))
    grouped[(3,)](addresses, gen5.array(np.array(shapes, np.int32)), 3, 3, 64, 64, 32)
    for a, b, c in operands:
        close(c, wide(a) @ wide(b), rtol=1e-3, atol=2e-3)


@triton.jit
def layer_norm_backward(dy, x, w, dx, dw, n, eps, B: tl.constexpr):
    """The gradient by x of its row; rows add theirs by w with atomics."""
    row, i = tl.program_id(0), tl.arange(0, B)
    inside = i < n
    a = tl.load(x + row * n + i, mask=inside, other=0.0)
    mean = tl.sum(a, 0) / n
    centred = tl.where(inside, a - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n + eps)
    hat = centred * scale
    g = tl.load(dy + row * n + i, mask=inside, other=0.0)
    wg = g * tl.load(w + i, mask=inside, other=0.0)
    c1, c2 = tl.sum(hat * wg, 0) / n, tl.sum(wg, 0) / n
    tl.store(dx + row * n + i, (wg - hat * c1 - c2) * scale, mask=inside)
    tl.atomic_add(dw + i, g * hat, mask=inside)


def test_layer_norm_backward():
    rows, n = 6, 200
    dy, x, w = random((rows, n), seed=1), random((rows, n), seed=2), random(n, seed=3)
    dx, dw = gen5.empty((rows, n)), gen5.zeros(n)
    layer_norm_backward[(rows,)](dy, x, w, dx, dw, n, 1e-5, 256)
    a = wide(x)
    scale = 1 / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    hat = (a - a.mean(1, keepdims=True)) * scale
    wg = wide(dy) * wide(w)
    close(dx, (wg - hat * (hat * wg).mean(1, keepdims=True) - wg.mean(1, keepdims=True)) * scale, rtol=1e-4, atol=1e-5)
    close(dw, (wide(dy) * hat).sum(0), rtol=1e-4, atol=1e-5)


@triton.autotune([triton.Config({"B": b}, num_warps=w) for b, w in ((256, 2), (1024, 4))], key=["n"])
@triton.jit
def scaled(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, 3 * tl.load(x + i, mask=i < n), mask=i < n)


def test_autotune_and_bench(gen5_run):
    x, o = random(3000), gen5.zeros(3000)
    scaled[lambda meta: (triton.cdiv(3000, meta["B"]),)](x, o, 3000)
    close(o, 3 * wide(x), rtol=1e-6)
    times = triton.testing.do_bench(lambda: scaled[(12,)](x, o, 3000), return_mode="all")
    assert len(times) == 2
    # Milliseconds of the machine's clock: the cycles of a launch, more where its data come from memory anew.
    before = gen5_run.cycles
    scaled[(12,)](x, o, 3000)
    at_the_highest_clock = (gen5_run.cycles - before) / {"b200": 1.965e6, "h200": 1.98e6}[gen5_run.machine]
    assert all(at_the_highest_clock <= t < 3 * at_the_highest_clock for t in times), (times, at_the_highest_clock)
