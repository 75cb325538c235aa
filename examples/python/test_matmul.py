"""A matrix product in Triton: tensor descriptors feed tl.dot, which is tcgen05.mma on a B200 and wgmma on an H200. The fastest
of three shapes of tile is found by autotune; its times are the machine's clock."""

import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import gen5


def set_blocks(arguments):
    m, n, k = (arguments[b] for b in ("BM", "BN", "BK"))
    arguments["a"].block_shape, arguments["b"].block_shape, arguments["c"].block_shape = [m, k], [k, n], [m, n]


@triton.autotune([triton.Config({"BM": m, "BN": n, "BK": 64}, num_warps=4, num_stages=3, pre_hook=set_blocks)
                  for m, n in ((128, 64), (128, 128), (64, 64))], key=["K"])
@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sum = tl.dot(a.load([m, k]), b.load([k, n]), sum)
    c.store([m, n], sum.to(tl.float16))


def test_matmul():
    M, N, K = 256, 256, 128
    random = np.random.default_rng(1)
    a, b = (gen5.array(random.standard_normal(s).astype(np.float16)) for s in ((M, K), (K, N)))
    c = gen5.empty((M, N), np.float16)
    descriptors = (TensorDescriptor.from_tensor(x, [1, 64]) for x in (a, b, c))
    matmul[lambda meta: (M // meta["BM"], N // meta["BN"])](*descriptors, K)
    want = a.numpy().astype(np.float64) @ b.numpy().astype(np.float64)
    np.testing.assert_allclose(c.numpy(), want, rtol=2e-3, atol=2e-3)
