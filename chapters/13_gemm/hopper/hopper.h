// The ladder's warp-specialised, persistent step for Hopper (sm_90a): the same ring, the same roles, the same layouts;
// the MMA is wgmma and the accumulators live in registers.
#pragma once
#include <cuda_runtime.h>

#include "chapters/13_gemm/gemm.h"

namespace gemm::hopper {

/// How the two consumer warpgroups share the work.
enum class Variant : uint8_t {
  cooperative,  // both work on one tile of 128 × 256, 64 rows each
  ping_pong,    // each has tiles of its own, 128 × 128: one multiplies while the other stores
};

/// Launches one kernel on `stream`: D in bf16 (p.out is not read), any m; n and k multiples of 8.
void launch(const Problem& p, Variant variant, cudaStream_t stream = nullptr);

/// The variant that is faster at this size (measured on an H200, notes/13_gemm.md).
Variant best_variant(uint32_t m, uint32_t n, uint32_t k);

}  // namespace gemm::hopper
