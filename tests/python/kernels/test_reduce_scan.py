"""Along an axis: reductions, scans, sorting, histograms, and what moves elements between threads."""

import numpy as np
import pytest
import triton
import triton.language as tl

import gen5
from support import TYPES, close, equal, random, wide

M, N = 32, 64


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def reduce(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    a = tl.load(x + m[:, None] * N + n[None, :])
    if OP == "sum":
        r = tl.sum(a, AXIS)
    elif OP == "max":
        r = tl.max(a, AXIS)
    elif OP == "min":
        r = tl.min(a, AXIS)
    elif OP == "argmax":
        r = tl.argmax(a, AXIS)
    elif OP == "argmin":
        r = tl.argmin(a, AXIS)
    elif OP == "xor":
        r = tl.xor_sum(a, AXIS)
    elif OP == "custom":
        r = tl.reduce(a, AXIS, larger)
    tl.store(o + tl.arange(0, M if AXIS == 1 else N), r)


REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin, "xor": np.bitwise_xor.reduce,
              "custom": np.max}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op, kind", [("sum", "fp32"), ("sum", "int32"), ("max", "fp16"), ("min", "bf16"), ("argmax", "fp32"),
                                      ("argmin", "int32"), ("xor", "int32"), ("custom", "fp32"), ("sum", "fp64")])
def test_reduce(op, kind, axis):
    x = random((M, N), kind)
    want = REDUCTIONS[op](x.numpy() if kind != "bf16" else x.numpy().astype(np.float32), axis=axis)
    o = gen5.empty(N if axis == 0 else M, np.int32 if op.startswith("arg") else TYPES[kind])
    reduce[(1,)](x, o, M, N, axis, op)
    if op == "sum" and kind.startswith("fp"):
        close(o, wide(x).sum(axis), rtol=1e-5, atol=1e-5)
    else:
        equal(o, np.asarray(want).astype(o.dtype))


@triton.jit
def scan(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    if OP == "sum":
        r = tl.cumsum(a, AXIS, reverse=REVERSE)
    elif OP == "product":
        r = tl.cumprod(a, AXIS, reverse=REVERSE)
    elif OP == "max":
        r = tl.associative_scan(a, AXIS, larger, reverse=REVERSE)
    tl.store(o + at, r)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("op, kind, axis", [("sum", "int32", 0), ("sum", "fp32", 1), ("max", "fp32", 0), ("product", "fp32", 1)])
def test_scan(op, kind, axis, reverse):
    x = random((M, N), kind)
    o = gen5.empty_like(x)
    scan[(1,)](x, o, M, N, axis, op, reverse)
    a = np.flip(x.numpy(), axis) if reverse else x.numpy()
    want = {"sum": np.cumsum, "product": np.cumprod, "max": np.maximum.accumulate}[op](
        a.astype(np.float64) if kind == "fp32" else a, axis=axis)
    want = np.flip(want, axis) if reverse else want
    close(o, want, rtol=2e-5, atol=2e-5) if kind == "fp32" and op != "max" else equal(o, want)


@triton.jit
def rows(x, o, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    if OP == "sort":
        r = tl.sort(a, 1)
    elif OP == "sort_descending":
        r = tl.sort(a, 1, descending=True)
    elif OP == "flip":
        r = tl.flip(a, 1)
    elif OP == "transpose":
        r = tl.reshape(tl.trans(a), (M, N))
    elif OP == "gather":
        r = tl.gather(a, (tl.arange(0, N)[None, :] * 7 + tl.arange(0, M)[:, None]) % N, 1)
    elif OP == "interleave":
        r = tl.reshape(tl.interleave(tl.reshape(a, (M * 2, N // 2)), 2 * tl.reshape(a, (M * 2, N // 2))), (2, M, N))
        r = tl.sum(r, 0)
    elif OP == "join_split":
        left, right = tl.split(tl.reshape(a, (M, N // 2, 2)))
        r = tl.reshape(tl.join(right, left), (M, N))
    elif OP == "permute":
        r = tl.reshape(tl.permute(tl.reshape(a, (M, 8, N // 8)), (2, 0, 1)), (M, N))
    tl.store(o + at, r)


def interleaved(a):
    half = a.reshape(2 * M, N // 2)
    return np.stack([half, 2 * half], -1).reshape(2, M, N).sum(0)


@pytest.mark.parametrize("op, want", [
    ("sort", lambda a: np.sort(a, 1)), ("sort_descending", lambda a: -np.sort(-a, 1)), ("flip", lambda a: a[:, ::-1]),
    ("transpose", lambda a: a.T.reshape(M, N)), ("interleave", interleaved),
    ("gather", lambda a: np.take_along_axis(a, (np.arange(N)[None] * 7 + np.arange(M)[:, None]) % N, 1)),
    ("join_split", lambda a: a.reshape(M, N // 2, 2)[..., ::-1].reshape(M, N)),
    ("permute", lambda a: a.reshape(M, 8, N // 8).transpose(2, 0, 1).reshape(M, N))])
def test_rows(op, want):
    x = random((M, N), "int32", low=-1000, high=1000)
    o = gen5.empty_like(x)
    rows[(1,)](x, o, M, N, op)
    equal(o, want(x.numpy()))


@triton.jit
def counts(x, o, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(o + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


def test_histogram():
    x = random(2048, "int32", low=0, high=64)
    o = gen5.empty(64, np.int32)
    counts[(1,)](x, o, 2048, 64)
    equal(o, np.bincount(x.numpy(), minlength=64))


@triton.jit
def largest(x, o, N: tl.constexpr, K: tl.constexpr):
    tl.store(o + tl.arange(0, K), tl.topk(tl.load(x + tl.arange(0, N)), K))


def test_topk():
    x, o = random(256), gen5.empty(8)
    largest[(1,)](x, o, 256, 8)
    equal(o, np.sort(x.numpy())[::-1][:8])


@triton.jit
def mean_and_variance(mean_a, m2_a, weight_a, mean_b, m2_b, weight_b):
    delta = mean_b - mean_a
    weight = weight_a + weight_b
    share = tl.where(weight == 0.0, 0.0, weight_b / weight)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * weight_a * share, weight


@triton.jit
def welford(x, mean, variance, N: tl.constexpr):
    a = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    m, m2, weight = tl.reduce((a, tl.zeros_like(a), tl.full(a.shape, 1.0, a.dtype)), 0, mean_and_variance)
    tl.store(mean + tl.program_id(0), m)
    tl.store(variance + tl.program_id(0), m2 / weight)


def test_reduce_of_a_tuple():
    x, mean, variance = random((4, 256)), gen5.empty(4), gen5.empty(4)
    welford[(4,)](x, mean, variance, 256)
    close(mean, wide(x).mean(1), atol=1e-6)
    close(variance, wide(x).var(1), rtol=1e-5)


@triton.jit
def softmax(x, o, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    a = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(o + row * n + i, e / tl.sum(e, 0), mask=i < n)


def test_softmax():
    x, o = random((6, 781)), gen5.empty((6, 781))
    softmax[(6,)](x, o, 781, 1024)
    e = np.exp(wide(x) - wide(x).max(1, keepdims=True))
    close(o, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


@triton.jit
def layer_norm(x, w, b, o, n, eps, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    a = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(a, 0) / n
    centred = tl.where(i < n, a - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n + eps)
    tl.store(o + row * n + i, centred * scale * tl.load(w + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


def test_layer_norm():
    x, w, b, o = random((5, 500), "fp16"), random(500, seed=2), random(500, seed=3), gen5.empty((5, 500))
    layer_norm[(5,)](x, w, b, o, 500, 1e-5, 512)
    a = wide(x)
    close(o, (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5) * wide(w) + wide(b), rtol=1e-4, atol=1e-5)
