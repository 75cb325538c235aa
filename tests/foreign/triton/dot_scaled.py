"""tl.dot_scaled: matrices of 8- and 4-bit elements with a scale factor for every 32 of K (mxfp8, mxfp4) or 16 (nvfp4).

dot_scaled.py A B [nv]: formats e4m3, e5m2 or e2m1; nv: e4m3 scale factors."""

import sys

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def matmul(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, A: tl.constexpr, B: tl.constexpr, A_PACK: tl.constexpr,
           B_PACK: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    ka = tl.arange(0, BK // A_PACK)
    kb = tl.arange(0, BK // B_PACK)
    group = tl.arange(0, BK // GROUP)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * (K // A_PACK) + first // A_PACK + ka[None, :])
        b = tl.load(b_ptr + n[None, :] * (K // B_PACK) + first // B_PACK + kb[:, None])
        a_scale = tl.load(a_scale_ptr + m[:, None] * (K // GROUP) + first // GROUP + group[None, :])
        b_scale = tl.load(b_scale_ptr + n[:, None] * (K // GROUP) + first // GROUP + group[None, :])
        sum = tl.dot_scaled(a, a_scale, A, b, b_scale, B, sum)
    tl.store(c_ptr + m[:, None] * N + n[None, :], sum)


def values(bits, exponent_bits, fraction_bits):
    """Values of patterns, all of them finite."""
    bias = 2 ** (exponent_bits - 1) - 1
    field = (bits >> fraction_bits) & (2**exponent_bits - 1)
    fraction = (bits & (2**fraction_bits - 1)).astype(np.float64) / 2**fraction_bits
    magnitude = np.where(field == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (field.astype(np.float64) - bias))
    return np.where(bits >> (exponent_bits + fraction_bits) & 1, -magnitude, magnitude)


FORMATS = {"e4m3": (4, 3, "*fp8e4nv"), "e5m2": (5, 2, "*fp8e5"), "e2m1": (2, 1, "*u8")}
random = np.random.default_rng(11)


def operand(name, rows, k):
    """Patterns as stored, values, elements in a byte."""
    e, f, _ = FORMATS[name]
    if name == "e2m1":
        bits = random.integers(0, 16, (rows, k)).astype(np.uint8)
        return bits[:, ::2] | bits[:, 1::2] << 4, values(bits, e, f), 2
    middle = 2 ** (e - 1)
    bits = (random.integers((middle - 4) << f, (middle + 1) << f, (rows, k)) | random.integers(0, 2, (rows, k)) << 7).astype(np.uint8)
    return bits, values(bits, e, f), 1


a_format, b_format = sys.argv[1:3]
nv = sys.argv[3:] == ["nv"]
group = 16 if nv else 32
gpu = Gpu()
M, N, K = 128, 128, 256
a, a_value, a_pack = operand(a_format, M, K)
b, b_value, b_pack = operand(b_format, N, K)


def scale(rows):
    shape = (rows, K // group)
    bits = (random.integers(5 << 3, 9 << 3, shape) if nv else random.integers(124, 131, shape)).astype(np.uint8)
    value = values(bits, 4, 3) if nv else 2.0 ** (bits.astype(np.float64) - 127)
    return bits, np.repeat(value, group, axis=1)


a_scale, a_factor = scale(M)
b_scale, b_factor = scale(N)
c = gpu.empty(4 * M * N)
scale_type = "*fp8e4nv" if nv else "*u8"
signature = {"a_ptr": FORMATS[a_format][2], "a_scale_ptr": scale_type, "b_ptr": FORMATS[b_format][2], "b_scale_ptr": scale_type,
             "c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
constants = {"A": a_format, "B": b_format, "A_PACK": a_pack, "B_PACK": b_pack, "GROUP": group, "BM": 128, "BN": 128, "BK": 128}
kernel = Kernel(matmul, signature, constants)
kernel((1, 1), gpu.upload(a), gpu.upload(a_scale), gpu.upload(b), gpu.upload(b_scale), c, M, N, K)
want = (a_value * a_factor) @ (b_value * b_factor).T
compare(f"dot_scaled {a_format} * {b_format}{', e4m3 factors' if nv else ''}", gpu.download(c, (M, N), np.float32), want, 1e-3, 1e-3)
