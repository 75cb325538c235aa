"""One tile of a block-scaled product in Gluon: tcgen05_mma_scaled on e4m3, e5m2 and e2m1 with a power of two for every 32 of K.
Threads store the scales to Tensor Memory (tcgen05.st), where Gluon's layout says."""

import numpy as np
from gpu import Gpu, Kernel, compare
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (TensorMemoryLayout, TensorMemoryScalesLayout, allocate_tensor_memory,
                                                                fence_async_shared, mbarrier, tcgen05_mma_scaled)


@gluon.jit
def load(pointer, ROWS: gl.constexpr, COLUMNS: gl.constexpr, layout: gl.constexpr):
    row = gl.arange(0, ROWS, gl.SliceLayout(1, layout))
    column = gl.arange(0, COLUMNS, gl.SliceLayout(0, layout))
    return gl.load(pointer + row[:, None] * COLUMNS + column[None, :])


@gluon.jit
def to_shared(pointer, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 16], [8, 4], [4, 1], [1, 0])
    element: gl.constexpr = pointer.dtype.element_ty
    layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, COLUMNS], element)
    return gl.allocate_shared_memory(element, [ROWS, COLUMNS], layout, load(pointer, ROWS, COLUMNS, rows))


@gluon.jit
def scales(pointer, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    tmem = allocate_tensor_memory(gl.int8, [ROWS, COLUMNS], TensorMemoryScalesLayout())
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [32, 1], [4, 1], [1, 0])
    tmem.store(gl.convert_layout(load(pointer, ROWS, COLUMNS, rows), tmem.get_reg_layout()))
    return tmem


@gluon.jit
def product(a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, A: gl.constexpr, B: gl.constexpr,
            PACK: gl.constexpr):
    a = to_shared(a_ptr, M, K // PACK)
    b = to_shared(b_ptr, N, K // PACK)
    sum = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    a_scale = scales(a_scale_ptr, M, K // 32)
    b_scale = scales(b_scale_ptr, N, K // 32)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    fence_async_shared()
    tcgen05_mma_scaled(a, b.permute((1, 0)), sum, a_scale, b_scale, A, B, use_acc=False, mbarriers=[bar])
    mbarrier.wait(bar, 0)
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
    m = gl.arange(0, M, gl.SliceLayout(1, rows))
    n = gl.arange(0, N, gl.SliceLayout(0, rows))
    gl.store(c_ptr + m[:, None] * N + n[None, :], gl.convert_layout(sum.load(sum.get_reg_layout()), rows))


def values(bits, exponent_bits, fraction_bits):
    """Values of patterns, all of them finite."""
    bias = 2 ** (exponent_bits - 1) - 1
    field = (bits >> fraction_bits) & (2**exponent_bits - 1)
    fraction = (bits & (2**fraction_bits - 1)).astype(np.float64) / 2**fraction_bits
    magnitude = np.where(field == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (field.astype(np.float64) - bias))
    return np.where(bits >> (exponent_bits + fraction_bits) & 1, -magnitude, magnitude)


FORMATS = {"e4m3": (4, 3, "*fp8e4nv"), "e5m2": (5, 2, "*fp8e5"), "e2m1": (2, 1, "*u8")}
random = np.random.default_rng(11)
gpu = Gpu()


def operand(name, rows, k):
    """As stored, with its scales, and what it is worth."""
    e, f, _ = FORMATS[name]
    if name == "e2m1":
        bits = random.integers(0, 16, (rows, k)).astype(np.uint8)
        stored = bits[:, ::2] | bits[:, 1::2] << 4
    else:
        middle = 2 ** (e - 1)
        bits = (random.integers((middle - 4) << f, (middle + 1) << f, (rows, k)) | random.integers(0, 2, (rows, k)) << 7).astype(np.uint8)
        stored = bits
    scale = random.integers(122, 133, (rows, k // 32)).astype(np.uint8)
    return stored, scale, values(bits, e, f) * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=1)


M, N, K = 128, 64, 256
for a_format, b_format in (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1")):
    a, a_scale, a_value = operand(a_format, M, K)
    b, b_scale, b_value = operand(b_format, N, K)
    c = gpu.empty(4 * M * N)
    signature = {"a_ptr": FORMATS[a_format][2], "b_ptr": FORMATS[b_format][2], "a_scale_ptr": "*i8", "b_scale_ptr": "*i8", "c_ptr": "*fp32"}
    constants = {"M": M, "N": N, "K": K, "A": a_format, "B": b_format, "PACK": 2 if a_format == "e2m1" else 1}
    kernel = Kernel(product, signature, constants, num_warps=4)
    assert "block_scale" in kernel.compiled.asm["ptx"]
    kernel((1,), gpu.upload(a), gpu.upload(b), gpu.upload(a_scale), gpu.upload(b_scale), c)
    compare(f"scaled {a_format} * {b_format} {M}x{N}x{K}", gpu.download(c, (M, N), np.float32), a_value @ b_value.T, 1e-3, 1e-2)
