// CUDA graphs: capture, explicit nodes, update, and what the CUDA programming guide says of each wrong use.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda/runtime_kernels.h"

namespace {

using ::testing::Each;
using ::testing::ElementsAre;

#define OK(call) ASSERT_EQ(call, cudaSuccess)

/// y = 2 x + y for 64 elements, on a stream that may capture.
class Graph : public ::testing::Test {
 protected:
  static constexpr int kN = 64;
  void SetUp() override {
    OK(cudaMalloc(reinterpret_cast<void**>(&x_), sizeof(float) * kN));
    OK(cudaMalloc(reinterpret_cast<void**>(&y_), sizeof(float) * kN));
    const std::vector<float> ones(kN, 1);
    OK(cudaMemcpy(x_, ones.data(), sizeof(float) * kN, cudaMemcpyDefault));
    OK(cudaMemset(y_, 0, sizeof(float) * kN));
    OK(cudaStreamCreate(&stream_));
  }
  void TearDown() override {
    cudaStreamDestroy(stream_);
    cudaFree(x_);
    cudaFree(y_);
    cudaGetLastError();
  }
  std::vector<float> y() {
    std::vector<float> out(kN);
    EXPECT_EQ(cudaMemcpy(out.data(), y_, sizeof(float) * kN, cudaMemcpyDefault), cudaSuccess);
    return out;
  }
  cudaGraphExec_t captured(float a) {
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    launch_saxpy(kN, a, x_, y_, stream_);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return exec;
  }
  float *x_ = nullptr, *y_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(Graph, NothingRunsUntilItIsLaunched) {
  cudaStreamCaptureStatus status;
  OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  OK(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  OK(cudaMemsetAsync(y_, 0, sizeof(float) * kN, stream_));
  for (int i = 0; i < 3; ++i) launch_saxpy(kN, 2, x_, y_, stream_);
  OK(cudaGetLastError());
  OK(cudaMemcpyAsync(x_, y_, sizeof(float) * kN, cudaMemcpyDeviceToDevice, stream_));
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(stream_, &graph));
  OK(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_THAT(y(), Each(0));
  size_t count = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &count));
  ASSERT_EQ(count, 5u);
  std::vector<cudaGraphNode_t> nodes(count);
  OK(cudaGraphGetNodes(graph, nodes.data(), &count));
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemset);
  OK(cudaGraphNodeGetType(nodes[1], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphUpload(exec, stream_));
  OK(cudaGraphLaunch(exec, stream_));
  EXPECT_THAT(y(), Each(6));
  OK(cudaGraphLaunch(exec, stream_));  // x is 6 now
  EXPECT_THAT(y(), Each(36));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaErrorInvalidValue);
}

TEST_F(Graph, ParametersAreThoseOfTheCapture) {
  const cudaGraphExec_t exec = captured(5);
  OK(cudaGraphLaunch(exec, stream_));
  EXPECT_THAT(y(), Each(5));
}

/// A second stream, which forks from the first one's capture.
class ForkedGraph : public Graph {
 protected:
  void SetUp() override {
    Graph::SetUp();
    OK(cudaEventCreate(&event_));
    OK(cudaStreamCreate(&other_));
    OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
  }
  void TearDown() override {
    if (other_) cudaStreamDestroy(other_);
    cudaEventDestroy(event_);
    Graph::TearDown();
  }
  void fork() {
    OK(cudaEventRecord(event_, stream_));
    OK(cudaStreamWaitEvent(other_, event_, 0));
  }
  void join() {
    OK(cudaEventRecord(event_, other_));
    OK(cudaStreamWaitEvent(stream_, event_, 0));
  }
  void end_other() {
    OK(cudaStreamDestroy(other_));
    other_ = nullptr;
  }
  cudaStreamCaptureStatus status_of_other() {
    cudaStreamCaptureStatus status{};
    EXPECT_EQ(cudaStreamIsCapturing(other_, &status), cudaSuccess);
    return status;
  }
  /// What y is once the graph has run.
  std::vector<float> launched(cudaGraph_t graph) {
    cudaGraphExec_t exec;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    return y();
  }
  cudaStream_t other_ = nullptr;
  cudaEvent_t event_ = nullptr;
  cudaGraph_t graph_ = nullptr;
};

TEST_F(ForkedGraph, ForkAndJoin) {
  launch_saxpy(kN, 1, x_, y_, stream_);
  fork();
  launch_saxpy(kN, 2, x_, y_, other_);
  EXPECT_EQ(status_of_other(), cudaStreamCaptureStatusActive);
  join();
  launch_saxpy(kN, 4, x_, y_, stream_);
  OK(cudaStreamEndCapture(stream_, &graph_));
  EXPECT_EQ(status_of_other(), cudaStreamCaptureStatusNone);
  EXPECT_THAT(launched(graph_), Each(7));
}

TEST_F(ForkedGraph, WhatIsNotJoinedIsAnError) {
  fork();
  launch_saxpy(kN, 2, x_, y_, other_);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph_), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph_, nullptr);
}

TEST_F(ForkedGraph, AStreamMayEndOnceItIsJoined) {
  fork();
  launch_saxpy(kN, 2, x_, y_, other_);
  join();
  end_other();
  OK(cudaStreamEndCapture(stream_, &graph_));
  EXPECT_THAT(launched(graph_), Each(2));
}

TEST_F(ForkedGraph, AStreamThatEndsUnjoinedIsAnError) {
  fork();
  launch_saxpy(kN, 2, x_, y_, other_);
  OK(cudaEventRecord(event_, other_));
  end_other();
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph_), cudaErrorStreamCaptureUnjoined);
}

TEST_F(ForkedGraph, TheStreamThatBeganEnds) {
  fork();
  EXPECT_EQ(cudaStreamEndCapture(other_, &graph_), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph_, nullptr);
}

TEST_F(Graph, WhatCannotBeCapturedBreaksIt) {
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  cudaStreamCaptureStatus status;
  OK(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  OK(cudaStreamSynchronize(stream_));
}

TEST_F(Graph, UpdateTakesNewParametersOfTheSameNodes) {
  const cudaGraphExec_t exec = captured(5);
  for (const float a : {7.f, 9.f}) {
    OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    launch_saxpy(kN, a, x_, y_, stream_);
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(stream_, &graph));
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(exec, graph, &info));
    EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
    OK(cudaGraphDestroy(graph));
    OK(cudaMemset(y_, 0, sizeof(float) * kN));
    OK(cudaGraphLaunch(exec, stream_));
    EXPECT_THAT(y(), Each(a));
  }
  OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(y_, 0, 4, stream_));
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(stream_, &graph));
  cudaGraphExecUpdateResultInfo info;
  EXPECT_EQ(cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorNodeTypeChanged);
}

TEST_F(Graph, NodesOneByOne) {
  cudaGraph_t graph;
  OK(cudaGraphCreate(&graph, 0));
  int n = kN;
  float a = 3;
  void* arguments[] = {&n, &a, &x_, &y_};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(saxpy);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(kN);
  kernel.kernelParams = arguments;
  cudaMemsetParams zero{};
  zero.dst = y_;
  zero.elementSize = 4;
  zero.width = kN;
  zero.height = 1;
  cudaGraphNode_t add, set, empty;
  OK(cudaGraphAddKernelNode(&add, graph, nullptr, 0, &kernel));
  OK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zero));
  OK(cudaGraphAddDependencies(graph, &set, &add, nullptr, 1));  // the later node goes first
  OK(cudaGraphAddEmptyNode(&empty, graph, &add, 1));
  static int called = 0;
  cudaHostNodeParams host{[](void* by) { called += *static_cast<int*>(by); }, &n};
  cudaGraphNode_t call;
  OK(cudaGraphAddHostNode(&call, graph, &empty, 1, &host));
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) OK(cudaGraphLaunch(exec, stream_));
  EXPECT_THAT(y(), Each(3));
  EXPECT_EQ(called, 2 * kN);
  a = 8;
  OK(cudaGraphExecKernelNodeSetParams(exec, add, &kernel));
  OK(cudaGraphLaunch(exec, stream_));
  EXPECT_THAT(y(), Each(8));
  kernel.blockDim = dim3(2048);
  EXPECT_NE(cudaGraphExecKernelNodeSetParams(exec, add, &kernel), cudaSuccess);
  size_t count = 0;
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  ASSERT_EQ(count, 3u);
  std::vector<cudaGraphNode_t> from(4, add), to(4, add);
  std::vector<cudaGraphEdgeData> data(4);
  count = 4;
  OK(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count));
  EXPECT_EQ(count, 3u);
  EXPECT_THAT(from, ElementsAre(set, add, empty, nullptr));
  EXPECT_THAT(to, ElementsAre(add, empty, call, nullptr));
  EXPECT_EQ(data[0].type, 0);
  count = 1;
  OK(cudaGraphGetEdges(graph, from.data(), to.data(), nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(cudaGraphGetEdges(graph, from.data(), nullptr, nullptr, &count), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  cudaGetLastError();
  OK(cudaGraphAddDependencies(graph, &add, &set, nullptr, 1));  // now they go in a circle
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue);
}

TEST_F(Graph, CopiesAreNodes) {
  const std::vector<float> twos(kN, 2), threes(kN, 3);
  cudaMemcpy3DParms rows{};  // eight rows of a quarter of their pitch
  constexpr size_t kRow = sizeof(float) * 8;
  rows.srcPtr = {const_cast<float*>(twos.data()), kRow, 8, 8};
  rows.dstPtr = {y_, kRow, 8, 8};
  rows.extent = {kRow / 4, 8, 1};
  rows.kind = cudaMemcpyHostToDevice;
  cudaGraph_t graph;
  cudaGraphNode_t copies, all;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddMemcpyNode(&copies, graph, nullptr, 0, &rows));
  EXPECT_EQ(cudaGraphAddMemcpyNode(&all, graph, nullptr, 0, nullptr), cudaErrorInvalidValue);
  cudaGraph_t clone;
  OK(cudaGraphClone(&clone, graph));
  rows.srcPtr.ptr = const_cast<float*>(threes.data());
  OK(cudaGraphMemcpyNodeSetParams(copies, &rows));
  const auto rows_of = [](float value) {
    std::vector<float> out(kN, 0);
    for (int i = 0; i < kN; ++i)
      if (i % 8 < 2) out[i] = value;
    return out;
  };
  for (const auto& [g, value] : {std::pair{graph, 3.f}, std::pair{clone, 2.f}}) {
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaMemset(y_, 0, sizeof(float) * kN));
    OK(cudaGraphLaunch(exec, stream_));
    EXPECT_EQ(y(), rows_of(value));
    if (g == graph) {
      OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copies, y_, twos.data(), sizeof(float) * kN, cudaMemcpyDefault));
      OK(cudaGraphLaunch(exec, stream_));
      EXPECT_EQ(y(), twos);
    }
    OK(cudaGraphExecDestroy(exec));
  }
  // By the call that takes any kind.
  cudaGraphNodeParams any{};
  any.type = cudaGraphNodeTypeMemcpy;
  any.memcpy.copyParams = rows;
  OK(cudaGraphAddNode(&all, clone, nullptr, nullptr, 0, &any));
  any = {};
  any.type = cudaGraphNodeTypeMemset;
  any.memset = {y_, 0, 0, 4, 2, 1};
  OK(cudaGraphAddNode(&all, clone, &all, nullptr, 1, &any));
  any = {};
  any.type = cudaGraphNodeTypeGraph;
  EXPECT_EQ(cudaGraphAddNode(&all, clone, nullptr, nullptr, 0, &any), cudaErrorNotSupported);
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, clone, 0));
  OK(cudaMemset(y_, 0, sizeof(float) * kN));
  OK(cudaGraphLaunch(exec, stream_));
  std::vector<float> expected = rows_of(3);
  expected[0] = expected[1] = 0;
  EXPECT_EQ(y(), expected);
}

TEST_F(Graph, CopiesOfBlocksAreCaptured) {
  const std::vector<float> twos(kN, 2);
  cudaMemcpy3DParms block{};
  block.srcPtr = {const_cast<float*>(twos.data()), sizeof(float) * kN, kN, 1};
  block.dstPtr = {y_, sizeof(float) * kN, kN, 1};
  block.extent = {sizeof(float) * kN, 1, 1};
  block.kind = cudaMemcpyHostToDevice;
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = reinterpret_cast<CUdeviceptr>(y_);
  rows.dstDevice = reinterpret_cast<CUdeviceptr>(x_);
  rows.WidthInBytes = sizeof(float) * kN;
  rows.Height = 1;
  void* copy_2d = nullptr;
  cudaDriverEntryPointQueryResult found;
  OK(cudaGetDriverEntryPointByVersion("cuMemcpy2DAsync", &copy_2d, 12000, cudaEnableDefault, &found));
  OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  OK(cudaMemcpy3DAsync(&block, stream_));
  ASSERT_EQ(reinterpret_cast<CUresult (*)(const CUDA_MEMCPY2D*, CUstream)>(copy_2d)(&rows, stream_), CUDA_SUCCESS);
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(stream_, &graph));
  EXPECT_THAT(y(), Each(0));
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, stream_));
  EXPECT_THAT(y(), Each(2));
  launch_saxpy(kN, 1, x_, y_, stream_);
  EXPECT_THAT(y(), Each(4));
}

/// On an H200 the driver crashes here.
// cudaErrorNotPermitted, as the API's documentation has it: what the function destroys is what runs.
TEST_F(Graph, AHostFunctionInItCannotCall) {
  struct Calls {
    cudaStream_t stream;
    cudaGraphExec_t exec = nullptr;
    std::vector<cudaError_t> errors = {};
    static void make(void* to) {
      Calls& c = *static_cast<Calls*>(to);
      void* p = nullptr;
      c.errors = {cudaGraphExecDestroy(c.exec), cudaDeviceReset(), cudaGraphLaunch(c.exec, c.stream),
                  cudaMalloc(&p, 4)};
    }
  } calls{stream_};
  cudaGraph_t graph = nullptr;
  OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  OK(cudaLaunchHostFunc(stream_, Calls::make, &calls));
  launch_saxpy(kN, 2, x_, y_, stream_);
  OK(cudaStreamEndCapture(stream_, &graph));
  const cudaHostNodeParams again{Calls::make, &calls};
  cudaGraphNode_t node = nullptr;
  OK(cudaGraphAddHostNode(&node, graph, nullptr, 0, &again));
  OK(cudaGraphInstantiate(&calls.exec, graph, 0));
  OK(cudaGraphLaunch(calls.exec, stream_));
  OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(calls.errors, std::vector(4, cudaErrorNotPermitted));
  EXPECT_THAT(y(), Each(2));
  OK(cudaGraphExecDestroy(calls.exec));
  OK(cudaGraphDestroy(graph));
}

TEST_F(Graph, AResetEndsTheCaptureOfAStreamThatStays) {
  cudaStreamCaptureStatus status;
  OK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed));
  OK(cudaMemsetAsync(y_, 0, sizeof(float) * kN, cudaStreamPerThread));
  OK(cudaDeviceReset());
  OK(cudaStreamIsCapturing(cudaStreamPerThread, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  OK(cudaMalloc(reinterpret_cast<void**>(&y_), sizeof(float) * kN));
  OK(cudaMemsetAsync(y_, 0, sizeof(float) * kN, cudaStreamPerThread));
  EXPECT_THAT(y(), Each(0));
  x_ = nullptr;
}

TEST_F(Graph, AfterAResetNoneIsLeft) {
  const cudaGraphExec_t exec = captured(5);
  OK(cudaDeviceReset());
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaErrorInvalidValue);
  SetUp();
}

}  // namespace
