// What kernels ask of the device runtime, in PTX: kernels that they launch, and conditions of graphs. And pieces of PTX
// that cuLink… puts together.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cuda/primary_context.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// log: a count, behind it what was written down, in its order.
constexpr const char* kWrite = R"(
.visible .entry write(.param .u64 log, .param .u32 value) {
  .reg .b64 %d<3>; .reg .b32 %r<3>;
  ld.param.u64 %d0, [log];
  ld.param.u32 %r0, [value];
  atom.global.add.u32 %r1, [%d0], 1;
  mad.wide.u32 %d1, %r1, 4, %d0;
  st.global.u32 [%d1 + 4], %r0;
  ret;
})";
constexpr const char* kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// The first `lanes` threads launch write(log, tid + 10 * ctaid + first): thread 0 on `stream`, the others on stream 0.
constexpr const char* kLaunch = R"(
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12],
                                                            .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 stream);
.visible .entry launch(.param .u64 log, .param .u32 lanes, .param .u32 first, .param .u64 stream, .param .u32 threads) {
  .reg .b64 %d<4>; .reg .b32 %r<6>; .reg .pred %p;
  mov.u32 %r0, %tid.x;
  ld.param.u32 %r1, [lanes];
  setp.ge.u32 %p, %r0, %r1;
  @%p ret;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r0, %r2, 10, %r0;
  ld.param.u32 %r3, [first];
  add.u32 %r0, %r0, %r3;
  ld.param.u32 %r4, [threads];
  mov.u64 %d0, write;
  {
    .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r;
    st.param.b64 [f], %d0;
    st.param.b32 [g], 1; st.param.b32 [g + 4], 1; st.param.b32 [g + 8], 1;
    st.param.b32 [b], %r4; st.param.b32 [b + 4], 1; st.param.b32 [b + 8], 1;
    st.param.b32 [s], 0;
    call.uni (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s);
    ld.param.b64 %d1, [r];
  }
  ld.param.u64 %d2, [log];
  st.u64 [%d1], %d2;
  st.u32 [%d1 + 8], %r0;
  ld.param.u64 %d3, [stream];
  mov.u32 %r5, %tid.x;
  setp.ne.u32 %p, %r5, 0;
  @%p mov.u64 %d3, 0;
  {
    .param .b64 p; .param .b64 stream_; .param .b32 r;
    st.param.b64 [p], %d1;
    st.param.b64 [stream_], %d3;
    call.uni (r), __cudaCDP2LaunchDeviceV2, (p, stream_);
    ld.param.b32 %r5, [r];
  }
  // Nothing that was launched has begun: this comes first.
  atom.global.add.u32 %r1, [%d2], 1;
  mad.wide.u32 %d1, %r1, 4, %d2;
  add.u32 %r5, %r5, 99;
  st.global.u32 [%d1 + 4], %r5;
  ret;
})";

/// Takes one from *counter, writes what is left down, and goes on while something is.
constexpr const char* kCount = R"(
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry count(.param .u64 log, .param .u64 counter, .param .u64 handle) {
  .reg .b64 %d<4>; .reg .b32 %r<3>;
  ld.param.u64 %d0, [log];
  ld.param.u64 %d1, [counter];
  ld.param.u64 %d2, [handle];
  ld.global.u32 %r0, [%d1];
  sub.u32 %r0, %r0, 1;
  st.global.u32 [%d1], %r0;
  atom.global.add.u32 %r1, [%d0], 1;
  mad.wide.u32 %d3, %r1, 4, %d0;
  st.global.u32 [%d3 + 4], %r0;
  {
    .param .b64 h; .param .b32 v;
    st.param.b64 [h], %d2;
    st.param.b32 [v], %r0;
    call.uni cudaGraphSetConditional, (h, v);
  }
  ret;
})";

class DeviceRuntime : public PrimaryContext {
 protected:
  void SetUp() override {
    PrimaryContext::SetUp();
    OK(cuMemAlloc(&log_, kBytes));
    OK(cuMemAlloc(&counter_, 4));
    OK(cuMemsetD8(log_, 0, kBytes));
    OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    cuStreamDestroy(stream_);
    cuMemFree(log_);
    cuMemFree(counter_);
    PrimaryContext::TearDown();
  }
  CUfunction kernel(const std::string& body, const char* name) {
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    EXPECT_EQ(cuModuleLoadData(&m, (kHead + body).c_str()), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&f, m, name), CUDA_SUCCESS);
    return f;
  }
  std::vector<unsigned> logged() {
    unsigned count = 0;
    EXPECT_EQ(cuMemcpyDtoH(&count, log_, 4), CUDA_SUCCESS);
    std::vector<unsigned> out(std::min<size_t>(count, kBytes / 4 - 1));
    EXPECT_EQ(cuMemcpyDtoH(out.data(), log_ + 4, 4 * out.size()), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(log_, 0, kBytes), CUDA_SUCCESS);
    return out;
  }
  CUresult launch(CUfunction f, unsigned grid, unsigned lanes, unsigned first, uint64_t stream, unsigned threads = 1) {
    void* arguments[] = {&log_, &lanes, &first, &stream, &threads};
    return cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, stream_, arguments, nullptr);
  }
  CUresult write(CUfunction f, unsigned value) {
    void* arguments[] = {&log_, &value};
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr);
  }
  static constexpr size_t kBytes = 1024;
  CUdeviceptr log_ = 0, counter_ = 0;
  CUstream stream_ = nullptr;
};

TEST_F(DeviceRuntime, AKernelLaunchesKernels) {
  const CUfunction f = kernel(std::string(kWrite) + kLaunch, "launch");
  const CUfunction w = kernel(kWrite, "write");
  OK(launch(f, 1, 3, 5, 0));
  OK(write(w, 1000));
  EXPECT_THAT(logged(), ElementsAre(99, 99, 99, 5, 6, 7, 1000)) << "in a stream, and before what comes behind the grid";
  const std::vector<unsigned> two = (launch(f, 2, 2, 5, 0), logged());
  EXPECT_THAT(two, ::testing::UnorderedElementsAre(99, 99, 99, 99, 5, 6, 15, 16));
  EXPECT_LT(std::ranges::find(two, 5u), std::ranges::find(two, 6u)) << "each CTA has a stream";
  EXPECT_LT(std::ranges::find(two, 15u), std::ranges::find(two, 16u));
}

TEST_F(DeviceRuntime, TheTailComesLast) {
  const CUfunction f = kernel(std::string(kWrite) + kLaunch, "launch");
  OK(launch(f, 1, 3, 5, 3));
  EXPECT_THAT(logged(), ElementsAre(99, 99, 99, 6, 7, 5));
  OK(launch(f, 1, 3, 5, 4));  // fire and forget
  EXPECT_THAT(logged(), ::testing::UnorderedElementsAre(99, 99, 99, 5, 6, 7));
}

TEST_F(DeviceRuntime, WhatNoDeviceCouldLaunchIsRefused) {
  const CUfunction f = kernel(std::string(kWrite) + kLaunch, "launch");
  ::testing::internal::CaptureStderr();
  OK(launch(f, 1, 1, 5, 0, 2048));
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("write was not launched: block (2048,1,1)"));
  EXPECT_THAT(logged(), ElementsAre(99));
}

TEST_F(DeviceRuntime, ALoopInAGraph) {
  const CUfunction count = kernel(kCount, "count"), w = kernel(kWrite, "write");
  CUgraph graph;
  OK(cuGraphCreate(&graph, 0));
  for (const unsigned at_launch : {1u, 0u}) {
    CUgraph g;
    OK(cuGraphCreate(&g, 0));
    CUgraphConditionalHandle handle;
    OK(cuGraphConditionalHandleCreate(&handle, g, nullptr, at_launch, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams loop{};
    loop.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    loop.conditional.handle = handle;
    loop.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    loop.conditional.size = 1;
    CUgraphNode node, last;
    OK(cuGraphAddNode(&node, g, nullptr, nullptr, 0, &loop));
    // The body by capture, and a node behind the loop.
    OK(cuStreamBeginCaptureToGraph(stream_, loop.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                   CU_STREAM_CAPTURE_MODE_GLOBAL));
    void* arguments[] = {&log_, &counter_, &handle};
    OK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr));
    OK(cuStreamEndCapture(stream_, nullptr));
    unsigned value = 1000;
    void* of_write[] = {&log_, &value};
    CUDA_KERNEL_NODE_PARAMS k{};
    k.func = w;
    k.gridDimX = k.gridDimY = k.gridDimZ = k.blockDimX = k.blockDimY = k.blockDimZ = 1;
    k.kernelParams = of_write;
    OK(cuGraphAddKernelNode(&last, g, &node, 1, &k));
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, g, 0));
    for (int i = 0; i < 2; ++i) {
      OK(cuMemsetD32(counter_, 3, 1));
      OK(cuGraphLaunch(exec, stream_));
      if (at_launch)
        EXPECT_THAT(logged(), ElementsAre(2, 1, 0, 1000));
      else
        EXPECT_THAT(logged(), ElementsAre(1000));
    }
    CUgraph copy;
    EXPECT_EQ(cuGraphClone(&copy, g), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
  }
  OK(cuGraphDestroy(graph));
}

/// The first kernel sets the condition to what is left of the counter; the node captured behind it goes by that.
TEST_F(DeviceRuntime, BranchesInAGraph) {
  const CUfunction count = kernel(kCount, "count"), w = kernel(kWrite, "write");
  struct Case {
    CUgraphConditionalNodeType type;
    unsigned bodies, counter;
    std::vector<unsigned> expected;
  };
  for (const Case& c : {Case{CU_GRAPH_COND_TYPE_IF, 1, 2, {1, 500}}, Case{CU_GRAPH_COND_TYPE_IF, 1, 1, {0}},
                        Case{CU_GRAPH_COND_TYPE_IF, 2, 1, {0, 501}}, Case{CU_GRAPH_COND_TYPE_SWITCH, 3, 3, {2, 502}},
                        Case{CU_GRAPH_COND_TYPE_SWITCH, 3, 1, {0, 500}}, Case{CU_GRAPH_COND_TYPE_SWITCH, 3, 4, {3}}}) {
    OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUstreamCaptureStatus status;
    CUgraph graph;
    const CUgraphNode* front = nullptr;
    size_t fronts = 0;
    OK(cuStreamGetCaptureInfo(stream_, &status, nullptr, &graph, &front, nullptr, &fronts));
    CUgraphConditionalHandle handle;
    OK(cuGraphConditionalHandleCreate(&handle, graph, nullptr, 0, 0));
    void* arguments[] = {&log_, &counter_, &handle};
    OK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr));
    OK(cuStreamGetCaptureInfo(stream_, &status, nullptr, &graph, &front, nullptr, &fronts));
    ASSERT_EQ(fronts, 1u);
    CUgraphNodeParams branch{};
    branch.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    branch.conditional.handle = handle;
    branch.conditional.type = c.type;
    branch.conditional.size = c.bodies;
    CUgraphNode node;
    OK(cuGraphAddNode(&node, graph, front, nullptr, 1, &branch));
    OK(cuStreamUpdateCaptureDependencies(stream_, &node, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    for (unsigned i = 0; i < c.bodies; ++i) {
      unsigned value = 500 + i;
      void* of_write[] = {&log_, &value};
      CUgraphNodeParams k{};
      k.type = CU_GRAPH_NODE_TYPE_KERNEL;
      k.kernel.func = w;
      k.kernel.gridDimX = k.kernel.gridDimY = k.kernel.gridDimZ = 1;
      k.kernel.blockDimX = k.kernel.blockDimY = k.kernel.blockDimZ = 1;
      k.kernel.kernelParams = of_write;
      CUgraphNode inner;
      OK(cuGraphAddNode(&inner, branch.conditional.phGraph_out[i], nullptr, nullptr, 0, &k));
    }
    OK(write(w, 1000));
    OK(cuStreamEndCapture(stream_, &graph));
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuMemsetD32(counter_, c.counter, 1));
    OK(cuGraphLaunch(exec, stream_));
    std::vector<unsigned> expected = c.expected;
    expected.push_back(1000);
    EXPECT_EQ(logged(), expected) << c.type << " with " << c.bodies;
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
  }
}

TEST_F(DeviceRuntime, WrongConditionsAreRefused) {
  CUgraph graph, other;
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphCreate(&other, 0));
  CUgraphConditionalHandle handle;
  OK(cuGraphConditionalHandleCreate(&handle, other, nullptr, 0, 0));
  EXPECT_EQ(cuGraphConditionalHandleCreate(&handle, other, nullptr, 0, 2), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams p{};
  CUgraphNode node;
  p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  p.conditional = {handle, CU_GRAPH_COND_TYPE_IF, 1, nullptr, nullptr};
  EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &p), CUDA_ERROR_INVALID_VALUE) << "of another graph";
  for (const auto& [type, bodies] : {std::pair{CU_GRAPH_COND_TYPE_IF, 3u}, std::pair{CU_GRAPH_COND_TYPE_WHILE, 2u},
                                     std::pair{CU_GRAPH_COND_TYPE_SWITCH, 0u}}) {
    p.conditional = {handle, type, bodies, nullptr, nullptr};
    EXPECT_EQ(cuGraphAddNode(&node, other, nullptr, nullptr, 0, &p), CUDA_ERROR_INVALID_VALUE);
  }
  p.conditional = {handle, CU_GRAPH_COND_TYPE_IF, 1, nullptr, nullptr};
  OK(cuGraphAddNode(&node, other, nullptr, nullptr, 0, &p));
  CUDA_HOST_NODE_PARAMS host{[](void*) {}, nullptr};
  OK(cuGraphAddHostNode(&node, p.conditional.phGraph_out[0], nullptr, 0, &host));
  CUgraphExec exec;
  EXPECT_EQ(cuGraphInstantiate(&exec, other, 0), CUDA_ERROR_NOT_SUPPORTED) << "a body calls no host function";
}

TEST_F(DeviceRuntime, AHandleThatIsNoneFaults) {
  const CUfunction count = kernel(kCount, "count");
  CUdeviceptr handle = log_;
  void* arguments[] = {&log_, &counter_, &handle};
  OK(cuMemsetD32(counter_, 3, 1));
  ::testing::internal::CaptureStderr();
  OK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr));
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("the condition of a graph is set by a handle that is none"));
  OK(cuDevicePrimaryCtxReset(device_));
  SetUp();
}

// ---- cuLink…

TEST_F(DeviceRuntime, PiecesOfPtxAreLinked) {
  const std::string caller = std::string(kHead) + R"(
.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry store_twice(.param .u64 log, .param .u32 value) {
  .reg .b64 %d; .reg .b32 %r;
  ld.param.u64 %d, [log];
  ld.param.u32 %r, [value];
  { .param .b32 x; .param .b32 r;
    st.param.b32 [x], %r; call.uni (r), twice, (x); ld.param.b32 %r, [r]; }
  st.global.u32 [%d], %r;
  ret;
})";
  const std::string callee = std::string(kHead) + R"(
.visible .func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %r;
  ld.param.b32 %r, [x];
  add.u32 %r, %r, %r;
  st.param.b32 [r], %r;
  ret;
})";
  const auto add = [](CUlinkState link, std::string text, CUjitInputType type = CU_JIT_INPUT_PTX) {
    return cuLinkAddData(link, type, text.data(), text.size() + 1, "piece", 0, nullptr, nullptr);
  };
  char log[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUlinkState link;
  OK(cuLinkCreate(2, options, values, &link));
  OK(add(link, caller));
  void* image = nullptr;
  size_t size = 0;
  OK(add(link, callee));
  OK(cuLinkComplete(link, &image, &size));
  EXPECT_GT(size, caller.size());
  CUmodule m;
  CUfunction f;
  OK(cuModuleLoadData(&m, image));
  OK(cuLinkDestroy(link));
  EXPECT_EQ(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
  OK(cuModuleGetFunction(&f, m, "store_twice"));
  OK(write(f, 21));
  unsigned result = 0;
  OK(cuMemcpyDtoH(&result, log_, 4));
  EXPECT_EQ(result, 42u);
  // What does not fit together, and what is no PTX. The log's size has become that of its text.
  values[1] = reinterpret_cast<void*>(sizeof log);
  OK(cuLinkCreate(2, options, values, &link));
  OK(add(link, callee));
  OK(add(link, callee));
  EXPECT_EQ(cuLinkComplete(link, &image, &size), CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(log, HasSubstr("twice"));
  EXPECT_EQ(add(link, caller, CU_JIT_INPUT_LIBRARY), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/no/such/file", 0, nullptr, nullptr), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_PTX, nullptr, 8, "none", 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  OK(cuLinkDestroy(link));
}

}  // namespace
