"""Gluon: layouts, shared memory, mbarriers, TMA, both generations' matrix instructions, Tensor Memory."""

import numpy as np
import pytest
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.blackwell import (TensorMemoryLayout, allocate_tensor_memory, tcgen05_commit, tcgen05_mma)
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

import gen5
from support import close, equal, random, wide


def blackwell(run):
    if run.machine != "b200":
        pytest.skip("tcgen05 is Blackwell's")


@gluon.jit
def layouts(x, o, M: gl.constexpr, N: gl.constexpr):
    by_rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    by_columns: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    m, n = gl.arange(0, M, gl.SliceLayout(1, by_rows)), gl.arange(0, N, gl.SliceLayout(0, by_rows))
    a = gl.convert_layout(gl.load(x + m[:, None] * N + n[None, :]), by_columns)
    m, n = gl.arange(0, M, gl.SliceLayout(1, by_columns)), gl.arange(0, N, gl.SliceLayout(0, by_columns))
    gl.store(o + n[None, :] * M + m[:, None], a)


def test_convert_layout():
    x, o = random((64, 32)), gen5.empty((32, 64))
    layouts[(1,)](x, o, 64, 32)
    equal(o, x.numpy().T)


@gluon.jit
def asynchronous(x, o, n, B: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    i = gl.program_id(0) * B + gl.arange(0, B, layout)
    shared: gl.constexpr = gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[0])
    smem = gl.allocate_shared_memory(gl.float32, [B], shared)
    async_copy.async_load(smem, x + i, mask=i < n)
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(o + i, smem.load(layout), mask=i < n)


def test_cp_async():
    x, o = random(1000), gen5.empty(1000)
    asynchronous[(2,)](x, o, 1000, 512)
    equal(o, x.numpy())


@gluon.jit
def through_tma(source, target, BM: gl.constexpr, BN: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    smem = gl.allocate_shared_memory(source.dtype, [BM, BN], source.layout)
    m, n = gl.program_id(0) * BM, gl.program_id(1) * BN
    mbarrier.expect(bar, source.nbytes_per_cta)
    tma.async_load(source, [m, n], bar, smem)
    mbarrier.wait(bar, 0)
    a = smem.load(layout)
    smem.store(a + a)
    fence_async_shared()
    tma.async_store(target, [m, n], smem)
    tma.store_wait(0)
    mbarrier.invalidate(bar)


@pytest.mark.parametrize("kind, gluon_kind", [("fp32", gl.float32), ("fp16", gl.float16)])
def test_tma(kind, gluon_kind):
    x = random((96, 128), kind)
    o = gen5.zeros((96, 128), x.dtype)
    layout = gl.NVMMASharedLayout.get_default_for([32, 64], gluon_kind)
    source, target = (TensorDescriptor(a, list(a.shape), list(a.stride()), [32, 64], layout) for a in (x, o))
    through_tma[(3, 2)](source, target, 32, 64)
    equal(o, 2 * x.numpy())


@gluon.jit
def wgmma(a, b, o, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    sum_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    m, k = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, K, gl.SliceLayout(0, layout))
    x = gl.load(a + m[:, None] * K + k[None, :])
    k, n = gl.arange(0, K, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
    y = gl.load(b + k[:, None] * N + n[None, :])
    kind: gl.constexpr = a.dtype.element_ty
    left = gl.allocate_shared_memory(kind, [M, K], gl.NVMMASharedLayout.get_default_for([M, K], kind), x)
    right = gl.allocate_shared_memory(kind, [K, N], gl.NVMMASharedLayout.get_default_for([K, N], kind), y)
    fence_async_shared()
    r = warpgroup_mma(left, right, gl.zeros((M, N), gl.float32, sum_layout), is_async=True)
    r = warpgroup_mma_wait(0, deps=[r])
    m, n = gl.arange(0, M, gl.SliceLayout(1, sum_layout)), gl.arange(0, N, gl.SliceLayout(0, sum_layout))
    gl.store(o + m[:, None] * N + n[None, :], r)


@pytest.mark.parametrize("kind", ["fp16", "bf16"])
def test_wgmma(kind, gen5_run):
    if gen5_run.machine != "h200":
        pytest.skip("wgmma is Hopper's")
    a, b, o = random((64, 64), kind, 1), random((64, 32), kind, 2), gen5.empty((64, 32))
    wgmma[(1,)](a, b, o, 64, 32, 64)
    close(o, wide(a) @ wide(b), rtol=1e-3, atol=1e-3)


@gluon.jit
def tensor_memory(x, o, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    m, n = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
    tmem = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    reg: gl.constexpr = tmem.get_reg_layout()
    tmem.store(gl.convert_layout(gl.load(x + m[:, None] * N + n[None, :]), reg))
    gl.store(o + m[:, None] * N + n[None, :], gl.convert_layout(tmem.load(reg), layout) + 1)


def test_tensor_memory(gen5_run):
    blackwell(gen5_run)
    x, o = random((128, 64)), gen5.empty((128, 64))
    tensor_memory[(1,)](x, o, 128, 64)
    equal(o, x.numpy() + 1)


@gluon.jit
def matmul(a_desc, b_desc, o, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    """TMA feeds a ring of two stages, tcgen05.mma accumulates in Tensor Memory."""
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [2, BM, BK], a_desc.layout)
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [2, BK, BN], b_desc.layout)
    full = mbarrier.allocate_mbarrier(batch=2)
    done = mbarrier.allocate_mbarrier()
    for i in gl.static_range(2):
        mbarrier.init(full.index(i), count=1)
    mbarrier.init(done, count=1)
    tmem = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    phase = 0
    for k in range(0, K // BK):
        stage = k % 2
        bar = full.index(stage)
        mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, k * BK], bar, a_ring.index(stage))
        tma.async_load(b_desc, [k * BK, 0], bar, b_ring.index(stage))
        mbarrier.wait(bar, k // 2 & 1)
        tcgen05_mma(a_ring.index(stage), b_ring.index(stage), tmem, use_acc=k > 0)
        tcgen05_commit(done)
        mbarrier.wait(done, phase)
        phase ^= 1
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    m, n = gl.arange(0, BM, gl.SliceLayout(1, layout)), gl.arange(0, BN, gl.SliceLayout(0, layout))
    gl.store(o + m[:, None] * BN + n[None, :], gl.convert_layout(tmem.load(tmem.get_reg_layout()), layout))


@pytest.mark.parametrize("kind, gluon_kind", [("fp16", gl.float16), ("bf16", gl.bfloat16)])
def test_tcgen05(kind, gluon_kind, gen5_run):
    blackwell(gen5_run)
    a, b, o = random((128, 256), kind, 1), random((256, 64), kind, 2), gen5.empty((128, 64))
    shapes = ([128, 64], [64, 64])
    descriptors = [TensorDescriptor(x, list(x.shape), list(x.stride()), s, gl.NVMMASharedLayout.get_default_for(s, gluon_kind))
                   for x, s in zip((a, b), shapes)]
    matmul[(1,)](*descriptors, o, 256, 128, 64, 64)
    close(o, wide(a) @ wide(b), rtol=1e-3, atol=2e-3)


@gluon.jit
def produce(a_desc, ring, full, empty, tiles, B: gl.constexpr):
    for i in range(tiles):
        stage = i % 2
        mbarrier.wait(empty.index(stage), (i // 2 & 1) ^ 1)
        mbarrier.expect(full.index(stage), a_desc.nbytes_per_cta)
        tma.async_load(a_desc, [i * B, 0], full.index(stage), ring.index(stage))


@gluon.jit
def consume(ring, full, empty, o, tiles, B: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    n = gl.arange(0, N, gl.SliceLayout(0, layout))
    sum = gl.zeros((N,), gl.float32, gl.SliceLayout(0, layout))
    for i in range(tiles):
        stage = i % 2
        mbarrier.wait(full.index(stage), i // 2 & 1)
        sum += gl.sum(ring.index(stage).load(layout), 0)
        mbarrier.arrive(empty.index(stage), count=1)
    gl.store(o + n, sum)


@gluon.jit
def specialised(a_desc, o, tiles, B: gl.constexpr, N: gl.constexpr):
    ring = gl.allocate_shared_memory(a_desc.dtype, [2, B, N], a_desc.layout)
    full, empty = mbarrier.allocate_mbarrier(batch=2), mbarrier.allocate_mbarrier(batch=2)
    for stage in gl.static_range(2):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    gl.warp_specialize([(consume, (ring, full, empty, o, tiles, B, N)), (produce, (a_desc, ring, full, empty, tiles, B))], [1], [24])


def test_warp_specialize():
    x, o = random((160, 32)), gen5.empty(32)
    layout = gl.NVMMASharedLayout.get_default_for([32, 32], gl.float32)
    specialised[(1,)](TensorDescriptor(x, [160, 32], [32, 1], [32, 32], layout), o, 5, 32, 32)
    close(o, wide(x).sum(0), rtol=1e-5, atol=1e-5)
