// The sums of tcgen05.mma's kind mxf4nvf4 with a ue4m3 scale for 16 elements (notes/evidence.md). Shares nothing with
// tinygpu.
#pragma once
#include <cstdint>
#include <vector>

#include "common/harness/narrow_gemm.h"

namespace gen5::harness {

/// f32 bits of a window of A·Bᵀ, as narrow_gemm has them; both are e2m1 with Scaling::nv.
std::vector<uint32_t> nv_gemm(const NarrowMatrix& a, const NarrowMatrix& b, uint32_t m0, uint32_t n0, uint32_t rows,
                              uint32_t columns);

}  // namespace gen5::harness
