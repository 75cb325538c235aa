"""Vector add, with a masked tail."""

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


gpu = Gpu()
n = 98432
random = np.random.default_rng(0)
x, y = (random.random(n, np.float32) for _ in range(2))
kernel = Kernel(add, {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"BLOCK": 1024})
out = gpu.empty(4 * n)
kernel((triton.cdiv(n, 1024),), gpu.upload(x), gpu.upload(y), out, n)
compare("vector add", gpu.download(out, n, np.float32), x + y, 0, 0)
