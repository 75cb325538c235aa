"""Element by element: arithmetic, conversions, mathematics, masks, inline PTX."""

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.language.extra import libdevice

import gen5
from support import TYPES, close, equal, random, wide

N, B = 1000, 256
GRID = (triton.cdiv(N, B),)


@triton.jit
def binary(x, y, o, n, B: tl.constexpr, OP: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + i, mask=i < n, other=1), tl.load(y + i, mask=i < n, other=1)
    if OP == "add":
        r = a + b
    elif OP == "mul":
        r = a * b
    elif OP == "sub":
        r = a - b
    elif OP == "max":
        r = tl.maximum(a, b)
    elif OP == "mod":
        r = a % b
    elif OP == "div":
        r = a // b
    elif OP == "shift":
        r = a << (b & 7)
    elif OP == "bits":
        r = (a & b) ^ (a | ~b)
    elif OP == "where":
        r = tl.where(a < b, a, b + 1)
    tl.store(o + i, r, mask=i < n)


@pytest.mark.parametrize("op, kind, want", [
    ("add", "fp32", lambda a, b: a + b), ("add", "fp16", lambda a, b: a + b), ("add", "int64", lambda a, b: a + b),
    ("mul", "fp64", lambda a, b: a * b), ("sub", "int16", lambda a, b: a - b), ("max", "fp32", np.maximum),
    ("shift", "int32", lambda a, b: a << (b & 7)), ("bits", "uint32", lambda a, b: (a & b) ^ (a | ~b)),
    ("where", "int32", lambda a, b: np.where(a < b, a, b + 1)),
    ("mod", "int32", np.fmod), ("div", "int32", lambda a, b: np.trunc(a / b).astype(np.int32))])
def test_binary(op, kind, want):
    x, y = random(N, kind, 1), random(N, kind, 2)
    if op in ("mod", "div"):
        y[y.numpy() == 0] = 3
    o = gen5.empty_like(x)
    binary[GRID](x, y, o, N, B, op)
    equal(o, want(x.numpy(), y.numpy()))


@triton.jit
def unary(x, o, n, B: tl.constexpr, OP: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=1.0)
    if OP == "exp":
        r = tl.exp(a)
    elif OP == "exp2":
        r = tl.exp2(a)
    elif OP == "log":
        r = tl.log(tl.abs(a))
    elif OP == "sin":
        r = tl.sin(a)
    elif OP == "cos":
        r = tl.cos(a)
    elif OP == "sqrt":
        r = tl.sqrt(tl.abs(a))
    elif OP == "rsqrt":
        r = tl.rsqrt(tl.abs(a))
    elif OP == "erf":
        r = tl.erf(a)
    elif OP == "sigmoid":
        r = tl.sigmoid(a)
    elif OP == "floor":
        r = tl.floor(a)
    elif OP == "tanh":
        r = libdevice.tanh(a)
    tl.store(o + i, r, mask=i < n)


@pytest.mark.parametrize("op, want", [
    ("exp", np.exp), ("exp2", np.exp2), ("log", lambda a: np.log(abs(a))), ("sin", np.sin), ("cos", np.cos),
    ("sqrt", lambda a: np.sqrt(abs(a))), ("rsqrt", lambda a: 1 / np.sqrt(abs(a))), ("erf", np.vectorize(__import__("math").erf)),
    ("sigmoid", lambda a: 1 / (1 + np.exp(-a))), ("floor", np.floor), ("tanh", np.tanh)])
def test_unary(op, want):
    x, o = random(N), gen5.empty(N)
    unary[GRID](x, o, N, B, op)
    close(o, want(wide(x)), rtol=2e-6, atol=2e-6)  # test_core's tolerance of f32 mathematics is 1e-5


@triton.jit
def convert(x, o, n, B: tl.constexpr, ROUND: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n).to(o.dtype.element_ty, fp_downcast_rounding=ROUND), mask=i < n)


@pytest.mark.parametrize("source, target", [
    ("fp32", "fp16"), ("fp32", "bf16"), ("fp16", "fp32"), ("bf16", "fp32"), ("fp32", "e4m3"), ("fp32", "e5m2"), ("e4m3", "fp16"),
    ("e5m2", "fp32"), ("int32", "fp32"), ("fp32", "int32"), ("fp64", "fp32"), ("int8", "fp16")])
def test_convert(source, target):
    x = random(N, source)
    o = gen5.empty(N, TYPES[target])
    convert[GRID](x, o, N, B, "rtne" if TYPES[target].itemsize < TYPES[source].itemsize and TYPES[target].kind not in "iu" else None)
    equal(o, x.numpy().astype(TYPES[target]))


@triton.jit
def fused(x, y, z, o, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    tl.store(o + i, tl.clamp(tl.fma(a, b, c), -1.0, 1.0))
    tl.store(o + B + i, tl.umulhi(a.to(tl.uint32, bitcast=True), b.to(tl.uint32, bitcast=True)).to(tl.float32, bitcast=True))


def test_fma_clamp_umulhi():
    x, y, z = random(B, seed=1), random(B, seed=2), random(B, seed=3)
    o = gen5.empty(2 * B)
    fused[(1,)](x, y, z, o, B)
    close(o[:B], np.clip((wide(x) * wide(y) + wide(z)), -1, 1), rtol=6e-8)
    bits = [a.numpy().view(np.uint32).astype(object) for a in (x, y)]
    equal(o[B:].view(np.uint32), np.array([int(p) >> 32 for p in bits[0] * bits[1]], np.uint32))


@triton.jit
def by_hand(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    r = tl.inline_asm_elementwise("{ .reg .b32 t; shl.b32 t, $1, 3; xor.b32 $0, t, $1; }", "=r,r", [a], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(o + i, r)


def test_inline_asm():
    x = random(B, "int32")
    o = gen5.empty_like(x)
    by_hand[(1,)](x, o, B)
    equal(o, (x.numpy() << 3) ^ x.numpy())


@triton.jit
def dropout(x, o, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, i) > p
    tl.store(o + i, tl.where(keep, tl.load(x + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


def test_dropout():
    x, o, again = random(N), gen5.empty(N), gen5.empty(N)
    dropout[GRID](x, o, N, 0.3, 77, B)
    dropout[GRID](x, again, N, 0.3, 77, B)
    equal(o, again.numpy())
    kept = o.numpy() != 0
    assert 0.6 < kept.mean() < 0.8
    close(gen5.array(o.numpy()[kept]), wide(x)[kept] / 0.7, rtol=2e-7)


@triton.jit
def collatz(x, o, B: tl.constexpr):
    """A loop whose end depends on data, for each program another one."""
    n = tl.load(x + tl.program_id(0))
    steps = 0
    while n != 1:
        n = tl.where(n % 2 == 0, n // 2, 3 * n + 1)
        steps += 1
    tl.store(o + tl.program_id(0), steps)


def test_while():
    def steps(n):
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)
    x = gen5.array(np.arange(1, 40, dtype=np.int32))
    o = gen5.empty_like(x)
    collatz[(39,)](x, o, B)
    equal(o, [steps(n) for n in range(1, 40)])


@triton.jit
def asserting(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    tl.device_assert(a < 100, "too large")
    tl.store(o + i, a)


def test_device_assert():
    x = random(B, "int32")
    o = gen5.empty_like(x)
    asserting[(1,)](x, o, B, debug=True)
    equal(o, x.numpy())
    x[7] = 100
    with pytest.raises(gen5.DiagnosisError, match="too large"):
        asserting[(1,)](x, o, B, debug=True)
    x[7] = 1
    asserting[(1,)](x, o, B, debug=True)  # the process goes on
    equal(o, x.numpy())


@triton.jit
def printing(x, B: tl.constexpr):
    tl.device_print("value", tl.load(x + tl.arange(0, B)))


def test_device_print(capfd):
    printing[(1,)](gen5.array(np.arange(32, dtype=np.int32)), 32, num_warps=1)
    gen5._library.call("cuCtxSynchronize")
    out = capfd.readouterr().out
    assert sorted(int(line.rsplit(maxsplit=1)[1]) for line in out.splitlines() if "value" in line) == list(range(32))
