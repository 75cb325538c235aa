// The reference for the tensor core's arithmetic, written from its description (notes/evidence.md) with integers, and
// apart from tinygpu's own: where the two agree, they agree about the rule.
//
// One step of an MMA (16 products for f16 and bf16, 8 for tf32) and the old accumulator are one sum: every term is cut
// toward zero to 25 bits below the largest exponent, the cut terms are added exactly, the sum is cut to f32.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/harness/numbers.h"

namespace gen5::harness {

/// Products in one step.
constexpr uint32_t step_depth(Format f) { return f == Format::tf32 ? 8 : 16; }

/// One step: c + Σ a[i]·b[i] as f32 bits. `accumulate` false leaves c out. Any operands; slow.
uint32_t fused_step(Format format, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c,
                    bool accumulate);

/// C = A·Bᵀ of 16-bit words: A is m × k, B is n × k, both row-major with k contiguous.
struct GemmInputs {
  Format format = Format::bf16;
  uint32_t m = 0, n = 0, k = 0;
  const uint16_t* a = nullptr;
  const uint16_t* b = nullptr;
};

/// f32 bits of rows [m0, m0 + rows) × columns [n0, n0 + columns), row-major, steps along K in order. On all cores.
std::vector<uint32_t> fused_gemm(const GemmInputs& in, uint32_t m0, uint32_t n0, uint32_t rows, uint32_t columns);
inline std::vector<uint32_t> fused_gemm(const GemmInputs& in) { return fused_gemm(in, 0, 0, in.m, in.n); }

}  // namespace gen5::harness
