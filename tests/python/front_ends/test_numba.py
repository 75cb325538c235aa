"""numba-cuda: jit, shared memory, atomics, arrays of gen5 and numpy."""

import warnings

import numpy as np
from numba import cuda, float32

import gen5

warnings.simplefilter("ignore")


@cuda.jit
def block_sum(x, out):
    shared = cuda.shared.array(128, float32)
    i = cuda.threadIdx.x
    shared[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step:
        if i < step:
            shared[i] += shared[i + step]
        cuda.syncthreads()
        step //= 2
    if i == 0:
        cuda.atomic.add(out, 0, shared[0])


def test_block_sum():
    x, out = gen5.array(np.arange(512, dtype=np.float32)), gen5.zeros(1)
    block_sum[4, 128](cuda.as_cuda_array(x), cuda.as_cuda_array(out))
    assert out.numpy()[0] == 512 * 511 / 2


@cuda.jit
def product(a, b, c):
    """16 x 16 tiles in shared memory, a block each."""
    left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(0, a.shape[1], 16):
        left[j, i] = a[y, k + i]
        right[j, i] = b[k + j, x]
        cuda.syncthreads()
        for n in range(16):
            total += left[j, n] * right[n, i]
        cuda.syncthreads()
    c[y, x] = total


def test_product():
    random = np.random.default_rng(1)
    a, b = (random.integers(-8, 8, size).astype(np.float32) for size in ((32, 48), (48, 64)))
    c = gen5.zeros((32, 64))
    product[(4, 2), (16, 16)](cuda.as_cuda_array(gen5.array(a)), cuda.as_cuda_array(gen5.array(b)), cuda.as_cuda_array(c))
    assert (c.numpy() == a @ b).all()


def test_numpy_arrays():
    @cuda.jit
    def increment(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1
    a = np.zeros(100)
    increment[4, 32](a)
    assert (a == 1).all()
