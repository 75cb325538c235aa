// Products of matrices with the bits of tensor cores, without a kernel: for stand-ins of libraries.
#pragma once
#include <cstdint>

namespace tinygpu::api {

/// fp8 sums as Hopper's tensor cores do, in 14 bits; f16 and bf16 as Hopper's and Blackwell's do.
enum class Element : uint8_t { e4m3, e5m2, f16, bf16 };

/// Rows of `depth` elements, one after the other.
struct Rows {
  const void* elements = nullptr;
  uint32_t rows = 0;
  Element element = Element::e4m3;
};

/// D (f32, a.rows by b.rows) = A times B transposed, as a chain of MMAs sums it, 32 bytes of K each. After each
/// `promoted` elements of K, a multiple of 32, the chain's sum is added to an f32, and the next one begins; 0: one
/// chain. Elements of both have one width.
void tensor_core_product(const Rows& a, const Rows& b, uint32_t depth, uint32_t promoted, float* d);

}  // namespace tinygpu::api
