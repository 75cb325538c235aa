// What the steps' hosts share: how many pages a CTA has, and which size of the kernel a batch takes.
#pragma once
#include "chapters/16_megakernel/megakernel.h"
#include "chapters/16_megakernel/roles.cuh"
#include "common/harness/cuda_check.h"

namespace megakernel::kernels {

/// Pages of a CTA. Where grids follow each other, two CTAs shall fit on an SM; one that stays has the SM for itself.
template <uint32_t N>
constexpr uint32_t kFewPages = N <= 16 ? 5 : 4;
template <uint32_t N>
constexpr uint32_t kAllPages = N <= 16 ? 11 : 8;

/// Calls f.operator()<N>() for a batch: B has 16 rows, or 64.
template <class F>
void for_batch(uint32_t batch, F&& f) {
  if (batch <= 16)
    f.template operator()<16>();
  else
    f.template operator()<kLargestBatch>();
}

template <uint32_t N, uint32_t Pages, class Source>
void launch_layer(const Arguments& args, uint32_t first, uint32_t ctas, cudaStream_t stream, bool early = false) {
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
  config.numAttrs = early;
  GEN5_CUDA(cudaLaunchKernelEx(&config, kernel, args, first));
}

}  // namespace megakernel::kernels
