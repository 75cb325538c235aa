// Nodes of graphs that allocate and free: their addresses, when there is memory behind them, and what the CUDA
// programming guide says of each wrong use.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda/runtime_kernels.h"

namespace {

using ::testing::Each;

#define OK(call) ASSERT_EQ(call, cudaSuccess)

class GraphMemory : public ::testing::Test {
 protected:
  static constexpr int kN = 64;
  static constexpr size_t kBytes = sizeof(float) * kN;
  void SetUp() override {
    OK(cudaStreamCreate(&stream_));
    OK(cudaGraphCreate(&graph_, 0));
    const std::vector<float> ones(kN, 1);
    OK(cudaMalloc(reinterpret_cast<void**>(&ones_), kBytes));
    OK(cudaMemcpy(ones_, ones.data(), kBytes, cudaMemcpyDefault));
  }
  void TearDown() override {
    cudaGraphDestroy(graph_);
    cudaStreamDestroy(stream_);
    cudaFree(ones_);
    cudaGetLastError();
  }
  static cudaMemAllocNodeParams bytes(size_t size) {
    cudaMemAllocNodeParams p{};
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = size;
    return p;
  }
  float* allocation(cudaGraphNode_t& node, std::vector<cudaGraphNode_t> after = {}, size_t size = kBytes) {
    cudaMemAllocNodeParams p = bytes(size);
    EXPECT_EQ(cudaGraphAddMemAllocNode(&node, graph_, after.data(), after.size(), &p), cudaSuccess);
    return static_cast<float*>(p.dptr);
  }
  cudaGraphNode_t set_to_zero(float* p, cudaGraphNode_t after) {
    cudaMemsetParams zero{p, 0, 0, 4, kN, 1};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddMemsetNode(&node, graph_, &after, 1, &zero), cudaSuccess);
    return node;
  }
  cudaGraphNode_t add_ones(float a, float* to, cudaGraphNode_t after) {
    int n = kN;
    void* arguments[] = {&n, &a, &ones_, &to};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(saxpy);
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(kN);
    kernel.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, graph_, &after, 1, &kernel), cudaSuccess);
    return node;
  }
  cudaGraphExec_t made(unsigned long long flags = 0) {
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph_, flags), cudaSuccess);
    return exec;
  }
  std::vector<float> read(const float* from, cudaError_t expected = cudaSuccess) {
    std::vector<float> out(kN, -1);
    EXPECT_EQ(cudaMemcpy(out.data(), from, kBytes, cudaMemcpyDefault), expected);
    return out;
  }
  float* ones_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
};

TEST_F(GraphMemory, IsThereFromTheNodeThatAllocatesToTheOneThatFrees) {
  cudaGraphNode_t allocate, copied, freed;
  float* const p = allocation(allocate);
  const cudaGraphNode_t last = add_ones(3, p, set_to_zero(p, allocate));
  std::vector<float> result(kN);
  OK(cudaGraphAddMemcpyNode1D(&copied, graph_, &last, 1, result.data(), p, kBytes, cudaMemcpyDeviceToHost));
  OK(cudaGraphAddMemFreeNode(&freed, graph_, &copied, 1, p));
  read(p, cudaErrorInvalidValue);
  const cudaGraphExec_t exec = made();
  read(p, cudaErrorInvalidValue);
  for (int i = 0; i < 2; ++i) {
    result.assign(kN, 0);
    OK(cudaGraphLaunch(exec, stream_));
    OK(cudaStreamSynchronize(stream_));
    EXPECT_THAT(result, Each(3));
    read(p, cudaErrorInvalidValue);
  }
  // No other allocation gets the addresses, though nothing is there.
  std::vector<void*> others(64);
  for (void*& other : others) OK(cudaMalloc(&other, kBytes));
  for (void* other : others) {
    EXPECT_NE(other, p);
    OK(cudaFree(other));
  }
  OK(cudaGraphExecDestroy(exec));
}

TEST_F(GraphMemory, AKernelThatComesBehindTheFreeFaults) {
  cudaGraphNode_t allocate, freed;
  float* const p = allocation(allocate);
  OK(cudaGraphAddMemFreeNode(&freed, graph_, &allocate, 1, p));
  add_ones(3, p, freed);
  OK(cudaGraphLaunch(made(), stream_));
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  OK(cudaDeviceReset());
  SetUp();
}

TEST_F(GraphMemory, AddressesAreTakenAgainBehindAFreeOfAsManyBytes) {
  cudaGraphNode_t first, freed, second, other, beside, freed_again, third;
  float* const p = allocation(first);
  OK(cudaGraphAddMemFreeNode(&freed, graph_, &first, 1, p));
  EXPECT_NE(allocation(beside), p) << "which may be before the free";
  EXPECT_NE(allocation(other, {freed}, 2 * kBytes), p) << "which is larger";
  EXPECT_EQ(allocation(second, {freed}), p);
  EXPECT_NE(allocation(third, {freed}), p) << "the second has it";
  OK(cudaGraphAddMemFreeNode(&freed_again, graph_, &second, 1, p));
  EXPECT_EQ(allocation(third, {freed_again}), p);
  cudaMemAllocNodeParams said{};
  OK(cudaGraphMemAllocNodeGetParams(third, &said));
  EXPECT_EQ(said.dptr, p);
  EXPECT_EQ(said.bytesize, kBytes);
  void* freed_there = nullptr;
  OK(cudaGraphMemFreeNodeGetParams(freed_again, &freed_there));
  EXPECT_EQ(freed_there, p);
  // Another graph has addresses of its own.
  cudaGraph_t another;
  OK(cudaGraphCreate(&another, 0));
  cudaMemAllocNodeParams same = bytes(kBytes);
  OK(cudaGraphAddMemAllocNode(&first, another, nullptr, 0, &same));
  EXPECT_NE(same.dptr, p);
  OK(cudaGraphDestroy(another));
}

TEST_F(GraphMemory, WhatAGraphLeavesIsUsedAndFreedOutside) {
  cudaGraphNode_t allocate;
  float* const p = allocation(allocate);
  add_ones(5, p, set_to_zero(p, allocate));
  const cudaGraphExec_t exec = made();
  OK(cudaGraphLaunch(exec, stream_));
  EXPECT_THAT(read(p), Each(5));
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaErrorInvalidValue) << "it is still allocated";
  launch_saxpy(kN, 2, ones_, p, stream_);
  EXPECT_THAT(read(p), Each(7));
  OK(cudaFree(p));
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  read(p, cudaErrorInvalidValue);
  OK(cudaGraphLaunch(exec, stream_));
  OK(cudaFreeAsync(p, stream_));
  read(p, cudaErrorInvalidValue);
  // In another graph.
  cudaGraph_t frees;
  cudaGraphNode_t node, again;
  OK(cudaGraphCreate(&frees, 0));
  EXPECT_EQ(cudaGraphAddMemFreeNode(&node, frees, nullptr, 0, ones_), cudaErrorInvalidValue) << "no node allocates it";
  OK(cudaGraphAddMemFreeNode(&node, frees, nullptr, 0, p));
  EXPECT_EQ(cudaGraphAddMemFreeNode(&again, frees, nullptr, 0, p), cudaErrorInvalidValue) << "it is freed already";
  cudaGraphExec_t frees_it;
  OK(cudaGraphInstantiate(&frees_it, frees, 0));
  EXPECT_EQ(cudaGraphLaunch(frees_it, stream_), cudaErrorInvalidValue) << "nothing is allocated";
  OK(cudaGraphLaunch(exec, stream_));
  EXPECT_THAT(read(p), Each(5));
  OK(cudaGraphLaunch(frees_it, stream_));
  read(p, cudaErrorInvalidValue);
  // It outlives what allocated it.
  OK(cudaGraphLaunch(exec, stream_));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphExecDestroy(frees_it));
  OK(cudaGraphDestroy(frees));
  OK(cudaGraphDestroy(graph_));
  EXPECT_THAT(read(p), Each(5));
  OK(cudaFree(p));
  read(p, cudaErrorInvalidValue);
}

TEST_F(GraphMemory, AGraphMayFreeOnLaunchWhatItLeft) {
  cudaGraphNode_t allocate;
  float* const p = allocation(allocate);
  set_to_zero(p, allocate);
  const cudaGraphExec_t exec = made(cudaGraphInstantiateFlagAutoFreeOnLaunch);
  for (const float a : {4.f, 6.f}) {
    OK(cudaGraphLaunch(exec, stream_));
    EXPECT_THAT(read(p), Each(0));
    launch_saxpy(kN, a, ones_, p, stream_);
    EXPECT_THAT(read(p), Each(a));
  }
  OK(cudaFree(p));
}

TEST_F(GraphMemory, CapturedCallsAreNodes) {
  float *p = nullptr, *q = nullptr;
  std::vector<float> result(kN);
  OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  OK(cudaMallocAsync(reinterpret_cast<void**>(&p), kBytes, stream_));
  OK(cudaMemsetAsync(p, 0, kBytes, stream_));
  launch_saxpy(kN, 9, ones_, p, stream_);
  OK(cudaMemcpyAsync(result.data(), p, kBytes, cudaMemcpyDeviceToHost, stream_));
  OK(cudaFreeAsync(p, stream_));
  OK(cudaMallocAsync(reinterpret_cast<void**>(&q), kBytes, stream_));
  EXPECT_EQ(q, p);
  OK(cudaFreeAsync(q, stream_));
  EXPECT_EQ(cudaFreeAsync(ones_, stream_), cudaErrorInvalidValue) << "no graph has allocated it";
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(stream_, &graph));
  read(p, cudaErrorInvalidValue);
  cudaGraphNode_t nodes[7];
  size_t count = 7;
  OK(cudaGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 7u);
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemAlloc);
  OK(cudaGraphNodeGetType(nodes[4], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemFree);
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, stream_));
  OK(cudaStreamSynchronize(stream_));
  EXPECT_THAT(result, Each(9));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphExecDestroy(exec));
}

TEST_F(GraphMemory, OneExecutableGraphAtATimeAndNoCopy) {
  cudaGraphNode_t allocate;
  allocation(allocate);
  const cudaGraphExec_t exec = made();
  cudaGraphExec_t second;
  EXPECT_EQ(cudaGraphInstantiate(&second, graph_, 0), cudaErrorNotSupported);
  cudaGraph_t copy;
  EXPECT_EQ(cudaGraphClone(&copy, graph_), cudaErrorNotSupported);
  cudaGraphExecUpdateResultInfo info;
  OK(cudaGraphExecUpdate(exec, graph_, &info));
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  cudaGraph_t larger;
  OK(cudaGraphCreate(&larger, 0));
  cudaMemAllocNodeParams twice = bytes(2 * kBytes);
  OK(cudaGraphAddMemAllocNode(&allocate, larger, nullptr, 0, &twice));
  EXPECT_EQ(cudaGraphExecUpdate(exec, larger, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorNotSupported);
  OK(cudaGraphDestroy(larger));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphInstantiate(&second, graph_, 0));
  OK(cudaGraphExecDestroy(second));
  // A new graph may lie where an old one did, whose executable graph lives on.
  const cudaGraphExec_t of_the_old_one = made();
  for (int i = 0; i < 16; ++i) {
    OK(cudaGraphDestroy(graph_));
    OK(cudaGraphCreate(&graph_, 0));
    allocation(allocate);
    OK(cudaGraphExecDestroy(made()));
  }
  OK(cudaGraphExecDestroy(of_the_old_one));
}

TEST_F(GraphMemory, WhatCannotBeAllocatedIsRefused) {
  cudaGraphNode_t node;
  cudaMemAllocNodeParams p = bytes(0);
  EXPECT_EQ(cudaGraphAddMemAllocNode(&node, graph_, nullptr, 0, &p), cudaErrorInvalidValue);
  p = bytes(kBytes);
  p.poolProps.location.id = 1;
  EXPECT_EQ(cudaGraphAddMemAllocNode(&node, graph_, nullptr, 0, &p), cudaErrorInvalidValue);
  p = bytes(kBytes);
  p.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  EXPECT_EQ(cudaGraphAddMemAllocNode(&node, graph_, nullptr, 0, &p), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphAddMemAllocNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  size_t free = 0, total = 0;
  OK(cudaMemGetInfo(&free, &total));
  p = bytes(4 * total);
  EXPECT_EQ(cudaGraphAddMemAllocNode(&node, graph_, nullptr, 0, &p), cudaErrorMemoryAllocation);
}

TEST_F(GraphMemory, StaysWithTheGraphsUntilItIsTrimmed) {
  const auto bytes_of = [](cudaGraphMemAttributeType attribute) {
    uint64_t out = ~0ull;
    EXPECT_EQ(cudaDeviceGetGraphMemAttribute(0, attribute, &out), cudaSuccess);
    return out;
  };
  OK(cudaDeviceGraphMemTrim(0));
  uint64_t zero = 0;
  OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
  ASSERT_EQ(bytes_of(cudaGraphMemAttrUsedMemCurrent), 0u);
  constexpr uint64_t kPiece = 33'554'432;  // which an H200 says of 256 bytes
  cudaGraphNode_t first, second, freed;
  float* const p = allocation(first, {}, kPiece);
  float* const q = allocation(second, {first});
  OK(cudaGraphAddMemFreeNode(&freed, graph_, &second, 1, p));
  OK(cudaGraphLaunch(made(), stream_));
  OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(bytes_of(cudaGraphMemAttrUsedMemCurrent), 2 * kPiece);
  OK(cudaDeviceGraphMemTrim(0));
  EXPECT_EQ(bytes_of(cudaGraphMemAttrUsedMemCurrent), kPiece) << "what is not freed stays";
  OK(cudaFree(q));
  EXPECT_EQ(bytes_of(cudaGraphMemAttrReservedMemCurrent), kPiece);
  OK(cudaDeviceGraphMemTrim(0));
  EXPECT_EQ(bytes_of(cudaGraphMemAttrReservedMemCurrent), 0u);
  EXPECT_EQ(bytes_of(cudaGraphMemAttrUsedMemHigh), 2 * kPiece);
  EXPECT_EQ(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetGraphMemAttribute(1, cudaGraphMemAttrUsedMemHigh, &zero), cudaErrorInvalidDevice);
}

}  // namespace
