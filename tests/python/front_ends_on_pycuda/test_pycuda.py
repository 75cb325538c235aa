"""PyCUDA: SourceModule, arrays, constant memory, and what a broken kernel says."""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import pytest
from pycuda.compiler import SourceModule

import gen5

SOURCE = """
__constant__ float factor[2];
__global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * factor[0] + factor[1];
}
__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  out[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void histogram(const int* in, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i] & 7], 1);
}
__global__ void outside(int* p) { p[1 << 24] = 1; }
"""


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE)


def test_scale(module):
    address, size = module.get_global("factor")
    assert size == 8
    cuda.memcpy_htod(address, np.array([3, 0.5], np.float32))
    x = np.arange(1000, dtype=np.float32)
    was = x.copy()
    module.get_function("scale")(cuda.InOut(x), np.int32(1000), block=(256, 1, 1), grid=(4, 1))
    assert (x == was * np.float32(3) + np.float32(0.5)).all()


def test_transpose(module):
    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    out = np.zeros_like(a)
    module.get_function("transpose")(cuda.In(a), cuda.Out(out), np.int32(64), block=(16, 16, 1), grid=(4, 4))
    assert (out == a.T).all()


def test_histogram(module):
    values = np.random.default_rng(1).integers(0, 8, 5000).astype(np.int32)
    bins = np.zeros(8, np.int32)
    module.get_function("histogram")(cuda.In(values), cuda.InOut(bins), np.int32(5000), block=(128, 1, 1), grid=(40, 1))
    assert (bins == np.bincount(values, minlength=8)).all()


def test_fault(module):
    with pytest.raises(gen5.DiagnosisError, match="illegal-address"):
        with gen5.gpu(gen5._session.current().machine):
            module.get_function("outside")(cuda.mem_alloc(64), block=(1, 1, 1))
