"""The smallest Triton kernel, and its test: pytest --gen5 b200 examples/python"""

import numpy as np
import triton
import triton.language as tl

import gen5


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def test_vector_add():
    n = 10_000
    random = np.random.default_rng(1)
    x, y = (gen5.array(random.standard_normal(n).astype(np.float32)) for _ in range(2))
    out = gen5.empty(n)
    vector_add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    np.testing.assert_array_equal(out.numpy(), x.numpy() + y.numpy())
