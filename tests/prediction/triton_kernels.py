#!/usr/bin/env python3
"""triton_kernels.py FOLDER: compiles the held-out Triton kernels for sm_90a, without a GPU, into FOLDER: their PTX, and
manifest.json with what a launch needs. Run it with the Python of tests/foreign/fetch.py, which pins Triton's version."""

import json
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * K + k[None, :]
    b = b_ptr + columns[None, :] * K + k[:, None]
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        sum = tl.dot(tl.load(a), tl.load(b), sum)
        a += BK
        b += BK
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sum)


@triton.jit
def matmul_descriptor(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        sum = tl.dot(a.load([m, k]), b.load([n, k]).T, sum)
    c.store([m, n], sum)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1).to(tl.int64) * N * D
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head + rows[:, None] * D + d[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    for n in range(0, N, BN):
        columns = n + tl.arange(0, BN)
        k = tl.load(k_ptr + head + columns[:, None] * D + d[None, :])
        s = tl.dot(q, k.T) * scale
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.math.exp2(s - now[:, None])
        shrink = tl.math.exp2(most - now)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + head + columns[:, None] * D + d[None, :])
        out = tl.dot(p.to(tl.float16), v, out * shrink[:, None])
        most = now
    tl.store(o_ptr + head + rows[:, None] * D + d[None, :], out / total[:, None])


@triton.jit
def attention_descriptor(q_ptr, k_ptr, v_ptr, o_ptr, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    heads = tl.num_programs(1)
    qd = tl.make_tensor_descriptor(q_ptr, [heads * N, D], [D, 1], [BM, D])
    kd = tl.make_tensor_descriptor(k_ptr, [heads * N, D], [D, 1], [BN, D])
    vd = tl.make_tensor_descriptor(v_ptr, [heads * N, D], [D, 1], [BN, D])
    od = tl.make_tensor_descriptor(o_ptr, [heads * N, D], [D, 1], [BM, D])
    first = tl.program_id(1) * N
    row = first + tl.program_id(0) * BM
    q = qd.load([row, 0])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    for n in range(0, N, BN):
        s = tl.dot(q, kd.load([first + n, 0]).T) * scale
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.math.exp2(s - now[:, None])
        shrink = tl.math.exp2(most - now)
        total = total * shrink + tl.sum(p, 1)
        out = tl.dot(p.to(tl.float16), vd.load([first + n, 0]), out * shrink[:, None])
        most = now
    od.store([row, 0], out / total[:, None])


@triton.jit
def softmax(in_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * columns + at, mask=at < columns, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + at, x / tl.sum(x, axis=0), mask=at < columns)


@triton.jit
def layer_norm(in_ptr, weight_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * columns + at, mask=at < columns, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(at < columns, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    w = tl.load(weight_ptr + at, mask=at < columns)
    tl.store(out_ptr + row * columns + at, centred * scale * w, mask=at < columns)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)


def cases():
    """name, kernel, arguments [(name, type, value)] (pointers: number of elements), constants, options, grid, what it is"""
    tiles = [(64, 64, 32, 4), (128, 64, 64, 4), (128, 128, 64, 8), (128, 256, 64, 8)]
    sizes = [(1024, 1024, 1024), (2048, 2048, 512)]
    for bm, bn, bk, warps in tiles:
        for stages in (2, 3, 4):
            for m, n, k in sizes:
                if stages == 3 or (m, n, k) == sizes[0]:
                    yield gemm(matmul, bm, bn, bk, warps, stages, m, n, k)
    for bm, bn, bk, warps in tiles[2:]:
        for stages in (3, 4):
            for m, n, k in ((1024, 1024, 1024), (2048, 2048, 1024)):
                if (bn, stages) != (256, 4):  # more shared memory than there is
                    yield gemm(matmul_descriptor, bm, bn, bk, warps, stages, m, n, k)
    for kernel in (attention, attention_descriptor):
        for n in (1024, 2048):
            for d in (64, 128):
                heads = 8
                size = heads * n * d
                yield (f"triton_{kernel.__name__}/n:{n}/d:{d}", kernel,
                       [("q_ptr", "*fp16", size), ("k_ptr", "*fp16", size), ("v_ptr", "*fp16", size), ("o_ptr", "*fp32", size),
                        ("scale", "fp32", 1.4426950408889634 / d ** 0.5), ("N", "i32", n)],
                       dict(D=d, BM=128, BN=64), dict(num_warps=8 if d == 128 else 4, num_stages=2), (n // 128, heads),
                       dict(check="attention", group="attention", tensor=True, heads=heads, n=n, d=d))
    for rows, columns in ((8192, 1024), (1024, 8000)):
        size, block = rows * columns, triton.next_power_of_2(columns)
        options = dict(num_warps=4 if columns < 2048 else 8)
        shape = dict(tensor=False, rows=rows, columns=columns)
        yield (f"triton_softmax/rows:{rows}/columns:{columns}", softmax,
               [("in_ptr", "*fp32", size), ("out_ptr", "*fp32", size), ("columns", "i32", columns)],
               dict(BLOCK=block), options, (rows,), dict(check="softmax", group="softmax", **shape))
        yield (f"triton_layer_norm/rows:{rows}/columns:{columns}", layer_norm,
               [("in_ptr", "*fp32", size), ("weight_ptr", "*fp32", columns), ("out_ptr", "*fp32", size), ("columns", "i32", columns)],
               dict(BLOCK=block), options, (rows,), dict(check="layer_norm", group="norm", **shape))
    for n in (98432, 8388608):
        yield (f"triton_add/n:{n}", add, [("x_ptr", "*fp32", n), ("y_ptr", "*fp32", n), ("out_ptr", "*fp32", n), ("n", "i32", n)],
               dict(BLOCK=1024), dict(num_warps=4), (triton.cdiv(n, 1024),), dict(check="add", group="copy", tensor=False, n=n))


def gemm(kernel, bm, bn, bk, warps, stages, m, n, k):
    return (f"triton_{kernel.__name__}/tile:{bm}x{bn}x{bk}/stages:{stages}/m:{m}/n:{n}/k:{k}", kernel,
            [("a_ptr", "*fp16", m * k), ("b_ptr", "*fp16", n * k), ("c_ptr", "*fp32", m * n), ("M", "i32", m), ("N", "i32", n), ("K", "i32", k)],
            dict(BM=bm, BN=bn, BK=bk), dict(num_warps=warps, num_stages=stages), (m // bm, n // bn),
            dict(check="product", group="GEMM, Triton", tensor=True, m=m, n=n, k=k))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    manifest = []
    for number, (name, function, arguments, constants, options, grid, what) in enumerate(cases()):
        signature = {n: "constexpr" for n in function.arg_names} | {n: t for n, t, _ in arguments}
        source = triton.compiler.ASTSource(
            fn=function, signature=signature,
            constexprs={(function.arg_names.index(n),): v for n, v in constants.items()},
            # What Triton's launcher specialises on: pointers and sizes that are multiples of 16.
            attrs={(function.arg_names.index(n),): [["tt.divisibility", 16]] for n, t, v in arguments
                   if t.startswith("*") or t == "i32" and v % 16 == 0})
        # The newest PTX that drivers of CUDA 13.0 read.
        compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=dict(options, ptx_version=90))
        meta = compiled.metadata
        (folder / f"{number}.ptx").write_text(compiled.asm["ptx"])
        manifest.append(dict(name=name, ptx=f"{number}.ptx", kernel=meta.name, arguments=arguments, grid=grid,
                             threads=32 * getattr(meta, "total_num_warps", meta.num_warps), shared=meta.shared,
                             scratch=meta.global_scratch_size, **what))
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
    print(f"{len(manifest)} kernels of Triton {triton.__version__}")


if __name__ == "__main__":
    main()
