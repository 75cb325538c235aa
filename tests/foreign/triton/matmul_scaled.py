"""Matrix multiplication in 8 bits: plain e4m3, and block-scaled (mxfp8: one power of two for every 32 elements)."""

import sys

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def plain(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + first + k[None, :])
        b = tl.load(b_ptr + n[None, :] * K + first + k[:, None])
        sum = tl.dot(a, b, sum)
    tl.store(c_ptr + m[:, None] * N + n[None, :], sum)


@triton.jit
def scaled(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    group = tl.arange(0, BK // 32)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + first + k[None, :])
        b = tl.load(b_ptr + n[None, :] * K + first + k[:, None])
        a_scale = tl.load(a_scale_ptr + m[:, None] * (K // 32) + first // 32 + group[None, :])
        b_scale = tl.load(b_scale_ptr + n[:, None] * (K // 32) + first // 32 + group[None, :])
        sum = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3", sum)
    tl.store(c_ptr + m[:, None] * N + n[None, :], sum)


def e4m3(bits):
    """Values of e4m3 patterns that are neither NaN nor subnormal."""
    exponent, fraction = (bits >> 3 & 15).astype(np.float64), (bits & 7).astype(np.float64)
    return np.where(bits & 128, -1.0, 1.0) * (1 + fraction / 8) * 2.0 ** (exponent - 7)


gpu = Gpu()
M, N, K = 128, 128, 256
random = np.random.default_rng(9)
a, b = ((random.integers(1 << 3, 10 << 3, s) | random.integers(0, 2, s) << 7).astype(np.uint8) for s in ((M, K), (N, K)))
scale_a, scale_b = (random.integers(124, 131, s).astype(np.uint8) for s in ((M, K // 32), (N, K // 32)))
c = gpu.empty(4 * M * N)
block = {"BM": 128, "BN": 128, "BK": 128}
pointers = {"a_ptr": "*fp8e4nv", "b_ptr": "*fp8e4nv", "c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
if sys.argv[1] == "plain":
    Kernel(plain, pointers, block)((1, 1), gpu.upload(a), gpu.upload(b), c, M, N, K)
    want = e4m3(a) @ e4m3(b).T
else:
    pointers = {**pointers, "a_scale_ptr": "*u8", "b_scale_ptr": "*u8"}
    Kernel(scaled, pointers, block)((1, 1), gpu.upload(a), gpu.upload(scale_a), gpu.upload(b), gpu.upload(scale_b), c, M, N, K)
    power = [2.0 ** (np.repeat(s.astype(np.float64), 32, axis=1) - 127) for s in (scale_a, scale_b)]
    want = (e4m3(a) * power[0]) @ (e4m3(b) * power[1]).T
compare(f"matmul e4m3, {sys.argv[1]}", gpu.download(c, (M, N), np.float32), want, 1e-3, 1e-3)
