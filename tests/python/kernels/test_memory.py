"""Memory: atomics, tensor descriptors made on the host and in the kernel, copies through scratch, cache hints."""

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import gen5
from gen5 import _library
from support import TYPES, close, equal, random, wide

N = 512


@triton.jit
def atomic(x, o, n, B: tl.constexpr, BINS: tl.constexpr, OP: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    at = o + i % BINS
    if OP == "add":
        tl.atomic_add(at, a, mask=i < n)
    elif OP == "max":
        tl.atomic_max(at, a, mask=i < n)
    elif OP == "min":
        tl.atomic_min(at, a, mask=i < n)
    elif OP == "and":
        tl.atomic_and(at, a, mask=i < n)
    elif OP == "or":
        tl.atomic_or(at, a, mask=i < n)
    elif OP == "xor":
        tl.atomic_xor(at, a, mask=i < n)


@pytest.mark.parametrize("op, kind", [("add", "int32"), ("add", "fp32"), ("add", "fp16"), ("add", "bf16"), ("add", "int64"), ("max", "int32"),
                                      ("max", "fp32"), ("min", "uint32"), ("min", "fp32"), ("and", "int32"), ("or", "int32"), ("xor", "uint32")])
def test_atomic(op, kind):
    x = random(N, kind)
    if kind in ("fp16", "bf16"):
        x = gen5.array(np.round(wide(x)), TYPES[kind])  # sums are exact
    o = gen5.zeros(16, x.dtype)
    if op == "and":
        o.fill_(-1)
    if op == "min":
        o.fill_(1000)
    start = o.numpy().copy()
    atomic[(4,)](x, o, N - 3, 128, 16, op)
    groups = [x.numpy()[: N - 3][k::16] for k in range(16)]
    ufunc = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[op]
    want = [ufunc.reduce(np.concatenate([[s], g]).astype(np.float64 if kind[0] in "fb" else x.dtype)) for s, g in zip(start, groups)]
    close(o, want, rtol=1e-5, atol=1e-5) if kind == "fp32" else equal(o, np.array(want).astype(x.dtype))


@triton.jit
def tickets(counter, order, lock, sum):
    """One program at a time adds, behind a lock."""
    tl.store(order + tl.program_id(0), tl.atomic_add(counter, 1))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(sum, tl.load(sum, volatile=True) + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_lock():
    counter, order, lock, sum = gen5.zeros(1, np.int32), gen5.empty(40, np.int32), gen5.zeros(1, np.int32), gen5.zeros(1, np.int32)
    tickets[(40,)](counter, order, lock, sum)
    assert sorted(order.numpy()) == list(range(40)) and sum.numpy()[0] == 780 and counter.numpy()[0] == 40


@triton.jit
def copy_tiles(source, target, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([m, n], source.load([m, n]))


@pytest.mark.parametrize("kind", ["fp16", "fp32", "int8", "bf16"])
def test_host_descriptor(kind):
    x, o = random((100, 160), kind), gen5.zeros((100, 160), TYPES[kind])
    source, target = (TensorDescriptor.from_tensor(a, [32, 32]) for a in (x, o))
    copy_tiles[(4, 5)](source, target, 32, 32)
    equal(o, x.numpy())


@triton.jit
def transpose_tiles(x, o, rows, columns, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    target = tl.make_tensor_descriptor(o, [columns, rows], [rows, 1], [N, M])
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([n, m], tl.trans(source.load([m, n])))


def test_device_descriptor():
    x, o = random((96, 64), "fp16"), gen5.zeros((64, 96), np.float16)
    transpose_tiles[(3, 2)](x, o, 96, 64, 32, 32)
    equal(o, x.numpy().T)


@triton.jit
def reduce_tiles(x, target, columns, M: tl.constexpr, N: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    target.atomic_add([0, 0], tl.load(x + m[:, None] * columns + tl.arange(0, N)[None, :]))


@pytest.mark.parametrize("kind", ["fp32", "int32"])
def test_descriptor_reduce(kind):
    x, o = random((128, 32), kind), gen5.zeros((32, 32), TYPES[kind])
    reduce_tiles[(4,)](x, TensorDescriptor.from_tensor(o, [32, 32]), 32, 32, 32)
    close(o, wide(x).reshape(4, 32, 32).sum(0), rtol=1e-5, atol=1e-5)


@triton.jit
def gather_rows(source, rows, o, M: tl.constexpr, N: tl.constexpr):
    r = tl.load(rows + tl.arange(0, M))
    tl.store(o + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], source.gather(r, 0))


def test_descriptor_gather(gen5_run):
    if gen5_run.machine != "b200":
        pytest.skip("gather4 is Blackwell's")
    x, rows = random((64, 64), "fp16"), random(32, "int32", low=0, high=64)
    o = gen5.empty((32, 64), np.float16)
    gather_rows[(1,)](TensorDescriptor.from_tensor(x, [1, 64]), rows, o, 32, 64)
    equal(o, x.numpy()[rows.numpy()])


@triton.jit
def hinted(x, o, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, cache_modifier=".cg") + tl.load(x + i, eviction_policy="evict_first")
    b = tl.load(x + i, eviction_policy="evict_last") + tl.load(x + i, volatile=True)
    tl.store(o + i, a + b, cache_modifier=".wt")


def test_cache_hints():
    x, o = random(N), gen5.empty(N)
    hinted[(4,)](x, o, 128)
    equal(o, 4 * x.numpy())


@triton.jit
def far(x, o, stride, B: tl.constexpr):
    i = tl.arange(0, B).to(tl.int64)
    tl.store(o + i, tl.load(x + i * stride))


def test_offsets_beyond_32_bits():
    x = gen5.zeros((3, 1 << 30), np.uint8)  # untouched pages cost nothing
    x[0, 0], x[1, 0], x[2, 0] = 1, 2, 3
    o = gen5.empty(2, np.uint8)
    far[(1,)](x.reshape(3 << 30)[1 << 30:], o, 1 << 30, 2)
    equal(o, [2, 3])


@triton.jit
def grouped(pointers, sizes, B: tl.constexpr):
    """Addresses from memory: each program has an array of its own."""
    p = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    n = tl.load(sizes + tl.program_id(0))
    i = tl.arange(0, B)
    tl.store(p + i, tl.load(p + i, mask=i < n) + 1, mask=i < n)


def test_addresses_from_memory():
    arrays = [random(n, seed=n) for n in (5, 64, 33)]
    before = [a.numpy().copy() for a in arrays]
    grouped[(3,)](gen5.array(np.array([a.data_ptr() for a in arrays], np.int64)), gen5.array(np.array([5, 64, 33], np.int32)), 64)
    for a, b in zip(arrays, before):
        equal(a, b + 1)


class HostTensor:
    """What Triton asks of a CPU tensor of torch, on numpy's memory."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def nbytes(self):
        return self.array.nbytes


def test_memory_of_the_host_is_lent():
    x = HostTensor(np.arange(N, dtype=np.float32))
    o = gen5.empty(N)
    for _ in range(2):
        hinted[(4,)](x, o, 128)
    equal(o, 4 * x.array)
    assert not _library.known(x.data_ptr())  # only for the launch
