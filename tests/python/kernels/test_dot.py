"""tl.dot in every type and layout. Tolerances are test_core's: 1e-3 for f16, bf16 and fp8 inputs (whose products are exact in
f32), 1e-2 for tf32, whose inputs are rounded; integers and what says `equal` bit for bit. fp8 on Hopper is held to an H200's bits."""

import hashlib

import numpy as np
import pytest
import triton
import triton.language as tl

import gen5
from support import TYPES, close, equal, random, wide


@triton.jit
def dot(a, b, o, sa0, sa1, sb0, sb1, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * sa0 + k[None, :] * sa1)
    y = tl.load(b + k[:, None] * sb0 + n[None, :] * sb1)
    r = tl.dot(x, y, out_dtype=ACC, input_precision=PRECISION)
    tl.store(o + m[:, None] * N + n[None, :], r)


def run_dot(kind, layout="rr", shape=(128, 64, 64), acc=tl.float32, precision=None, warps=4):
    M, N, K = shape
    a, b = random((M, K), kind, 1), random((K, N), kind, 2)
    stored = [x if major == "r" else gen5.array(np.ascontiguousarray(x.numpy().T)).T for x, major in zip((a, b), layout)]
    o = gen5.empty((M, N), {tl.float32: np.float32, tl.float16: np.float16, tl.int32: np.int32, tl.float64: np.float64}[acc])
    dot[(1,)](*stored, o, *stored[0].stride(), *stored[1].stride(), M, N, K, acc, precision, num_warps=warps)
    return a, b, o


# SHA-256 of what an H200 (580.159.04, 22 November 2026) computed from these inputs with this kernel's PTX, in each of the layouts.
ON_H200 = {"e4m3": "6a28cecbea4b88c2a2a5df687288b70c6155a74871bbf45ea4c807b4d961701f",
           "e5m2": "e88207d3f062150c7e72012893135e0994f5bc0e1c0c6cee01f18aeae0c6b0f2"}


def fp8_error(a, b):
    """How far Hopper's tensor core may be off, element by element. It adds 32 products and the sum so far at a time: each of these
    33 loses less than a unit in the 13th place behind the largest one's first, and the new sum less than its own."""
    error, so_far = np.zeros((len(a), b.shape[1])), np.zeros((len(a), b.shape[1]))
    for k in range(0, a.shape[1], 32):
        products = np.abs(a[:, k:k + 32, None] * b[None, k:k + 32, :]).max(1)
        largest = np.maximum(products, np.abs(so_far) + error)
        so_far = so_far + a[:, k:k + 32] @ b[k:k + 32]
        error += 33 * 2.0 ** (np.floor(np.log2(largest)) - 13)
        error += 2.0 ** (np.floor(np.log2(np.abs(so_far) + error)) - 13)
    return error


@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32", "e4m3", "e5m2", "int8"])
def test_dot(kind, layout, gen5_run):
    a, b, o = run_dot(kind, layout, acc=tl.int32 if kind == "int8" else tl.float32)
    want = wide(a) @ wide(b)
    if kind == "int8":
        equal(o, want)
    elif kind == "fp32":
        close(o, want, rtol=1e-2, atol=3e-2)
    elif gen5_run.machine == "h200" and kind in ON_H200:
        assert hashlib.sha256(o.numpy().tobytes()).hexdigest() == ON_H200[kind]
        close(o, want, atol=fp8_error(wide(a), wide(b)))
    else:
        close(o, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 32, 64), (64, 128, 32), (128, 128, 128), (256, 64, 32), (128, 256, 16)])
def test_dot_shapes(shape):
    a, b, o = run_dot("fp16", shape=shape)
    close(o, wide(a) @ wide(b), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_dot_warps(warps):
    a, b, o = run_dot("bf16", shape=(64, 64, 64), warps=warps)
    close(o, wide(a) @ wide(b), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("precision, rtol, atol", [("ieee", 1e-5, 1e-4), ("tf32x3", 1e-4, 1e-4), ("bf16x3", 1e-3, 1e-3),
                                                   ("bf16x6", 1e-4, 1e-4)])
def test_dot_precision(precision, rtol, atol):
    a, b, o = run_dot("fp32", shape=(64, 64, 32), precision=precision)
    close(o, wide(a) @ wide(b), rtol=rtol, atol=atol)


def test_dot_fp16_accumulator():
    a, b, o = run_dot("fp16", acc=tl.float16)
    close(o, wide(a) @ wide(b), rtol=2e-3, atol=3e-2)  # sums up to 30 in f16, whose step there is 1/64


def test_dot_fp64():
    a, b, o = run_dot("fp64", shape=(16, 16, 16), acc=tl.float64)
    close(o, wide(a) @ wide(b), rtol=1e-13, atol=1e-13)


@triton.jit
def two_dots(a, b, c, o, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x, y, z = tl.load(a + m[:, None] * N + n[None, :]), tl.load(b + n[:, None] * N + n[None, :]), tl.load(c + n[:, None] * N + n[None, :])
    first = tl.dot(x, tl.trans(y))
    tl.store(o + m[:, None] * N + n[None, :], tl.dot(tl.maximum(first, 0).to(z.dtype), z, acc=first))


@pytest.mark.parametrize("kind", ["fp16", "bf16"])
def test_two_dots(kind):
    a, b, c, o = random((128, 64), kind, 1), random((64, 64), kind, 2), random((64, 64), kind, 3), gen5.empty((128, 64))
    two_dots[(1,)](a, b, c, o, 128, 64)
    first = wide(a) @ wide(b).T
    close(o, np.maximum(first, 0).astype(np.float32).astype(TYPES[kind]).astype(np.float64) @ wide(c) + first, rtol=2e-2, atol=0.5 if kind == "bf16" else 6e-2)


@triton.jit
def batched(a, b, o, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, m, n, k = tl.arange(0, B)[:, None, None], tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + i * K * N + k[None, :, None] * N + n[None, None, :])
    tl.store(o + i * M * N + m[None, :, None] * N + n[None, None, :], tl.dot(x, y))


def test_batched_dot():
    a, b, o = random((4, 16, 32), "fp16", 1), random((4, 32, 16), "fp16", 2), gen5.empty((4, 16, 16))
    batched[(1,)](a, b, o, 4, 16, 16, 32)
    close(o, wide(a) @ wide(b), rtol=1e-3, atol=1e-3)


@triton.jit
def pipelined(a, b, o, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    at_a, at_b = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    r = tl.zeros((M, N), tl.float32)
    for _ in range(0, K, BK):
        r = tl.dot(tl.load(at_a), tl.load(at_b), r)
        at_a += BK
        at_b += BK * N
    tl.store(o + m[:, None] * N + n[None, :], r)


@pytest.mark.parametrize("stages, ctas", [(1, 1), (2, 1), (4, 1), (3, 2)])
def test_pipelined_dot(stages, ctas):
    a, b, o = random((128, 256), "fp16", 1), random((256, 64), "fp16", 2), gen5.empty((128, 64))
    pipelined[(1,)](a, b, o, 256, 128, 64, 32, num_stages=stages, num_ctas=ctas)
    close(o, wide(a) @ wide(b), rtol=1e-3, atol=2e-3)


@triton.jit
def scaled(a, sa, b, sb, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr, VEC: tl.constexpr):
    pa: tl.constexpr = 2 if A == "e2m1" else 1
    pb: tl.constexpr = 2 if B == "e2m1" else 1
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(a + m[:, None] * (K // pa) + tl.arange(0, K // pa)[None, :])
    y = tl.load(b + tl.arange(0, K // pb)[:, None] + n[None, :] * (K // pb))
    s = tl.arange(0, K // VEC)[None, :]
    fx, fy = tl.load(sa + m[:, None] * (K // VEC) + s), tl.load(sb + n[:, None] * (K // VEC) + s)
    tl.store(o + m[:, None] * N + n[None, :], tl.dot_scaled(x, fx, A, y, fy, B))


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def operand(rows, k, form, seed):
    """Bytes of a row-major matrix, and its values."""
    r = np.random.default_rng(seed)
    if form == "e2m1":
        codes = r.integers(0, 16, (rows, k))
        return gen5.array((codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)), E2M1[codes]
    a = random((rows, k), form, seed)
    return a, wide(a)


@pytest.mark.parametrize("left, right, vector", [("e4m3", "e4m3", 32), ("e5m2", "e4m3", 32), ("e4m3", "e2m1", 32), ("e2m1", "e2m1", 32),
                                                 ("e2m1", "e2m1", 16)])
def test_dot_scaled(left, right, vector, gen5_run):
    if vector == 16 and gen5_run.machine != "b200":
        pytest.skip("nvfp4: Triton has it for Blackwell alone")
    M, N, K = 128, 64, 128
    (a, x), (b, y) = operand(M, K, left, 1), operand(N, K, right, 2)
    r = np.random.default_rng(3)
    if vector == 16:  # scale factors in e4m3
        fa, fb = (gen5.array(abs(r.standard_normal((n, K // 16))).astype(TYPES["e4m3"])) for n in (M, N))
        va, vb = wide(fa), wide(fb)
    else:  # in ue8m0: powers of two
        fa, fb = (gen5.array(r.integers(124, 131, (n, K // 32)).astype(np.uint8)) for n in (M, N))
        va, vb = (2.0 ** (f.numpy().astype(np.float64) - 127) for f in (fa, fb))
    o = gen5.empty((M, N))
    scaled[(1,)](a, fa, b, fb, o, M, N, K, left, right, vector)
    want = (x * np.repeat(va, vector, 1)) @ (y * np.repeat(vb, vector, 1)).T
    close(o, want, rtol=1e-3, atol=1e-2)
