// Products of fp8 matrices with the bits of Hopper's tensor cores, without a kernel: for stand-ins of libraries.
#pragma once
#include <cstdint>

namespace tinygpu::api {

/// Rows of `depth` codes, one after the other.
struct Fp8Rows {
  const uint8_t* codes = nullptr;
  uint32_t rows = 0;
  bool e5m2 = false;  // else e4m3
};

/// D (f32, a.rows by b.rows) = A times B transposed, as a chain of wgmma.mma_async sums it. After each `promoted`
/// elements of K, a multiple of 32, the chain's sum is added to an f32, and the next one begins; 0: one chain.
void hopper_product(const Fp8Rows& a, const Fp8Rows& b, uint32_t depth, uint32_t promoted, float* d);

}  // namespace tinygpu::api
