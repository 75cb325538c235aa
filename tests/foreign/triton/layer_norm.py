"""Layer norm, forward and backward (dx with partial sums of dw and db under a lock, then a second kernel)."""

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def forward(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0.0)
    mean = tl.sum(x, axis=0) / N
    centred = tl.where(at < N, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(w_ptr + at, mask=at < N)
    b = tl.load(b_ptr + at, mask=at < N)
    tl.store(y_ptr + at, centred * rstd * w + b, mask=at < N)


@triton.jit
def backward_dx(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, N,
                GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    x_ptr += row * stride
    dy_ptr += row * stride
    dx_ptr += row * stride
    group = row % GROUPS
    lock_ptr += group
    count_ptr = lock_ptr + GROUPS
    dw_ptr += group * N + at
    db_ptr += group * N + at
    x = tl.load(x_ptr + at, mask=mask, other=0)
    dy = tl.load(dy_ptr + at, mask=mask, other=0)
    w = tl.load(w_ptr + at, mask=mask)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    xhat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    tl.store(dx_ptr + at, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    dw = dy * xhat
    db = dy
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(count_ptr) == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        dw += tl.load(dw_ptr, mask=mask)
        db += tl.load(db_ptr, mask=mask)
    tl.store(dw_ptr, dw, mask=mask)
    tl.store(db_ptr, db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def backward_dwdb(dw_ptr, db_ptr, final_dw_ptr, final_db_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros((BM, BN), dtype=tl.float32)
    db = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, M, BM):
        rows = i + tl.arange(0, BM)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        at = rows[:, None] * N + columns[None, :]
        dw += tl.load(dw_ptr + at, mask=mask, other=0.0)
        db += tl.load(db_ptr + at, mask=mask, other=0.0)
    tl.store(final_dw_ptr + columns, tl.sum(dw, axis=0), mask=columns < N)
    tl.store(final_db_ptr + columns, tl.sum(db, axis=0), mask=columns < N)


gpu = Gpu()
M, N, BLOCK, GROUPS, eps = 96, 384, 512, 8, 1e-5
random = np.random.default_rng(3)
x = random.standard_normal((M, N), np.float32) * 2 - 0.5
w, b = random.random(N, np.float32), random.random(N, np.float32)
dy = random.standard_normal((M, N), np.float32) * 0.1
d_x, d_w, d_dy = gpu.upload(x), gpu.upload(w), gpu.upload(dy)
y, mean, rstd = gpu.empty(x.nbytes), gpu.empty(4 * M), gpu.empty(4 * M)
p = "*fp32"
Kernel(forward, dict(x_ptr=p, y_ptr=p, w_ptr=p, b_ptr=p, mean_ptr=p, rstd_ptr=p, stride="i32", N="i32", eps="fp32"),
       {"BLOCK": BLOCK})((M,), d_x, y, d_w, gpu.upload(b), mean, rstd, N, N, eps)
x64 = x.astype(np.float64)
r = 1 / np.sqrt(x64.var(axis=1, keepdims=True) + eps)
xhat = (x64 - x64.mean(axis=1, keepdims=True)) * r
compare("layer norm forward", gpu.download(y, x.shape, np.float32), xhat * w + b, 1e-4, 1e-4)

dx, dw, db = gpu.empty(x.nbytes), gpu.empty(4 * GROUPS * N, 0), gpu.empty(4 * GROUPS * N, 0)
locks = gpu.empty(8 * GROUPS, 0)
Kernel(backward_dx, dict(dx_ptr=p, dy_ptr=p, dw_ptr=p, db_ptr=p, x_ptr=p, w_ptr=p, mean_ptr=p, rstd_ptr=p, lock_ptr="*i32",
                         stride="i32", N="i32"), {"GROUPS": GROUPS, "BLOCK": BLOCK})((M,), dx, d_dy, dw, db, d_x, d_w, mean, rstd, locks, N, N)
wdy = dy.astype(np.float64) * w
want = (wdy - (xhat * (xhat * wdy).mean(axis=1, keepdims=True) + wdy.mean(axis=1, keepdims=True))) * r
compare("layer norm dx", gpu.download(dx, x.shape, np.float32), want, 1e-3, 1e-4)
final_dw, final_db = gpu.empty(4 * N), gpu.empty(4 * N)
Kernel(backward_dwdb, dict(dw_ptr=p, db_ptr=p, final_dw_ptr=p, final_db_ptr=p, M="i32", N="i32"),
       {"BM": 32, "BN": 128})((triton.cdiv(N, 128),), dw, db, final_dw, final_db, GROUPS, N)
compare("layer norm dw", gpu.download(final_dw, N, np.float32), (dy * xhat).sum(axis=0), 1e-3, 1e-4)
compare("layer norm db", gpu.download(final_db, N, np.float32), dy.astype(np.float64).sum(axis=0), 1e-3, 1e-4)
