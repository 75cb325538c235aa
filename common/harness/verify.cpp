#include "common/harness/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "common/harness/clones.h"
#include "common/harness/inputs.h"
#include "common/harness/parallel.h"
#include "common/harness/table.h"

namespace gen5::harness {
namespace {

double value_of_output(Output output, uint32_t bits) {
  return std::bit_cast<float>(output == Output::bf16 ? bits << 16 : bits);
}

/// What subnormal results lose whatever their operands: a last place of f32 a step, and one of bf16 at the end.
double smallest_error(const Product& in, Output output) {
  return in.steps * 0x1p-148 + (output == Output::bf16 ? 0x1p-133 : 0);
}
double error_factor(const Product& in) { return in.steps * in.step_error; }

/// Σ ab and Σ |ab| of one row of A with eight rows of B (k doubles each, kept in columns: b[i * 8 + j]).
GEN5_CLONES void dot8(const double* a, const double* b, uint32_t k, double* sum, double* magnitude) {
  double s[8] = {}, m[8] = {};
  for (uint32_t i = 0; i < k; ++i)
    for (int j = 0; j < 8; ++j) {
      const double p = a[i] * b[i * 8 + j];
      s[j] += p;
      m[j] += std::fabs(p);
    }
  std::copy_n(s, 8, sum);
  std::copy_n(m, 8, magnitude);
}

}  // namespace

Product product_of(const GemmInputs& in) {
  const auto row_of = [in](const uint16_t* words) {
    return [in, words](uint32_t row, double* values) {
      for (uint32_t i = 0; i < in.k; ++i) values[i] = value_of(in.format, words[size_t(row) * in.k + i]);
    };
  };
  return {.m = in.m,
          .n = in.n,
          .k = in.k,
          .bits = [in](uint32_t m0, uint32_t n0, uint32_t rows,
                       uint32_t columns) { return fused_gemm(in, m0, n0, rows, columns); },
          .a = row_of(in.a),
          .b = row_of(in.b),
          .steps = (in.k + 15) / 16,
          .step_error = 21 * 0x1p-25};
}

Product product_of(const NarrowMatrix& a, const NarrowMatrix& b) {
  const auto row_of = [](const NarrowMatrix& m) {
    return [&m](uint32_t row, double* values) {
      for (uint32_t i = 0; i < m.k; ++i) values[i] = m.value(row, i);
    };
  };
  const bool nv = a.scaling == Scaling::nv;
  return {.m = a.rows,
          .n = b.rows,
          .k = a.k,
          .bits = [&a, &b](uint32_t m0, uint32_t n0, uint32_t rows,
                           uint32_t columns) { return narrow_gemm(a, b, m0, n0, rows, columns); },
          .a = row_of(a),
          .b = row_of(b),
          .steps = nv ? (a.k + 63) / 64 : (a.k + 31) / 32,
          .step_error = nv ? 0x1p-23 + 17 * 0x1p-33 : 37 * 0x1p-25};
}

Product remembering(Product product) {
  struct Kept {
    std::mutex mutex;
    std::map<std::array<uint32_t, 4>, std::vector<uint32_t>> windows;
    size_t words = 0;
  };
  constexpr size_t kMostWords = 16 << 20;
  product.bits = [compute = std::move(product.bits), kept = std::make_shared<Kept>()](uint32_t m0, uint32_t n0,
                                                                                      uint32_t rows, uint32_t columns) {
    std::lock_guard lock(kept->mutex);
    const std::array window{m0, n0, rows, columns};
    if (const auto found = kept->windows.find(window); found != kept->windows.end()) return found->second;
    std::vector<uint32_t> bits = compute(m0, n0, rows, columns);
    if (kept->words + bits.size() <= kMostWords) {
      kept->words += bits.size();
      kept->windows.emplace(window, bits);
    }
    return bits;
  };
  return product;
}

std::string Comparison::describe(Output output) const {
  if (equal()) return fmt::format("{} words, all equal", with_commas(compared));
  const int digits = output == Output::bf16 ? 4 : 8;
  return fmt::format(
      "{} of {} words differ; the first at row {}, column {}: got 0x{:0{}x} ({:.9g}), want 0x{:0{}x} ({:.9g})",
      with_commas(different), with_commas(compared), row, column, got, digits, value_of_output(output, got), want,
      digits, value_of_output(output, want));
}

Comparison compare_bits(const Product& in, Output output, const std::vector<uint32_t>& d, uint32_t m0, uint32_t n0,
                        uint32_t rows, uint32_t columns) {
  const std::vector<uint32_t> want = in.bits(m0, n0, rows, columns);
  Comparison c;
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t j = 0; j < columns; ++j) {
      const uint32_t w = want[size_t(r) * columns + j];
      const uint32_t expected = output == Output::bf16 ? bf16_of(std::bit_cast<float>(w)) : w;
      const uint32_t got = d[size_t(m0 + r) * in.n + n0 + j];
      ++c.compared;
      if (got == expected) continue;
      if (c.different++ == 0) {
        c.row = m0 + r;
        c.column = n0 + j;
        c.got = got;
        c.want = expected;
      }
    }
  return c;
}

std::string Bound::describe() const {
  return fmt::format("{} checked, {} outside, largest error {:.1f} % of its bound", with_commas(checked),
                     with_commas(outside), worst * 100);
}

void Bound::look_at(uint64_t at_row, uint64_t at_column, double is, double should_be, double allowed) {
  const double error = std::fabs(is - should_be);
  Bound one{.checked = 1, .row = at_row, .column = at_column, .got = is, .want = should_be};
  one.outside = !(error <= allowed);
  if (allowed > 0) one.worst = error / allowed;
  *this += one;
}

Bound& Bound::operator+=(const Bound& o) {
  if (o.outside && (!outside || std::tie(o.row, o.column) < std::tie(row, column))) {
    row = o.row;
    column = o.column;
    got = o.got;
    want = o.want;
  }
  checked += o.checked;
  outside += o.outside;
  worst = std::max(worst, o.worst);
  return *this;
}

Bound check_float64(const Product& in, Output output, const std::vector<uint32_t>& d) {
  std::vector<double> a(size_t(in.m) * in.k);
  for_all(in.m, [&](uint32_t row) { in.a(row, &a[size_t(row) * in.k]); });
  Bound total;
  std::mutex mutex;
  for_all((in.n + 7) / 8, [&](uint32_t group) {
    const uint32_t n0 = group * 8, count = std::min(8u, in.n - n0);
    std::vector<double> b(size_t(in.k) * 8), row(in.k);
    for (uint32_t j = 0; j < count; ++j) {
      in.b(n0 + j, row.data());
      for (uint32_t i = 0; i < in.k; ++i) b[size_t(i) * 8 + j] = row[i];
    }
    Bound mine;
    double sum[8], magnitude[8];
    for (uint32_t r = 0; r < in.m; ++r) {
      dot8(&a[size_t(r) * in.k], b.data(), in.k, sum, magnitude);
      for (uint32_t j = 0; j < count; ++j) {
        const double got = value_of_output(output, d[size_t(r) * in.n + n0 + j]);
        const double bound = error_factor(in) * magnitude[j] + smallest_error(in, output) +
                             (output == Output::bf16 ? std::fabs(sum[j]) * 0x1.01p-8 : 0);
        mine.look_at(r, n0 + j, got, sum[j], bound);
      }
    }
    const std::lock_guard lock(mutex);
    total += mine;
  });
  return total;
}

Bound check_row_sums(const Product& in, Output output, const std::vector<uint32_t>& d, int vectors, uint64_t seed) {
  Bound total;
  std::mutex mutex;
  for (int v = 0; v < vectors; ++v) {
    Random random(seed + uint64_t(v));
    std::vector<double> x(in.n);
    for (double& e : x) e = random.bits() & 1 ? 1 : -1;
    // Bᵀ·x and |B|ᵀ·1, by blocks of rows of B.
    std::vector<double> bx(in.k), b1(in.k);
    for_all((in.n + 255) / 256, [&](uint32_t block) {
      std::vector<double> s(in.k), m(in.k), b(in.k);
      for (uint32_t j = block * 256; j < std::min(in.n, (block + 1) * 256); ++j) {
        in.b(j, b.data());
        for (uint32_t i = 0; i < in.k; ++i) {
          s[i] += b[i] * x[j];
          m[i] += std::fabs(b[i]);
        }
      }
      const std::lock_guard lock(mutex);
      for (uint32_t i = 0; i < in.k; ++i) bx[i] += s[i], b1[i] += m[i];
    });
    for_all(in.m, [&](uint32_t r) {
      double want = 0, magnitude = 0, got = 0, size = 0;
      std::vector<double> a(in.k);
      in.a(r, a.data());
      for (uint32_t i = 0; i < in.k; ++i) {
        want += a[i] * bx[i];
        magnitude += std::fabs(a[i]) * b1[i];
      }
      for (uint32_t j = 0; j < in.n; ++j) {
        const double e = value_of_output(output, d[size_t(r) * in.n + j]);
        got += e * x[j];
        size += std::fabs(e);
      }
      // The doubles of this check round too: n + k terms, relative 2^-53 each.
      const double bound = (error_factor(in) + (in.n + in.k) * 0x1p-52) * magnitude +
                           in.n * smallest_error(in, output) + (output == Output::bf16 ? size * 0x1.01p-8 : 0);
      const std::lock_guard lock(mutex);
      total.look_at(r, 0, got, want, bound);
    });
  }
  return total;
}

}  // namespace gen5::harness
