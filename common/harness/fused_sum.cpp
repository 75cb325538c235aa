#include "common/harness/fused_sum.h"

#include "common/harness/window_sum.h"

namespace gen5::harness {
namespace {

Parts parts_of(Format format, uint32_t bits) {
  if (format == Format::f16) return split(bits & 0xffff, 5, 10);
  if (format == Format::bf16) return split(bits & 0xffff, 8, 7);
  return split(bits >> 13, 8, 10);
}

}  // namespace

uint32_t fused_step(Format format, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c,
                    bool accumulate) {
  std::vector<Parts> x, y;
  for (const uint32_t word : a) x.push_back(parts_of(format, word));
  for (const uint32_t word : b) y.push_back(parts_of(format, word));
  return window_sum(x, y, fraction_bits(format), c, accumulate);
}

std::vector<uint32_t> fused_gemm(const GemmInputs& in, uint32_t m0, uint32_t n0, uint32_t rows, uint32_t columns) {
  const auto side = [&](const uint16_t* words) -> Elements {
    return [&in, words](uint32_t row, uint32_t k) { return parts_of(in.format, words[size_t(row) * in.k + k]); };
  };
  return window_gemm(side(in.a), side(in.b), in.k, 16, fraction_bits(in.format), m0, n0, rows, columns);
}

}  // namespace gen5::harness
