"""Attention forward (online softmax): with pointers, with tensor descriptors, and warp-specialised."""

import sys

import numpy as np
import triton
import triton.language as tl
from gpu import Gpu, Kernel, compare


@triton.jit
def with_pointers(q_ptr, k_ptr, v_ptr, o_ptr, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
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
def with_descriptors(q_ptr, k_ptr, v_ptr, o_ptr, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                     WARP_SPECIALIZE: tl.constexpr):
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
    for n in tl.range(0, N, BN, warp_specialize=WARP_SPECIALIZE):
        s = tl.dot(q, kd.load([first + n, 0]).T) * scale
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.math.exp2(s - now[:, None])
        shrink = tl.math.exp2(most - now)
        total = total * shrink + tl.sum(p, 1)
        out = tl.dot(p.to(tl.float16), vd.load([first + n, 0]), out * shrink[:, None])
        most = now
    od.store([row, 0], out / total[:, None])


gpu = Gpu()
H, N, D = 2, 256, 64
random = np.random.default_rng(8)
q, k, v = (random.standard_normal((H, N, D), np.float32).astype(np.float16) for _ in range(3))
s = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / np.sqrt(D)
e = np.exp(s - s.max(axis=2, keepdims=True))
want = e / e.sum(axis=2, keepdims=True) @ v.astype(np.float64)
scale = float(np.log2(np.e) / np.sqrt(D))
types = {"q_ptr": "*fp16", "k_ptr": "*fp16", "v_ptr": "*fp16", "o_ptr": "*fp32", "scale": "fp32", "N": "i32"}
inputs = [gpu.upload(x) for x in (q, k, v)]
for name in sys.argv[1:] or ["pointers", "descriptors", "warp_specialized"]:
    out = gpu.empty(4 * H * N * D)
    block = {"D": D, "BM": 128, "BN": 64}
    if name == "pointers":
        kernel = Kernel(with_pointers, types, block, num_stages=2)
    else:
        kernel = Kernel(with_descriptors, types, {**block, "WARP_SPECIALIZE": name == "warp_specialized"}, num_stages=2)
    kernel((N // 128, H), *inputs, out, scale, N)
    compare(f"attention, {name}", gpu.download(out, (H, N, D), np.float32), want, 1e-2, 1e-2)
