#!/usr/bin/env python3
"""kernels.py FOLDER: writes the development kernels into FOLDER: PTX, machine code, and manifest.json with what a launch needs.

They are of the classes in which predictions of other people's kernels are worst (products of few warps, backward kernels of norms and losses,
elementwise kernels of narrow types, loops of arithmetic), in other kernels and other sizes. Causes are looked for here, so that the second set
stays one that nothing was fitted to. Run it with the Python of tests/foreign/fetch.py, which pins Triton's version; ptxas and nvcc of CUDA 13.0
must be in PATH."""

import json
import pathlib
import subprocess
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

HERE = pathlib.Path(__file__).resolve().parent
SIZE = {"bf16": 2, "fp16": 2, "fp32": 4, "i32": 4, "i64": 8, "fp8e4nv": 1, "i8": 1}


# ---- Products


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            GROUP: tl.constexpr, B_ROWS: tl.constexpr):
    """Tiles in groups of rows; places from k, not from the turn before. B_ROWS: B has K rows, else N."""
    tile = tl.program_id(0)
    across: tl.constexpr = (N + BN - 1) // BN
    down: tl.constexpr = (M + BM - 1) // BM
    group = tile // (GROUP * across)
    high = min(down - group * GROUP, GROUP)
    m = group * GROUP + tile % high
    n = tile % (GROUP * across) // high
    rows = m * BM + tl.arange(0, BM)
    columns = n * BN + tl.arange(0, BN)
    ra = tl.max_contiguous(tl.multiple_of(rows % M, BM), BM)
    rb = tl.max_contiguous(tl.multiple_of(columns % N, BN), BN)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, (K + BK - 1) // BK):
        at = k * BK + tl.arange(0, BK)
        a = tl.load(a_ptr + ra[:, None] * K + at[None, :])
        if B_ROWS:
            b = tl.load(b_ptr + at[:, None] * N + rb[None, :])
        else:
            b = tl.load(b_ptr + rb[None, :] * K + at[:, None])
        sum += tl.dot(a, b)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sum.to(c_ptr.dtype.element_ty), mask=inside)


@triton.jit
def product_tma(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, CTAS: tl.constexpr):
    """Persistent: a CTA takes tile after tile; TMA loads and stores."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, CTAS):
        m, n = tile // across * BM, tile % across * BN
        sum = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            sum = tl.dot(a.load([m, k]), b.load([n, k]).T, sum)
        c.store([m, n], sum.to(c_ptr.dtype.element_ty))


# ---- Rows


@triton.jit
def softmax_backward(dy_ptr, y_ptr, dx_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    dy = tl.load(dy_ptr + row + at, mask=inside, other=0).to(tl.float32)
    y = tl.load(y_ptr + row + at, mask=inside, other=0).to(tl.float32)
    tl.store(dx_ptr + row + at, y * (dy - tl.sum(dy * y)), mask=inside)


@triton.jit
def layer_norm_backward(x_ptr, dy_ptr, w_ptr, mean_ptr, scale_ptr, dx_ptr, dw_ptr, db_ptr, rows, columns, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """A program takes EACH rows and keeps its part of dw and db in registers."""
    part = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    w = tl.load(w_ptr + at, mask=inside, other=0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    db = tl.zeros((BLOCK,), tl.float32)
    for r in range(part * EACH, min(part * EACH + EACH, rows)):
        row = r.to(tl.int64) * columns
        x = tl.load(x_ptr + row + at, mask=inside, other=0).to(tl.float32)
        dy = tl.load(dy_ptr + row + at, mask=inside, other=0).to(tl.float32)
        mean, scale = tl.load(mean_ptr + r), tl.load(scale_ptr + r)
        xn = (x - mean) * scale
        wdy = w * dy
        c1, c2 = tl.sum(xn * wdy) / columns, tl.sum(wdy) / columns
        tl.store(dx_ptr + row + at, (wdy - xn * c1 - c2) * scale, mask=inside)
        dw += dy * xn
        db += dy
    tl.store(dw_ptr + part * columns + at, dw, mask=inside)
    tl.store(db_ptr + part * columns + at, db, mask=inside)


@triton.jit
def rms_norm_backward(x_ptr, dy_ptr, w_ptr, scale_ptr, dx_ptr, dw_ptr, rows, columns, EACH: tl.constexpr, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    w = tl.load(w_ptr + at, mask=inside, other=0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for r in range(part * EACH, min(part * EACH + EACH, rows)):
        row = r.to(tl.int64) * columns
        x = tl.load(x_ptr + row + at, mask=inside, other=0).to(tl.float32)
        dy = tl.load(dy_ptr + row + at, mask=inside, other=0).to(tl.float32)
        scale = tl.load(scale_ptr + r)
        m = dy * w
        tl.store(dx_ptr + row + at, scale * m - scale * scale * scale / columns * tl.sum(m * x) * x, mask=inside)
        dw += dy * x * scale
    tl.store(dw_ptr + part * columns + at, dw, mask=inside)


@triton.jit
def cross_entropy(x_ptr, label_ptr, loss_ptr, columns, BLOCK: tl.constexpr):
    """Loss and gradient, in place: two passes over a row that no CTA holds at once."""
    r = tl.program_id(0)
    row = x_ptr + r.to(tl.int64) * columns
    label = tl.load(label_ptr + r)
    hit = tl.load(row + label).to(tl.float32)
    most, total = -float("inf"), 0.0
    for i in range(0, columns, BLOCK):
        at = i + tl.arange(0, BLOCK)
        x = tl.load(row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        now = tl.maximum(most, tl.max(x))
        total = total * tl.exp(most - now) + tl.sum(tl.exp(x - now))
        most = now
    for i in range(0, columns, BLOCK):
        at = i + tl.arange(0, BLOCK)
        x = tl.load(row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        g = tl.exp(x - most) / total
        tl.store(row + at, tl.where(at == label, g - 1, g), mask=at < columns)
    tl.store(loss_ptr + r, most + tl.log(total) - hit)


@triton.jit
def group_norm_backward(x_ptr, dy_ptr, w_ptr, mean_ptr, scale_ptr, dx_ptr, dw_ptr, db_ptr, channels: tl.constexpr, space, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """A program has one group of one image: its channels one by one, then again for dx."""
    image, group = tl.program_id(0), tl.program_id(1)
    each: tl.constexpr = channels // GROUPS
    mean = tl.load(mean_ptr + image * GROUPS + group)
    scale = tl.load(scale_ptr + image * GROUPS + group)
    c1, c2 = 0.0, 0.0
    for c in range(group * each, group * each + each):
        base = (image * channels + c) * space
        dw, db = 0.0, 0.0
        w = tl.load(w_ptr + c)
        for i in range(0, space, BLOCK):
            at = i + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + base + at, mask=at < space, other=0)
            dy = tl.load(dy_ptr + base + at, mask=at < space, other=0)
            xn = (x - mean) * scale
            dw += tl.sum(dy * xn)
            db += tl.sum(dy)
            c1 += tl.sum(xn * dy * w)
            c2 += tl.sum(dy * w)
        tl.atomic_add(dw_ptr + c, dw)
        tl.atomic_add(db_ptr + c, db)
    n = each * space
    c1, c2 = c1 / n, c2 / n
    for c in range(group * each, group * each + each):
        base = (image * channels + c) * space
        w = tl.load(w_ptr + c)
        for i in range(0, space, BLOCK):
            at = i + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + base + at, mask=at < space, other=0)
            dy = tl.load(dy_ptr + base + at, mask=at < space, other=0)
            xn = (x - mean) * scale
            tl.store(dx_ptr + base + at, (w * dy - (xn * c1 + c2)) * scale, mask=at < space)


@triton.jit
def geglu_backward(dy_ptr, a_ptr, b_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    dy = tl.load(dy_ptr + row + at, mask=inside, other=0).to(tl.float32)
    a = tl.load(a_ptr + row + at, mask=inside, other=0).to(tl.float32)
    b = tl.load(b_ptr + row + at, mask=inside, other=0).to(tl.float32)
    inner = 0.7978845608 * (a + 0.044715 * a * a * a)
    t = 1 - 2 / (tl.exp(2 * inner) + 1)
    half = 0.5 * (1 + t)
    tl.store(b_ptr + row + at, dy * a * half, mask=inside)
    tl.store(a_ptr + row + at, dy * b * (half + 0.5 * a * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * a * a)), mask=inside)


@triton.jit
def kl_rows(y_ptr, t_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    row = r.to(tl.int64) * columns
    sum = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, columns, BLOCK):
        at = i + tl.arange(0, BLOCK)
        y = tl.load(y_ptr + row + at, mask=at < columns, other=0)
        t = tl.load(t_ptr + row + at, mask=at < columns, other=0)
        sum += t * (tl.log(tl.maximum(t, 1e-10)) - y)
    tl.store(out_ptr + r, tl.sum(sum))


@triton.jit
def column_sums(x_ptr, out_ptr, rows, columns, EACH: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    first = tl.program_id(1) * EACH
    sum = tl.zeros((BR, BC), tl.float32)
    for i in range(0, EACH, BR):
        r = first + i + tl.arange(0, BR)
        sum += tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=(r < rows)[:, None], other=0).to(tl.float32)
    tl.store(out_ptr + tl.program_id(1) * columns + c, tl.sum(sum, 0))


# ---- Elementwise


@triton.jit
def axpy(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    y = tl.load(y_ptr + at, mask=at < n).to(tl.float32)
    tl.store(out_ptr + at, (x * 2 + y).to(out_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def scale_cast(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, (tl.load(x_ptr + at, mask=at < n).to(tl.float32) * 3).to(out_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def adam(p_ptr, g_ptr, m_ptr, v_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p, g = tl.load(p_ptr + at, mask=at < n), tl.load(g_ptr + at, mask=at < n)
    m, v = tl.load(m_ptr + at, mask=at < n), tl.load(v_ptr + at, mask=at < n)
    m = m * 0.9 + g * 0.1
    v = v * 0.95 + g * g * 0.05
    tl.store(m_ptr + at, m, mask=at < n)
    tl.store(v_ptr + at, v, mask=at < n)
    tl.store(p_ptr + at, p * 0.999 - 1e-3 * m / (tl.sqrt(tl.abs(v)) + 1e-8), mask=at < n)


@triton.jit
def turn(x_ptr, out_ptr, rows, columns, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :])
    tl.store(out_ptr + c[:, None] * rows + r[None, :], tl.trans(x).to(out_ptr.dtype.element_ty))


# ---- Cases


def case(name, group, function, arguments, constants, grid, tensor=False, **options):
    return dict(name=name, group=group, function=function, arguments=arguments, constants=constants, grid=(*grid, 1, 1)[:3], tensor=tensor, options=options)


def products():
    tiles = {1: [(16, 64, 64, 3), (32, 32, 32, 3), (32, 64, 32, 2)],
             2: [(32, 32, 64, 3), (64, 32, 64, 4), (64, 64, 32, 3), (64, 64, 64, 3), (32, 128, 32, 2), (128, 64, 32, 4), (64, 64, 128, 2)],
             4: [(64, 64, 64, 3), (128, 64, 32, 4), (128, 128, 64, 3), (64, 128, 128, 2), (32, 64, 64, 4)],
             8: [(128, 128, 64, 3), (128, 256, 64, 3), (256, 64, 32, 4)]}
    for warps, of in tiles.items():
        for bm, bn, bk, stages in of:
            yield mm("bf16", warps, bm, bn, bk, stages, 1536, 1536, 1024)
    for warps, bm, bn, bk, stages in ((2, 64, 64, 32, 4), (4, 128, 128, 32, 3), (8, 128, 128, 128, 2)):
        yield mm("fp16", warps, bm, bn, bk, stages, 3072, 1024, 512)
    for warps, bm, bn, bk, stages in ((2, 64, 64, 64, 3), (4, 128, 128, 64, 3), (8, 128, 128, 128, 3)):
        yield mm("fp8e4nv", warps, bm, bn, bk, stages, 1536, 1536, 2048, rows_of_b=False)
    for warps, bm, bn, bk, stages in ((2, 64, 64, 64, 3), (4, 128, 64, 64, 3)):
        yield mm("bf16", warps, bm, bn, bk, stages, 1536, 1536, 1024, rows_of_b=False)
    for warps, bm, bn, bk, stages in ((4, 64, 128, 64, 4), (4, 128, 128, 64, 3), (8, 128, 256, 64, 3)):
        m, n, k = 3072, 2048, 1024
        yield case(f"tma/bf16/warps:{warps}/tile:{bm}x{bn}x{bk}/stages:{stages}/m:{m}/n:{n}/k:{k}", "GEMM, TMA", product_tma,
                   [("a_ptr", "*bf16", m * k), ("b_ptr", "*bf16", n * k), ("c_ptr", "*bf16", m * n), ("M", "i32", m), ("N", "i32", n), ("K", "i32", k)],
                   dict(BM=bm, BN=bn, BK=bk, CTAS=132), (132,), True, num_warps=warps, num_stages=stages)


def mm(kind, warps, bm, bn, bk, stages, m, n, k, rows_of_b=True):
    out = "fp16" if kind == "fp16" else "bf16"
    return case(f"mm/{kind}/{'kn' if rows_of_b else 'nk'}/warps:{warps}/tile:{bm}x{bn}x{bk}/stages:{stages}/m:{m}/n:{n}/k:{k}",
                "GEMM, wgmma" if warps >= 4 and bm >= 64 else "GEMM, mma.sync", product,
                [("a_ptr", "*" + kind, m * k), ("b_ptr", "*" + kind, n * k), ("c_ptr", "*" + out, m * n)],
                dict(M=m, N=n, K=k, BM=bm, BN=bn, BK=bk, GROUP=8, B_ROWS=rows_of_b), (-(-m // bm) * -(-n // bn),), True, num_warps=warps, num_stages=stages)


def row_kernels():
    for rows, columns, warps in ((6144, 1536, 4), (1024, 12288, 8), (1024, 12288, 16)):
        n, block, at = rows * columns, triton.next_power_of_2(columns), f"/rows:{rows}/columns:{columns}/warps:{warps}"
        yield case("softmax_backward" + at, "rows", softmax_backward, [("dy_ptr", "*bf16", n), ("y_ptr", "*bf16", n), ("dx_ptr", "*bf16", n), ("columns", "i32", columns)],
                   dict(BLOCK=block), (rows,), num_warps=warps)
    for rows, columns, warps, programs in ((6144, 1024, 4, 132), (3072, 4096, 8, 132), (3072, 4096, 8, 264), (2048, 6144, 16, 132)):
        n, block, at = rows * columns, triton.next_power_of_2(columns), f"/rows:{rows}/columns:{columns}/warps:{warps}/programs:{programs}"
        each = -(-rows // programs)
        common = [("x_ptr", "*bf16", n), ("dy_ptr", "*bf16", n), ("w_ptr", "*bf16", columns)]
        yield case("layer_norm_backward" + at, "rows", layer_norm_backward,
                   [*common, ("mean_ptr", "*fp32", rows), ("scale_ptr", "*fp32", rows), ("dx_ptr", "*bf16", n),
                    ("dw_ptr", "*fp32", programs * columns), ("db_ptr", "*fp32", programs * columns), ("rows", "i32", rows), ("columns", "i32", columns)],
                   dict(EACH=each, BLOCK=block), (programs,), num_warps=warps)
        if programs == 132:
            yield case("rms_norm_backward" + at, "rows", rms_norm_backward,
                       [*common, ("scale_ptr", "*fp32", rows), ("dx_ptr", "*bf16", n), ("dw_ptr", "*fp32", programs * columns), ("rows", "i32", rows), ("columns", "i32", columns)],
                       dict(EACH=each, BLOCK=block), (programs,), num_warps=warps)
    for rows, columns, block, warps in ((768, 50304, 4096, 8), (768, 50304, 32768, 32), (2048, 16000, 8192, 16)):
        yield case(f"cross_entropy/rows:{rows}/columns:{columns}/block:{block}/warps:{warps}", "rows", cross_entropy,
                   [("x_ptr", "*bf16", rows * columns), ("label_ptr", "*i64", rows, (0, columns - 1)), ("loss_ptr", "*fp32", rows), ("columns", "i32", columns)],
                   dict(BLOCK=block), (rows,), num_warps=warps)
    for channels, space, groups, block, warps in ((128, 2048, 16, 1024, 4), (512, 196, 32, 256, 4)):
        n = 16 * channels * space
        yield case(f"group_norm_backward/channels:{channels}/space:{space}/groups:{groups}/warps:{warps}", "rows", group_norm_backward,
                   [("x_ptr", "*fp32", n), ("dy_ptr", "*fp32", n), ("w_ptr", "*fp32", channels), ("mean_ptr", "*fp32", 16 * groups), ("scale_ptr", "*fp32", 16 * groups),
                    ("dx_ptr", "*fp32", n), ("dw_ptr", "*fp32", channels), ("db_ptr", "*fp32", channels), ("space", "i32", space)],
                   dict(channels=channels, GROUPS=groups, BLOCK=block), (16, groups), num_warps=warps)
    for rows, columns, warps in ((4096, 3072, 8), (2048, 11008, 16)):
        n = rows * columns
        yield case(f"geglu_backward/rows:{rows}/columns:{columns}/warps:{warps}", "rows", geglu_backward,
                   [("dy_ptr", "*bf16", n), ("a_ptr", "*bf16", n), ("b_ptr", "*bf16", n), ("columns", "i32", columns)],
                   dict(BLOCK=triton.next_power_of_2(columns)), (rows,), num_warps=warps)
    for rows, columns, block, warps in ((768, 50304, 4096, 8), (768, 50304, 16384, 32)):
        yield case(f"kl_rows/rows:{rows}/columns:{columns}/block:{block}/warps:{warps}", "rows", kl_rows,
                   [("y_ptr", "*fp32", rows * columns), ("t_ptr", "*fp32", rows * columns), ("out_ptr", "*fp32", rows), ("columns", "i32", columns)],
                   dict(BLOCK=block), (rows,), num_warps=warps)
    for rows, columns, br, bc, parts in ((6144, 3072, 32, 32, 8), (6144, 3072, 8, 128, 4)):
        yield case(f"column_sums/rows:{rows}/columns:{columns}/block:{br}x{bc}/parts:{parts}", "rows", column_sums,
                   [("x_ptr", "*bf16", rows * columns), ("out_ptr", "*fp32", parts * columns), ("rows", "i32", rows), ("columns", "i32", columns)],
                   dict(EACH=rows // parts, BR=br, BC=bc), (columns // bc, parts), num_warps=4)


def elementwise():
    for kind, n, block, warps in (("bf16", 6291456, 1024, 4), ("bf16", 50331648, 512, 8), ("fp32", 6291456, 256, 4), ("fp32", 25165824, 1024, 4)):
        yield case(f"axpy/{kind}/n:{n}/block:{block}/warps:{warps}", "elementwise", axpy,
                   [("x_ptr", "*" + kind, n), ("y_ptr", "*" + kind, n), ("out_ptr", "*" + kind, n), ("n", "i32", n)], dict(BLOCK=block), (-(-n // block),), num_warps=warps)
    for source, to, n, block, warps in (("bf16", "fp32", 12582912, 1024, 4), ("fp32", "bf16", 50331648, 512, 4), ("i8", "bf16", 50331648, 1024, 8), ("bf16", "bf16", 12582912, 128, 4)):
        yield case(f"scale_cast/{source}/{to}/n:{n}/block:{block}/warps:{warps}", "elementwise", scale_cast,
                   [("x_ptr", "*" + source, n), ("out_ptr", "*" + to, n), ("n", "i32", n)], dict(BLOCK=block), (-(-n // block),), num_warps=warps)
    for n, block, warps in ((3145728, 512, 4), (12582912, 1024, 8)):
        yield case(f"adam/n:{n}/block:{block}/warps:{warps}", "elementwise", adam,
                   [(p, "*fp32", n) for p in ("p_ptr", "g_ptr", "m_ptr", "v_ptr")] + [("n", "i32", n)], dict(BLOCK=block), (-(-n // block),), num_warps=warps)
    for rows, columns, br, bc, kind in ((3072, 5120, 32, 32, "bf16"), (3072, 5120, 64, 64, "fp32")):
        yield case(f"turn/{kind}/rows:{rows}/columns:{columns}/block:{br}x{bc}", "elementwise", turn,
                   [("x_ptr", "*" + kind, rows * columns), ("out_ptr", "*" + kind, rows * columns), ("rows", "i32", rows), ("columns", "i32", columns)],
                   dict(BR=br, BC=bc), (rows // br, columns // bc), num_warps=4)


def cuda_kernels():
    """name, group, kernel of cuda.cu, arguments, grid, threads"""
    for unroll in (1, 2, 4, 16):
        for threads, ctas in ((128, 264), (512, 132)):
            yield f"fma/unroll:{unroll}/threads:{threads}/ctas:{ctas}", "arithmetic", f"fma_{unroll}", [("out", "*fp32", threads * ctas), ("n", "i32", 4096)], ctas, threads
    for unroll in (1, 8):
        for threads in (64, 256, 1024):
            yield f"integers/unroll:{unroll}/threads:{threads}", "arithmetic", f"integers_{unroll}", [("out", "*i32", threads * 132), ("n", "i32", 2048)], 132, threads
    for kernel in ("special_1", "special_4", "mixed", "divisions"):
        yield f"{kernel}/threads:256", "arithmetic", kernel, [("out", "*fp32", 256 * 264), ("n", "i32", 1024)], 264, 256
    for threads in (96, 256, 768):
        yield f"short/threads:{threads}/ctas:10000", "tiny", "short_work", [("out", "*fp32", threads * 10000), ("n", "i32", 40)], 10000, threads
    for kind, size in (("u8", 1), ("u16", 2), ("u32", 4), ("u64", 8), ("u128", 16)):
        for mib in (12, 192):
            n = (mib << 20) // size
            yield f"copy/{kind}/mib:{mib}", "copy", f"copy_{kind}", [("to", "*i8", mib << 20), ("from", "*i8", mib << 20), ("n", "i32", n)], min(-(-n // 256), 132 * 16), 256
    for kernel in ("sum_4", "sum_16"):
        for mib in (24, 256):
            n = (mib << 20) // 4
            yield f"{kernel}/mib:{mib}", "reduction", kernel, [("out", "*fp32", 1056), ("from", "*fp32", n), ("n", "i32", n)], 1056, 256
    for threads in (128, 512):
        yield f"shared_rounds/threads:{threads}", "shared", "shared_rounds", [("out", "*fp32", 132 * threads), ("n", "i32", 1024)], 132, threads


# ---- Files


def ptxas(text, stem, folder):
    subprocess.run(["ptxas", "-arch=sm_90a", "-o", folder / f"{stem}.cubin", folder / f"{stem}.ptx"], check=True)


def argument(number, name, kind, value, content=None):
    if kind[0] != "*":
        return dict(name=name, type=kind, value=value)
    return dict(name=name, type=kind, storage=number, bytes=value * SIZE[kind[1:]], offset=0,
                content=None if kind not in ("*i64", "*i32", "*i8") else dict(least=content[0], most=content[1]) if content else dict(least=0, most=100))


def compile_triton(number, c, folder):
    f, arguments = c["function"], c["arguments"]
    signature = {n: "constexpr" for n in f.arg_names} | {a[0]: a[1] for a in arguments}
    source = triton.compiler.ASTSource(fn=f, signature=signature, constexprs={(f.arg_names.index(n),): v for n, v in c["constants"].items()},
                                       attrs={(f.arg_names.index(a[0]),): [["tt.divisibility", 16]] for a in arguments if a[1][0] == "*" or a[2] % 16 == 0})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=dict(c["options"], ptx_version=90))
    meta = compiled.metadata
    text = "\n".join(l for l in compiled.asm["ptx"].split("\t.section\t.debug")[0].splitlines() if not l.strip().startswith((".loc", ".file"))) + "\n"
    (folder / f"{number}.ptx").write_text(text)
    ptxas(text, str(number), folder)
    return dict(name=c["name"], group=c["group"], tensor=c["tensor"], ptx=f"{number}.ptx", kernel=meta.name, grid=list(c["grid"]),
                threads=32 * getattr(meta, "total_num_warps", meta.num_warps), shared=meta.shared, scratch=meta.global_scratch_size, profile_scratch=0,
                arguments=[argument(i, *a) for i, a in enumerate(arguments)])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    manifest = []
    for number, c in enumerate([*products(), *row_kernels(), *elementwise()]):
        try:
            manifest.append(compile_triton(number, c, folder))
        except Exception as e:
            sys.exit(f"{c['name']}: {type(e).__name__}: {e}")
    subprocess.run(["nvcc", "-ptx", "-arch=sm_90a", "-O3", "-o", folder / "cuda.ptx", HERE / "cuda.cu"], check=True)
    ptxas("", "cuda", folder)
    for name, group, kernel, arguments, ctas, threads in cuda_kernels():
        manifest.append(dict(name=name, group=group, tensor=False, ptx="cuda.ptx", kernel=kernel, grid=[ctas, 1, 1], threads=threads, shared=0, scratch=0,
                             profile_scratch=0, arguments=[argument(i, *a) for i, a in enumerate(arguments)]))
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=0))
    print(f"{len(manifest)} kernels of Triton {triton.__version__} and nvcc")


if __name__ == "__main__":
    main()
