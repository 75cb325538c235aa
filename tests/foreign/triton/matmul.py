"""Matrix multiplication with pointers, grouped order of tiles, in f16, bf16 and tf32; num_ctas 1 and 2."""

import sys

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, as_type, compare


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first_m = pid // in_group * GROUP
    group = min(tiles_m - first_m, GROUP)
    pid_m = first_m + (pid % in_group) % group
    pid_n = (pid % in_group) // group
    offs_m = (pid_m * BM + tl.arange(0, BM)) % M
    offs_n = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
    b = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :]
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        sum = tl.dot(tl.load(a, mask=offs_k[None, :] < left, other=0.0), tl.load(b, mask=offs_k[:, None] < left, other=0.0), sum)
        a += BK
        b += BK * stride_bk
    at_m = pid_m * BM + tl.arange(0, BM)
    at_n = pid_n * BN + tl.arange(0, BN)
    c = c_ptr + stride_cm * at_m[:, None] + at_n[None, :]
    tl.store(c, sum, mask=(at_m[:, None] < M) & (at_n[None, :] < N))


def run(gpu, kind, M, N, K, ctas):
    random = np.random.default_rng(2)
    a, b = random.standard_normal((M, K), np.float32), random.standard_normal((K, N), np.float32)
    (raw_a, a), (raw_b, b) = as_type(a, kind), as_type(b, kind)
    pointer = "*" + kind
    block_k = 32 if kind == "fp32" else 64
    kernel = Kernel(matmul, {"a_ptr": pointer, "b_ptr": pointer, "c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32",
                             "stride_am": "i32", "stride_bk": "i32", "stride_cm": "i32"},
                    {"BM": 128, "BN": 128, "BK": block_k, "GROUP": 8}, num_warps=4, num_stages=3, num_ctas=ctas)
    c = gpu.empty(4 * M * N)
    kernel((triton.cdiv(M, 128) * triton.cdiv(N, 128),), gpu.upload(raw_a), gpu.upload(raw_b), c, M, N, K, K, N, N)
    tolerance = 2e-2 if kind == "fp32" else 1e-3
    compare(f"matmul {kind} {M}x{N}x{K} num_ctas={ctas}", gpu.download(c, (M, N), np.float32), a @ b, tolerance, tolerance * 3)


arguments = sys.argv[1:]
ctas = 2 if "--num-ctas" in arguments else 1
kinds = [k for k in arguments if k in ("fp16", "bf16", "fp32")] or ["fp16", "bf16", "fp32"]
gpu = Gpu()
for kind in kinds:
    run(gpu, kind, 256, 256, 192, ctas)
run(gpu, kinds[0], 200, 136, 96, ctas)
