"""CuTe DSL's benchmark captures a graph by a CUDA runtime that is linked in: gen5 sends those calls to tinygpu's driver."""

import pytest

testing = pytest.importorskip("cutlass.testing")


def test_capture_of_a_benchmark():
    runtime, driver = testing.cuda_runtime, testing.cuda_driver
    success = runtime.cudaError_t.cudaSuccess
    _, stream = driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    _, memory = driver.cuMemAlloc(4096)
    mode = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    assert runtime.cudaStreamBeginCapture(stream, mode) == (success,)
    assert driver.cuMemsetD32Async(memory, 7, 1024, stream)[0] == driver.CUresult.CUDA_SUCCESS
    error, graph = runtime.cudaStreamEndCapture(stream)
    assert error == success
    error, _, nodes = runtime.cudaGraphGetNodes(graph)
    assert (error, nodes) == (success, 1)
    error, ready = runtime.cudaGraphInstantiate(graph, 0)
    assert error == success
    assert runtime.cudaGraphLaunch(ready, stream) == (success,)
    assert runtime.cudaDeviceSynchronize() == (success,)
    word = bytearray(4)
    driver.cuMemcpyDtoH(word, int(memory) + 4 * 1023, 4)
    assert int.from_bytes(word, "little") == 7
    assert runtime.cudaGraphExecDestroy(ready) == (success,)
    assert runtime.cudaStreamEndCapture(stream)[0] != success, "nothing is captured"
