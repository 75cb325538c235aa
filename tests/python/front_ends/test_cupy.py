"""CuPy: raw kernels and modules, its own kernels, its memory; its wheels have NVIDIA's CUDA runtime in them."""

import cupy
import numpy as np
import pytest

import gen5

SOURCE = 'extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }'


def test_raw_kernel():
    x, y = cupy.asarray(np.arange(1000, dtype=np.float32)), cupy.asarray(np.ones(1000, np.float32))
    cupy.RawKernel(SOURCE, "saxpy")((4,), (256,), (np.float32(2), x, y, np.int32(1000)))
    np.testing.assert_array_equal(cupy.asnumpy(y), 2 * np.arange(1000) + 1)


def test_raw_module():
    saxpy = cupy.RawModule(code=SOURCE).get_function("saxpy")
    x, y = cupy.asarray(np.arange(100, dtype=np.float32)), cupy.asarray(np.zeros(100, np.float32))
    saxpy((1,), (128,), (np.float32(3), x, y, np.int32(100)))
    np.testing.assert_array_equal(cupy.asnumpy(y), 3 * np.arange(100))


def test_arrays_of_gen5():
    x, y = gen5.full(64, 2.0), gen5.zeros(64)
    cupy.RawKernel(SOURCE, "saxpy")((1,), (64,), (np.float32(2), cupy.asarray(x), cupy.asarray(y), np.int32(64)))
    cupy.cuda.Device().synchronize()
    assert (y.numpy() == 4).all()


@pytest.mark.gen5_orders("timed")
def test_fault():
    with pytest.raises(gen5.DiagnosisError, match="illegal-address"):
        with gen5.gpu(gen5._session.current().machine):
            x = gen5.zeros(8)
            cupy.RawKernel(SOURCE, "saxpy")((1,), (64,), (np.float32(2), cupy.asarray(x), cupy.asarray(x), np.int32(64)))
            cupy.cuda.Device().synchronize()
