"""CuTe DSL through cute.jit: line numbers and exceptions, shared memory, and a matrix product with TMA and tcgen05.mma."""

import cutlass
import cutlass.cute as cute
import cutlass.utils.blackwell_helpers as sm100
import ml_dtypes
import numpy as np
import pytest
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.cute.nvgpu.common import OperandMajorMode
from cutlass.cute.runtime import make_ptr

import gen5

M, N, BK, TILER = 128, 64, 64, (128, 64, 64)


@cute.kernel
def gemm_kernel(mma: cute.TiledMma, tma_a: cute.CopyAtom, a: cute.Tensor, tma_b: cute.CopyAtom, b: cute.Tensor, c: cute.Tensor,
           a_layout: cute.ComposedLayout, b_layout: cute.ComposedLayout, KIND: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.memory.SmemAllocator()
    bars = smem.allocate_array(cutlass.Int64, 2)
    holder = smem.allocate_array(cutlass.Int32, 1)
    sa = smem.allocate_tensor(KIND, a_layout.outer, 128, a_layout.inner)
    sb = smem.allocate_tensor(KIND, b_layout.outer, 128, b_layout.inner)
    full, done = bars, bars + 1
    if warp == 0:
        cute.arch.alloc_tmem(64, holder)
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(full, 1)
            cute.arch.mbarrier_init(done, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, holder)
    thr = mma.get_slice(0)
    ga, gb = cute.local_tile(a, TILER, (0, None, None), proj=(1, None, 1)), cute.local_tile(b, TILER, (None, 0, None), proj=(None, 1, 1))
    gc = cute.local_tile(c, TILER, (0, 0, None), proj=(1, 1, None))
    ta, tb, tc = thr.partition_A(ga), thr.partition_B(gb), thr.partition_C(gc)
    fa, fb = mma.make_fragment_A(sa), mma.make_fragment_B(sb)
    acc = cute.make_tensor(tmem, mma.make_fragment_C(mma.partition_shape_C(TILER[:2])).layout)
    sa_tma, ga_tma = cpasync.tma_partition(tma_a, 0, cute.make_layout(1), cute.group_modes(sa, 0, 3), cute.group_modes(ta, 0, 3))
    sb_tma, gb_tma = cpasync.tma_partition(tma_b, 0, cute.make_layout(1), cute.group_modes(sb, 0, 3), cute.group_modes(tb, 0, 3))
    tiles = cute.size(ga, mode=[2])
    if warp == 0:
        for k in cutlass.range(tiles, unroll=1):
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, (M + N) * BK * 2)
            cute.copy(tma_a, ga_tma[None, k], sa_tma[None, 0], tma_bar_ptr=full)
            cute.copy(tma_b, gb_tma[None, k], sb_tma[None, 0], tma_bar_ptr=full)
            cute.arch.mbarrier_wait(full, k % 2)
            for block in cutlass.range_constexpr(cute.size(fa, mode=[2])):
                mma.set(tcgen05.Field.ACCUMULATE, k > 0 or block > 0)
                cute.gemm(mma, acc, fa[None, None, block, 0], fb[None, None, block, 0], acc)
            with cute.arch.elect_one():
                tcgen05.commit(done)
            cute.arch.mbarrier_wait(done, k % 2)
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
    tiled = tcgen05.make_tmem_copy(atom, acc[(None, None), 0, 0])
    mine = tiled.get_slice(thread)
    source, target = mine.partition_S(acc[(None, None), 0, 0]), mine.partition_D(tc[(None, None), 0, 0])
    registers = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled, source, registers)
    cute.autovec_copy(registers, target)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.relinquish_tmem_alloc_permit()
        cute.arch.dealloc_tmem(tmem, 64)


@cute.jit
def gemm(pa: cute.Pointer, pb: cute.Pointer, pc: cute.Pointer, K: cutlass.Constexpr):
    a = cute.make_tensor(pa, cute.make_layout((M, K), stride=(K, 1)))
    b = cute.make_tensor(pb, cute.make_layout((N, K), stride=(K, 1)))
    c = cute.make_tensor(pc, cute.make_layout((M, N), stride=(N, 1)))
    K_MAJOR = OperandMajorMode.K
    mma = sm100.make_trivial_tiled_mma(a.element_type, b.element_type, K_MAJOR, K_MAJOR, cutlass.Float32, tcgen05.CtaGroup.ONE, TILER[:2])
    a_layout, b_layout = sm100.make_smem_layout_a(mma, TILER, a.element_type, 1), sm100.make_smem_layout_b(mma, TILER, b.element_type, 1)
    op = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    tma_a, ta = cute.nvgpu.make_tiled_tma_atom_A(op, a, cute.select(a_layout, mode=[0, 1, 2]), TILER, mma)
    tma_b, tb = cute.nvgpu.make_tiled_tma_atom_B(op, b, cute.select(b_layout, mode=[0, 1, 2]), TILER, mma)
    gemm_kernel(mma, tma_a, ta, tma_b, tb, c, a_layout, b_layout, a.element_type).launch(grid=[1, 1, 1], block=[128, 1, 1])


def pointer(array, kind):
    return make_ptr(kind, array.data_ptr(), cute.AddressSpace.gmem, assumed_align=32)


@pytest.mark.parametrize("K", [64, 256])
@pytest.mark.parametrize("kind, dtype", [(cutlass.Float16, np.float16), (cutlass.BFloat16, ml_dtypes.bfloat16)], ids=["f16", "bf16"])
def test_gemm(kind, dtype, K):
    random = np.random.default_rng(1)
    a, b = (gen5.array(random.standard_normal(s).astype(np.float32).astype(dtype)) for s in ((M, K), (N, K)))
    c = gen5.empty((M, N))
    gemm(pointer(a, kind), pointer(b, kind), pointer(c, cutlass.Float32), K)
    np.testing.assert_allclose(c.numpy(), a.numpy().astype(np.float64) @ b.numpy().astype(np.float64).T, rtol=1e-3, atol=1e-3)


@cute.kernel
def reverse_kernel(x: cute.Tensor, out: cute.Tensor, WAIT: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    tile = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)
    tile[i] = x[i]
    if cutlass.const_expr(WAIT):
        cute.arch.sync_threads()
    out[i] = tile[127 - i]


@cute.jit
def reverse(x: cute.Pointer, out: cute.Pointer, n: cutlass.Constexpr, WAIT: cutlass.Constexpr):
    layout = cute.make_layout(n)
    reverse_kernel(cute.make_tensor(x, layout), cute.make_tensor(out, layout), WAIT).launch(grid=[1, 1, 1], block=[n, 1, 1])


def test_shared_memory():
    x, out = gen5.array(np.arange(128, dtype=np.float32)), gen5.empty(128)
    reverse(pointer(x, cutlass.Float32), pointer(out, cutlass.Float32), 128, True)
    np.testing.assert_array_equal(out.numpy(), x.numpy()[::-1])


@pytest.mark.gen5_orders("timed")
def test_missing_barrier():
    x, out = gen5.array(np.arange(128, dtype=np.float32)), gen5.empty(128)
    with pytest.raises(gen5.DiagnosisError, match="race") as raised:
        with gen5.gpu("b200", check="races"):
            reverse(pointer(x, cutlass.Float32), pointer(out, cutlass.Float32), 128, False)
    assert raised.value.file.endswith("test_cute.py") and raised.value.line


@pytest.mark.gen5_orders("timed")
def test_fault_names_the_line():
    x, out = gen5.array(np.arange(64, dtype=np.float32)), gen5.empty(128)
    with pytest.raises(gen5.DiagnosisError, match="illegal-address") as raised:
        reverse(pointer(x, cutlass.Float32), pointer(out, cutlass.Float32), 128, True)
    line = open(__file__).read().splitlines()[raised.value.line - 1]
    assert line.strip() == "tile[i] = x[i]"
    y = gen5.array(np.arange(128, dtype=np.float32))
    reverse(pointer(y, cutlass.Float32), pointer(out, cutlass.Float32), 128, True)  # the process goes on
    np.testing.assert_array_equal(out.numpy(), y.numpy()[::-1])


@cute.kernel
def map_kernel(tma: cute.CopyAtom, source: cute.Tensor, out: cute.Tensor):
    cpasync.copy_tensormap(tma, out.iterator)


@cute.jit
def map_of(source: cute.Pointer, out: cute.Pointer, BOX: cutlass.Constexpr, INTERNAL: cutlass.Constexpr):
    a = cute.make_tensor(source, cute.make_layout((128, 512), stride=(512, 1)))
    layout = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((128, BOX), stride=(BOX, 1)))
    op = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    tma, source_of_tma = cpasync.make_tiled_tma_atom(op, a, layout, (128, BOX), internal_type=INTERNAL)
    map_kernel(tma, source_of_tma, cute.make_tensor(out, cute.make_layout(16))).launch(grid=[1, 1, 1], block=[32, 1, 1])


# Kind, what shared memory holds, elements of a box's row, and the element type's code in a map as tinygpu's driver writes it.
MAPS = {"e4m3": (cutlass.Float8E4M3FN, None, 128, 0), "e2m1": (cutlass.Float4E2M1FN, None, 256, 11),
        "e2m1 in bytes": (cutlass.Float4E2M1FN, cutlass.Uint8, 128, 12), "e2m3": (cutlass.Float6E2M3FN, None, 128, 13)}


@pytest.mark.gen5_orders("timed")
@pytest.mark.parametrize("kind, internal, box, code", MAPS.values(), ids=MAPS)
def test_codes_of_tensor_maps(kind, internal, box, code):
    source, out = gen5.array(np.zeros(128 * 512, dtype=np.uint8)), gen5.array(np.zeros(32, dtype=np.uint32))
    map_of(make_ptr(kind, source.data_ptr(), cute.AddressSpace.gmem, assumed_align=128),
           make_ptr(cutlass.Int64, out.data_ptr(), cute.AddressSpace.gmem, assumed_align=128), box, internal)
    words = [int(w) for w in out.numpy()]
    assert words[0] | words[1] << 32 == source.data_ptr()
    assert words[2] >> 7 & 15 == code
