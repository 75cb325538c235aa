"""Matrix multiplication with tensor descriptors made on the device: one tile a program, persistent, warp-specialised; in f16,
bf16 and tf32; num_ctas 1 and 2."""

import sys

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, as_type, compare, from_bf16


@triton.jit
def tile(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        sum = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, sum)
    c.store([m, n], sum.to(c_ptr.dtype.element_ty))


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
        c.store([m, n], sum.to(c_ptr.dtype.element_ty))


def run(gpu, name, kind, ctas):
    M, N, K = 384, 256, 256
    random = np.random.default_rng(7)
    (raw_a, a), (raw_b, b) = (as_type(random.standard_normal(s, np.float32), kind) for s in ((M, K), (N, K)))
    block = {"BM": 128, "BN": 128, "BK": 32 if kind == "fp32" else 64}
    signature = {"a_ptr": "*" + kind, "b_ptr": "*" + kind, "c_ptr": "*" + kind, "M": "i32", "N": "i32", "K": "i32"}
    options = {"num_stages": 3, "num_ctas": ctas}
    c = gpu.empty(raw_a.itemsize * M * N)
    if name == "tile":
        Kernel(tile, signature, block, **options)((M // 128, N // 128), gpu.upload(raw_a), gpu.upload(raw_b), c, M, N, K)
    else:
        constants = {**block, "PROGRAMS": 4, "WARP_SPECIALIZE": name == "warp_specialized"}
        Kernel(persistent, signature, constants, **options)((4,), gpu.upload(raw_a), gpu.upload(raw_b), c, M, N, K)
    got = gpu.download(c, (M, N), raw_a.dtype)
    tolerance = 1e-2 if kind == "fp16" else 2e-2
    compare(f"matmul with descriptors, {name}, {kind}, num_ctas={ctas}", from_bf16(got) if kind == "bf16" else got, a @ b.T,
            tolerance, 3 * tolerance)


arguments = sys.argv[1:]
ctas = 2 if "--num-ctas" in arguments else 1
gpu = Gpu()
for name in [n for n in arguments if n in ("tile", "persistent", "warp_specialized")] or ["tile", "persistent", "warp_specialized"]:
    for kind in [k for k in arguments if k in ("fp16", "bf16", "fp32")] or ["fp16", "bf16", "fp32"]:
        run(gpu, name, kind, ctas)
