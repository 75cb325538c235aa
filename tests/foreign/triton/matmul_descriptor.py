"""Matrix multiplication with tensor descriptors made on the device: one tile a program, persistent, warp-specialised."""

import sys

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def tile(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        sum = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, sum)
    c.store([m, n], sum.to(tl.float16))


@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, M, N, K, PROGRAMS: tl.constexpr, WARP_SPECIALIZE: tl.constexpr,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    tiles_n = tl.cdiv(N, BN)
    for t in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, PROGRAMS, flatten=True, warp_specialize=WARP_SPECIALIZE):
        m, n = t // tiles_n * BM, t % tiles_n * BN
        sum = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            sum = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, sum)
        c.store([m, n], sum.to(tl.float16))


gpu = Gpu()
M, N, K = 384, 256, 256
random = np.random.default_rng(7)
a, b = (random.standard_normal(s, np.float32).astype(np.float16) for s in ((M, K), (N, K)))
want = a.astype(np.float64) @ b.astype(np.float64).T
d_a, d_b = gpu.upload(a), gpu.upload(b)
pointers = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
block = {"BM": 128, "BN": 128, "BK": 64}
for name in sys.argv[1:] or ["tile", "persistent", "warp_specialized"]:
    c = gpu.empty(2 * M * N)
    if name == "tile":
        Kernel(tile, pointers, block, num_stages=3)((M // 128, N // 128), d_a, d_b, c, M, N, K)
    else:
        constants = {**block, "PROGRAMS": 4, "WARP_SPECIALIZE": name == "warp_specialized"}
        Kernel(persistent, pointers, constants, num_stages=3)((4,), d_a, d_b, c, M, N, K)
    compare(f"matmul with descriptors, {name}", gpu.download(c, (M, N), np.float16), want, 1e-2, 1e-2)
