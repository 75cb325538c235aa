// The ladder's persistent step for Hopper (sm_90a): the same roles and rings; the products are wgmma, scores and O live
// in registers, and P goes from one product to the next without leaving them.
#pragma once
#include <cuda_runtime.h>

#include "chapters/14_attention/attention.h"

namespace attention::hopper {

/// Launches one kernel on `stream`.
void launch(const Problem& p, cudaStream_t stream = nullptr);

}  // namespace attention::hopper
