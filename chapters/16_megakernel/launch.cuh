// What the steps' hosts share. The steps are compiled for both machines: each has a kernel of its own, in sizes of its
// own.
#pragma once
#include "chapters/16_megakernel/megakernel.h"
#ifdef MEGAKERNEL_HOPPER
#include "chapters/16_megakernel/hopper/roles.cuh"
#else
#include "chapters/16_megakernel/roles.cuh"
#endif
#include "common/harness/cuda_check.h"

namespace megakernel::kernels {

/// Where grids follow each other, a CTA has one task, and two fit on an SM. kDependent: it may start before the grid
/// ahead of it has ended.
template <bool Dependent>
struct OneTask {
  static constexpr bool kDependent = Dependent, kCounters = false, kMarked = false, kListed = false;
  static constexpr uint32_t kSlots = 1, kCtas = 2;
  const Task* task;
  __device__ OneTask(const Arguments& args, uint32_t first) : task(args.tasks + first + blockIdx.x) {}
  __device__ const Task* next() {
    const Task* mine = task;
    task = nullptr;
    return mine;
  }
};

/// Calls f.operator()<N>() for a batch, or for a prefill's tiles of tokens.
template <class F>
void for_rows(const Arguments& args, F&& f) {
  if (args.prefill)
    f.template operator()<kTokenTile>();
  else
    for_batch(args.batch, f);
}

template <uint32_t N, uint32_t Pages, class Source>
void launch_layer(const Arguments& args, uint32_t first, uint32_t ctas, cudaStream_t stream) {
  const auto kernel = layer<N, Pages, Source>;
  constexpr uint32_t bytes = sizeof(Shared<N, Pages, Source::kSlots>);
  static_assert(bytes <= 232448);
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = Source::kDependent;
  GEN5_CUDA(cudaLaunchKernelEx(&config, kernel, args, first));
}

}  // namespace megakernel::kernels
