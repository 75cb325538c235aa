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


def test_numpy_arrays():
    @cuda.jit
    def increment(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1
    a = np.zeros(100)
    increment[4, 32](a)
    assert (a == 1).all()
