"""cuda-python: NVRTC to PTX, launch on a stream, a graph by capture."""

import numpy as np
import pytest
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

import gen5

SOURCE = """
template <class T> __global__ void saxpy(T a, const T* x, T* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


@pytest.fixture
def saxpy(gen5_run):
    device = Device()
    device.set_current()
    arch = "compute_{}{}a".format(*device.compute_capability)
    program = Program(SOURCE, code_type="c++", options=ProgramOptions(arch=arch, std="c++17", lineinfo=True))
    return device.create_stream(), program.compile("ptx", name_expressions=("saxpy<float>",)).get_kernel("saxpy<float>")


def test_launch(saxpy):
    stream, kernel = saxpy
    x, y = gen5.array(np.arange(1000, dtype=np.float32)), gen5.full(1000, 1.0)
    launch(stream, LaunchConfig(grid=4, block=256), kernel, np.float32(2), x.data_ptr(), y.data_ptr(), np.uint32(1000))
    stream.sync()
    np.testing.assert_array_equal(y.numpy(), 2 * x.numpy() + 1)


def test_graph(saxpy):
    stream, kernel = saxpy
    x, y = gen5.full(256, 1.0), gen5.zeros(256)

    def check(result):
        assert result[0] == driver.CUresult.CUDA_SUCCESS, result[0]
        return result[1] if len(result) == 2 else None

    check(driver.cuStreamBeginCapture(stream.handle, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    for a in (1, 2, 4):
        launch(stream, LaunchConfig(grid=1, block=256), kernel, np.float32(a), x.data_ptr(), y.data_ptr(), np.uint32(256))
    graph = check(driver.cuStreamEndCapture(stream.handle))
    assert not y.numpy().any()
    executable = check(driver.cuGraphInstantiate(graph, 0))
    for _ in range(2):
        check(driver.cuGraphLaunch(executable, stream.handle))
    stream.sync()
    np.testing.assert_array_equal(y.numpy(), np.full(256, 14))


def test_fault(saxpy):
    stream, kernel = saxpy
    with pytest.raises(gen5.DiagnosisError, match="illegal-address"):
        with gen5.gpu(gen5._session.current().machine):
            x, y = gen5.full(8, 1.0), gen5.zeros(256)
            launch(stream, LaunchConfig(grid=1, block=256), kernel, np.float32(1), x.data_ptr(), y.data_ptr(), np.uint32(256))
