#include "projects/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "common/harness/numbers.h"
#include "projects/project.h"

namespace project {
namespace {

using Words = std::span<const uint16_t>;

double value(uint16_t word) { return gen5::harness::value_of(gen5::harness::Format::bf16, word); }

/// Σ ab, and Σ |ab|.
struct Sum {
  double exact = 0, size = 0;
};
Sum dot(Words a, Words b) {
  Sum s;
  for (size_t i = 0; i < a.size(); ++i) {
    const double p = value(a[i]) * value(b[i]);
    s.exact += p;
    s.size += std::abs(p);
  }
  return s;
}

Words row(const std::vector<uint16_t>& m, size_t r, size_t columns) { return Words(m).subspan(r * columns, columns); }

/// Throws unless `got` is within `bound` of `want`.
void near(float got, double want, double bound, const std::string& place) {
  if (std::abs(double(got) - want) <= bound) return;
  if (std::isnan(got))
    throw std::runtime_error(fmt::format(
        "{} is NaN and should be {:g}: nothing was written there, or what was read is not a number", place, want));
  throw std::runtime_error(fmt::format("{} is {:g} and should be {:g}", place, got, want));
}

/// Bits below the sum that the tensor core cuts, for each 16 products: 17 terms by 2^-25, the sum by 2^-23. Twice that
/// for sums in several parts.
double cut(size_t products) { return 2 * (double(products) / 16 + 1) * 21 * 0x1p-25; }

/// Every column if these are few, else a sample of them that differs from row to row and has the first and the last.
std::vector<uint32_t> sample(uint32_t columns, uint32_t row, uint32_t most) {
  std::vector<uint32_t> out;
  if (columns <= most) {
    for (uint32_t i = 0; i < columns; ++i) out.push_back(i);
    return out;
  }
  out = {0, columns - 1};
  for (uint32_t i = 2; i < most; ++i)
    out.push_back(uint32_t((uint64_t(row) * 2654435761u + uint64_t(i) * 40503u * 7919u) % columns));
  std::ranges::sort(out);
  return out;
}

}  // namespace

void check_gemm(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, const std::vector<float>& d, uint32_t m,
                uint32_t n, uint32_t k) {
  const double all = double(m) * n * k;
  const uint32_t columns = all <= 1e8 ? n : std::max(4u, uint32_t(1e8 / (double(m) * k)));
  for (uint32_t r = 0; r < m; ++r)
    for (const uint32_t c : sample(n, r, columns)) {
      const Sum s = dot(row(a, r, k), row(b, c, k));
      near(d[size_t(r) * n + c], s.exact, cut(k) * s.size, fmt::format("d[{}][{}]", r, c));
    }
}

void check_mlp(const std::vector<uint16_t>& x, const std::vector<uint16_t>& up, const std::vector<uint16_t>& down,
               const std::vector<float>& y, uint32_t tokens, uint32_t hidden) {
  constexpr uint32_t kModel = Mlp::kModel;
  // Of many rows every so many: the rows of a tile are computed alike.
  const uint32_t step = std::max(1u, uint32_t(double(tokens) * hidden * kModel / 5e7));
  std::vector<double> h(hidden);
  for (uint32_t t = 0; t < tokens; t = t + 1 == tokens ? tokens : std::min(t + step, tokens - 1)) {
    for (uint32_t j = 0; j < hidden; ++j)
      h[j] = value(gen5::harness::bf16_of(float(std::max(0.0, dot(row(x, t, kModel), row(up, j, kModel)).exact))));
    for (uint32_t c = 0; c < kModel; ++c) {
      double sum = 0, squares = 0;
      for (uint32_t j = 0; j < hidden; ++j) {
        const double p = h[j] * value(down[size_t(c) * hidden + j]);
        sum += p;
        squares += p * p;
      }
      // A hidden number may be rounded to the other neighbour: 2^-8 of it, and these errors are independent.
      near(y[size_t(t) * kModel + c], sum, 8 * 0x1p-9 * std::sqrt(squares) + 1e-3, fmt::format("y[{}][{}]", t, c));
    }
  }
}

void check_decode(const std::vector<uint16_t>& q, const std::vector<uint16_t>& k, const std::vector<uint16_t>& v,
                  const std::vector<uint32_t>& lengths, const std::vector<float>& o, uint32_t heads, uint32_t most) {
  constexpr uint32_t kDim = Decode::kDim, kGroup = Decode::kGroup;
  for (size_t h = 0; h < lengths.size() * heads; ++h) {
    const uint32_t length = lengths[h / heads];
    std::vector<double> w(length);
    for (uint32_t g = 0; g < kGroup; ++g) {
      double largest = -INFINITY, sum = 0;
      for (uint32_t i = 0; i < length; ++i) {
        w[i] = dot(row(q, h * kGroup + g, kDim), row(k, h * most + i, kDim)).exact / std::sqrt(double(kDim));
        largest = std::max(largest, w[i]);
      }
      for (double& x : w) sum += x = std::exp(x - largest);
      double want[kDim] = {}, squares[kDim] = {};
      for (uint32_t i = 0; i < length; ++i)
        for (uint32_t c = 0; c < kDim; ++c) {
          const double p = w[i] / sum * value(v[(h * most + i) * kDim + c]);
          want[c] += p;
          squares[c] += p * p;
        }
      for (uint32_t c = 0; c < kDim; ++c)
        near(o[(h * kGroup + g) * kDim + c], want[c], 8 * 0x1p-9 * std::sqrt(squares[c]) + 1e-4,
             fmt::format("o[sequence {}][head {}][query {}][{}]", h / heads, h % heads, g, c));
    }
  }
}

}  // namespace project
