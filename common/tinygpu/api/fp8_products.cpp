#include "common/tinygpu/api/fp8_products.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu::api {
namespace {

using numerics::kPlane;

constexpr uint32_t kRows = numerics::kMaxRows, kColumns = numerics::kMaxColumns, kDepth = 32;

/// Planes of all steps of K, zeros behind the last row and the last element.
std::vector<uint8_t> planes(const Fp8Rows& m, uint32_t first, uint32_t most, uint32_t depth) {
  const uint32_t steps = (depth + kDepth - 1) / kDepth;
  std::vector<uint8_t> out(size_t(steps) * kDepth * kPlane + 63);
  for (uint32_t r = 0; r < std::min(most, m.rows - first); ++r)
    for (uint32_t k = 0; k < depth; ++k) out[size_t(k) * kPlane + r] = m.codes[size_t(first + r) * depth + k];
  return out;
}

}  // namespace

void hopper_product(const Fp8Rows& a, const Fp8Rows& b, uint32_t depth, uint32_t promoted, float* d) {
  const auto format = [](bool e5m2) { return e5m2 ? numerics::Format::e5m2 : numerics::Format::e4m3; };
  const uint32_t steps = (depth + kDepth - 1) / kDepth, chain = promoted ? promoted / kDepth : steps;
  std::vector<uint32_t> sums(size_t(kRows) * kColumns);
  numerics::MmaTile t;
  t.rule = numerics::kSumHopperFp8;
  t.a_format = format(a.e5m2);
  t.b_format = format(b.e5m2);
  t.rows = kRows;
  t.columns = kColumns;
  t.terms = kDepth;
  t.d = sums.data();
  t.column_stride = kRows;
  for (uint32_t i = 0; i < kRows / 16; ++i) t.lane[i] = 16 * i;
  for (uint32_t column = 0; column < b.rows; column += kColumns) {
    const std::vector<uint8_t> right = planes(b, column, kColumns, depth);
    for (uint32_t row = 0; row < a.rows; row += kRows) {
      const std::vector<uint8_t> left = planes(a, row, kRows, depth);
      const auto each = [&](auto&& f) {
        for (uint32_t r = 0; r < std::min(kRows, a.rows - row); ++r)
          for (uint32_t c = 0; c < std::min(kColumns, b.rows - column); ++c)
            f(d[size_t(row + r) * b.rows + column + c], std::bit_cast<float>(sums[size_t(c) * kRows + r]));
      };
      std::ranges::fill(sums, 0);
      each([](float& to, float zero) { to = zero; });
      alignas(64) uint8_t step_a[kDepth * kPlane], step_b[kDepth * kPlane];
      t.a = step_a;
      t.b = step_b;
      for (uint32_t k = 0; k < steps; ++k) {
        std::memcpy(step_a, left.data() + size_t(k) * sizeof step_a, sizeof step_a);
        std::memcpy(step_b, right.data() + size_t(k) * sizeof step_b, sizeof step_b);
        t.read_c = k % chain > 0;
        numerics::mma(t);
        if ((k + 1) % chain == 0 || k + 1 == steps) each([](float& to, float sum) { to += sum; });
      }
    }
  }
}

}  // namespace tinygpu::api
