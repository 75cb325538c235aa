"""Fused softmax: one row a program, any width up to the block."""

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def softmax(out_ptr, in_ptr, in_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(in_ptr + row * in_stride + at, mask=at < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out_ptr + row * out_stride + at, values / tl.sum(values, axis=0), mask=at < columns)


gpu = Gpu()
rows, columns = 183, 781
x = np.random.default_rng(1).standard_normal((rows, columns), np.float32) * 3
kernel = Kernel(softmax, {"out_ptr": "*fp32", "in_ptr": "*fp32", "in_stride": "i32", "out_stride": "i32", "columns": "i32"}, {"BLOCK": 1024})
out = gpu.empty(x.nbytes)
kernel((rows,), out, gpu.upload(x), columns, columns, columns)
e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
compare("softmax", gpu.download(out, x.shape, np.float32), e / e.sum(axis=1, keepdims=True), 1e-5, 1e-7)
