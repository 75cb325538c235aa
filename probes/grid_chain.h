// Grids that follow each other, in a graph or in a stream, each behind the one before it or as its dependent.
#pragma once
#include <tuple>

#include "common/harness/cuda_check.h"

namespace gen5::probe {

/// The chip's clock, which all SMs share. An H200's goes on by 32 ns at a time.
__device__ __forceinline__ long long nanoseconds_now() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

/// One of them.
struct ChainShape {
  int ctas, threads, bytes;  // bytes: of dynamic shared memory
};

/// Launches `grids` of them: `shape(i)` and `arguments(i)`, a tuple, of grid i.
template <class Kernel, class Shape, class Arguments>
void launch_chain(cudaStream_t stream, int grids, bool dependent, Kernel kernel, const Shape& shape,
                  const Arguments& arguments) {
  for (int i = 0; i < grids; ++i) {
    const ChainShape s = shape(i);
    cudaLaunchConfig_t config{};
    config.gridDim = unsigned(s.ctas), config.blockDim = unsigned(s.threads), config.stream = stream;
    config.dynamicSmemBytes = size_t(s.bytes);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute, config.numAttrs = dependent ? 1 : 0;
    std::apply([&](auto... a) { GEN5_CUDA(cudaLaunchKernelEx(&config, kernel, a...)); }, arguments(i));
  }
}

/// The same as a graph, and waits for it.
template <class Kernel, class Shape, class Arguments>
void run_graph(int grids, bool dependent, Kernel kernel, const Shape& shape, const Arguments& arguments) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t runs;
  GEN5_CUDA(cudaStreamCreate(&stream));
  GEN5_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch_chain(stream, grids, dependent, kernel, shape, arguments);
  GEN5_CUDA(cudaStreamEndCapture(stream, &graph));
  GEN5_CUDA(cudaGraphInstantiate(&runs, graph, 0));
  GEN5_CUDA(cudaGraphLaunch(runs, nullptr));
  GEN5_CUDA(cudaDeviceSynchronize());
  GEN5_CUDA(cudaGraphExecDestroy(runs));
  GEN5_CUDA(cudaGraphDestroy(graph));
  GEN5_CUDA(cudaStreamDestroy(stream));
}

/// As a graph, or in the default stream; waits for them.
template <class Kernel, class Shape, class Arguments>
void run_grids(bool graph, int grids, bool dependent, Kernel kernel, const Shape& shape, const Arguments& arguments) {
  if (graph) return run_graph(grids, dependent, kernel, shape, arguments);
  launch_chain(nullptr, grids, dependent, kernel, shape, arguments);
  GEN5_CUDA(cudaDeviceSynchronize());
}

}  // namespace gen5::probe
