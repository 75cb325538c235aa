"""Gluon, where the programmer places every barrier: TMA fills a ring of two stages, tcgen05.mma reads them and accumulates in
Tensor Memory. Delete one of the waits, and pytest --gen5 b200 says so: of the first
which rule is broken where, of the second too with --gen5-check races."""

import numpy as np
import pytest
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (TensorMemoryLayout, allocate_tensor_memory, tcgen05_commit,
                                                                 tcgen05_mma)
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

import gen5


@gluon.jit
def ring(a, b, out, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    a_ring = gl.allocate_shared_memory(a.dtype, [2, BM, BK], a.layout)
    b_ring = gl.allocate_shared_memory(b.dtype, [2, BK, BN], b.layout)
    full = mbarrier.allocate_mbarrier(batch=2)  # the stage's tiles are there
    done = mbarrier.allocate_mbarrier()  # its product is in the accumulator, and the stage free
    for i in gl.static_range(2):
        mbarrier.init(full.index(i), count=1)
    mbarrier.init(done, count=1)
    sum = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    for k in range(0, K // BK):
        stage = k % 2
        mbarrier.expect(full.index(stage), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [0, k * BK], full.index(stage), a_ring.index(stage))
        tma.async_load(b, [k * BK, 0], full.index(stage), b_ring.index(stage))
        mbarrier.wait(full.index(stage), k // 2 & 1)
        tcgen05_mma(a_ring.index(stage), b_ring.index(stage), sum, use_acc=k > 0)
        tcgen05_commit(done)
        mbarrier.wait(done, k & 1)
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    m, n = gl.arange(0, BM, gl.SliceLayout(1, rows)), gl.arange(0, BN, gl.SliceLayout(0, rows))
    gl.store(out + m[:, None] * BN + n[None, :], gl.convert_layout(sum.load(sum.get_reg_layout()), rows))


def test_ring(gen5_run):
    if gen5_run.machine != "b200":
        pytest.skip("tcgen05 is Blackwell's")
    M, N, K, BK = 128, 64, 256, 64
    random = np.random.default_rng(1)
    a, b = (gen5.array(random.standard_normal(s).astype(np.float16)) for s in ((M, K), (K, N)))
    out = gen5.empty((M, N))
    a_tile, b_tile = (TensorDescriptor(x, list(x.shape), list(x.stride()), s, gl.NVMMASharedLayout.get_default_for(s, gl.float16))
                      for x, s in ((a, [M, BK]), (b, [BK, N])))
    ring[(1,)](a_tile, b_tile, out, K, M, N, BK)
    np.testing.assert_allclose(out.numpy(), a.numpy().astype(np.float64) @ b.numpy().astype(np.float64), rtol=1e-3, atol=2e-3)
