"""One tile of a matrix product in Gluon (Triton's lower level), computed by a CTA pair: tcgen05.mma.cta_group::2 with 128 and
with 64 rows of the accumulator in each CTA, A from shared and from Tensor Memory. Triton lays out what Tensor Memory holds."""

import sys

import numpy as np
import triton
from gpu import Gpu, Kernel, as_type, compare, from_bf16
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (TensorMemoryLayout, allocate_tensor_memory,
                                                                fence_async_shared, mbarrier, tcgen05_mma)
from triton.experimental.gluon.language.nvidia.hopper import cluster


@gluon.jit
def pair(a_ptr, b_ptr, c_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, A_IN_TMEM: gl.constexpr):
    by_rows: gl.constexpr = [[1, 0]]
    by_columns: gl.constexpr = [[0, 1]]
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=by_rows)
    columns: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=by_columns)
    m = gl.arange(0, M, gl.SliceLayout(1, rows))
    ka = gl.arange(0, K, gl.SliceLayout(0, rows))
    kb = gl.arange(0, K, gl.SliceLayout(1, columns))
    n = gl.arange(0, N, gl.SliceLayout(0, columns))
    a = gl.load(a_ptr + m[:, None] * K + ka[None, :])
    b = gl.load(b_ptr + kb[:, None] * N + n[None, :])
    element: gl.constexpr = a_ptr.dtype.element_ty
    b_shared = gl.allocate_shared_memory(element, [K, N], gl.NVMMASharedLayout.get_default_for([K, N], element, cga_layout=by_columns), b)
    sum_layout: gl.constexpr = TensorMemoryLayout([M // 2, N], col_stride=1, cga_layout=by_rows, two_ctas=True)
    sum = allocate_tensor_memory(gl.float32, [M, N], sum_layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    fence_async_shared(cluster=True)
    cluster.barrier()
    if A_IN_TMEM:
        a_layout: gl.constexpr = TensorMemoryLayout([M // 2, K], col_stride=1, cga_layout=by_rows, two_ctas=True)
        a_tmem = allocate_tensor_memory(element, [M, K], a_layout)
        a_tmem.store(gl.convert_layout(a, a_tmem.get_reg_layout()))
        cluster.barrier()  # the even CTA's MMA reads what both have stored
        tcgen05_mma(a_tmem, b_shared, sum, use_acc=False, mbarriers=[bar])
    else:
        a_shared = gl.allocate_shared_memory(element, [M, K], gl.NVMMASharedLayout.get_default_for([M, K], element, cga_layout=by_rows), a)
        fence_async_shared(cluster=True)
        cluster.barrier()
        tcgen05_mma(a_shared, b_shared, sum, use_acc=False, mbarriers=[bar])
    mbarrier.wait(bar, 0)
    out = gl.convert_layout(sum.load(sum.get_reg_layout()), rows)
    n_out = gl.arange(0, N, gl.SliceLayout(0, rows))
    gl.store(c_ptr + m[:, None] * N + n_out[None, :], out)


gpu = Gpu()
random = np.random.default_rng(11)
N, K = 128, 64
for kind in ("fp16", "bf16"):
    for M, in_tmem in ((256, False), (256, True), (128, False)):  # Gluon has no A in Tensor Memory with 64 rows
        (raw_a, a), (raw_b, b) = (as_type(random.standard_normal(s, np.float32), kind) for s in ((M, K), (K, N)))
        c = gpu.empty(4 * M * N)
        signature = {"a_ptr": "*" + kind, "b_ptr": "*" + kind, "c_ptr": "*fp32"}
        kernel = Kernel(pair, signature, {"M": M, "N": N, "K": K, "A_IN_TMEM": in_tmem}, num_warps=4, num_ctas=2)
        assert "tcgen05.mma.cta_group::2" in kernel.compiled.asm["ptx"]
        kernel((1,), gpu.upload(raw_a), gpu.upload(raw_b), c)
        compare(f"pair {kind} {M}x{N}x{K}, A in {'tensor' if in_tmem else 'shared'} memory",
                gpu.download(c, (M, N), np.float32), a @ b, 1e-3, 3e-3)
