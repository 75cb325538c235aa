"""Dropout with Philox random numbers from a seed, against Philox 4x32-10 in numpy."""

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    keep = tl.rand(seed, at) > p
    tl.store(out_ptr + at, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def philox(seed, offset):
    """First word of Philox 4x32-10 with the counter (offset, 0, 0, 0)."""
    m0, m1, k0, k1 = 0xD2511F53, 0xCD9E8D57, np.uint32(seed), np.uint32(seed >> 32)
    c = [offset.astype(np.uint32)] + [np.zeros_like(offset, np.uint32) for _ in range(3)]
    for _ in range(10):
        low0, low1 = c[0].astype(np.uint64) * m0, c[2].astype(np.uint64) * m1
        c = [(low1 >> 32).astype(np.uint32) ^ c[1] ^ k0, low1.astype(np.uint32), (low0 >> 32).astype(np.uint32) ^ c[3] ^ k1, low0.astype(np.uint32)]
        k0, k1 = np.uint32((int(k0) + 0x9E3779B9) & 0xFFFFFFFF), np.uint32((int(k1) + 0xBB67AE85) & 0xFFFFFFFF)
    return c[0]


gpu = Gpu()
n, p, seed = 5000, 0.3, 1234
x = np.random.default_rng(5).standard_normal(n, np.float32)
out = gpu.empty(4 * n)
Kernel(dropout, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "p": "fp32", "seed": "i32"}, {"BLOCK": 512})(
    (triton.cdiv(n, 512),), gpu.upload(x), out, n, p, seed)
bits = philox(seed, np.arange(n)).view(np.int32)
uniform = np.where(bits < 0, -bits.astype(np.int64) - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)
compare("philox dropout", gpu.download(out, n, np.float32), np.where(uniform > np.float32(p), x / np.float32(1 - p), 0), 1e-6, 0)
