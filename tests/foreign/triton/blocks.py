"""Operations inside a block: sort, cumsum, histogram, argmax, atomics."""

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def sort_rows(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at)))


@triton.jit
def scan_rows(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), axis=0))


@triton.jit
def count(x_ptr, out_ptr, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_add(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def extremes(x_ptr, at_ptr, max_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * N + tl.arange(0, N))
    tl.store(at_ptr + row, tl.argmax(x, axis=0))
    tl.atomic_max(max_ptr, tl.max(x, axis=0))


gpu = Gpu()
rows, N, BINS = 12, 256, 64
x = np.random.default_rng(6).integers(0, BINS, (rows, N), np.int32)
d_x, out = gpu.upload(x), gpu.empty(x.nbytes)
i = "*i32"
Kernel(sort_rows, {"x_ptr": i, "out_ptr": i}, {"N": N})((rows,), d_x, out)
compare("sort", gpu.download(out, x.shape, np.int32), np.sort(x, axis=1), 0, 0)
Kernel(scan_rows, {"x_ptr": i, "out_ptr": i}, {"N": N})((rows,), d_x, out)
compare("cumsum", gpu.download(out, x.shape, np.int32), np.cumsum(x, axis=1), 0, 0)
bins = gpu.empty(4 * BINS, 0)
Kernel(count, {"x_ptr": i, "out_ptr": i}, {"N": N, "BINS": BINS})((rows,), d_x, bins)
compare("histogram", gpu.download(bins, BINS, np.int32), np.bincount(x.ravel(), minlength=BINS), 0, 0)
where, most = gpu.empty(4 * rows), gpu.empty(4, 0)
Kernel(extremes, {"x_ptr": i, "at_ptr": i, "max_ptr": i}, {"N": N})((rows,), d_x, where, most)
compare("argmax", gpu.download(where, rows, np.int32), np.argmax(x, axis=1), 0, 0)
compare("atomic max", gpu.download(most, 1, np.int32), [x.max()], 0, 0)
