#include "common/tinygpu/api/matrix_products.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu::api {
namespace {

using numerics::Format;
using numerics::kPlane;

constexpr uint32_t kRows = numerics::kMaxRows, kColumns = numerics::kMaxColumns, kStepBytes = 32;

Format format(Element e) {
  return e == Element::e4m3   ? Format::e4m3
         : e == Element::e5m2 ? Format::e5m2
         : e == Element::f16  ? Format::f16
                              : Format::bf16;
}
bool is_wide(Element e) { return e == Element::f16 || e == Element::bf16; }

/// Planes of all steps of K, zeros behind the last row and the last element.
template <class T>
void fill(const Rows& m, uint32_t first, uint32_t most, uint32_t depth, std::vector<uint8_t>& out) {
  const T* from = static_cast<const T*>(m.elements);
  T* to = reinterpret_cast<T*>(out.data());
  for (uint32_t r = 0; r < std::min(most, m.rows - first); ++r)
    for (uint32_t k = 0; k < depth; ++k) to[size_t(k) * kPlane + r] = from[size_t(first + r) * depth + k];
}
std::vector<uint8_t> planes(const Rows& m, uint32_t first, uint32_t most, uint32_t depth, uint32_t steps) {
  std::vector<uint8_t> out(size_t(steps) * kStepBytes * kPlane);
  is_wide(m.element) ? fill<uint16_t>(m, first, most, depth, out) : fill<uint8_t>(m, first, most, depth, out);
  return out;
}

}  // namespace

void tensor_core_product(const Rows& a, const Rows& b, uint32_t depth, uint32_t promoted, float* d) {
  const uint32_t step = kStepBytes / (is_wide(a.element) ? 2 : 1);
  const uint32_t steps = (depth + step - 1) / step, chain = promoted ? promoted / step : steps;
  std::vector<uint32_t> sums(size_t(kRows) * kColumns);
  numerics::MmaTile t;
  t.rule = is_wide(a.element) ? numerics::kSumF32 : numerics::kSumHopperFp8;
  t.a_format = format(a.element);
  t.b_format = format(b.element);
  t.terms = step;
  t.d = sums.data();
  t.column_stride = kRows;
  for (uint32_t i = 0; i < kRows / 16; ++i) t.lane[i] = 16 * i;
  for (uint32_t column = 0; column < b.rows; column += kColumns) {
    t.columns = uint32_t(align_up(std::min(kColumns, b.rows - column), 8));
    const std::vector<uint8_t> right = planes(b, column, kColumns, depth, steps);
    for (uint32_t row = 0; row < a.rows; row += kRows) {
      t.rows = uint32_t(align_up(std::min(kRows, a.rows - row), 16));
      const std::vector<uint8_t> left = planes(a, row, kRows, depth, steps);
      const auto each = [&](auto&& f) {
        for (uint32_t r = 0; r < std::min(kRows, a.rows - row); ++r)
          for (uint32_t c = 0; c < std::min(kColumns, b.rows - column); ++c)
            f(d[size_t(row + r) * b.rows + column + c], std::bit_cast<float>(sums[size_t(c) * kRows + r]));
      };
      std::ranges::fill(sums, 0);
      each([](float& to, float zero) { to = zero; });
      alignas(64) uint8_t step_a[kStepBytes * kPlane], step_b[kStepBytes * kPlane];
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
