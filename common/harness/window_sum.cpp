#include "common/harness/window_sum.h"

#include <oneapi/tbb/blocked_range2d.h>

#include <algorithm>
#include <bit>

#include "common/harness/clones.h"
#include "common/harness/parallel.h"

namespace gen5::harness {
namespace {

constexpr int kWindow = 25;  // fraction bits kept below the largest exponent
// ---- The fast path: eight or sixteen columns at a time, 32-bit integers

/// Columns of B that one block holds, unpacked: for each k a row of signed significands and of exponents.
constexpr uint32_t kColumns = 64;
/// Rows of A that are unpacked together: for all columns of a thread's part.
constexpr uint32_t kRows = 256;

/// Exponent given to a zero in the fast path; far below every real sum, and its products' shift counts stay in range.
constexpr int kZeroExponent = -10000;

struct Unpacked {
  std::vector<int32_t> significand, exponent;  // [k][kColumns]
  bool finite = true;
};

Unpacked unpack(const Elements& from, uint32_t first, uint32_t count, uint32_t k, uint32_t k_padded) {
  Unpacked u;
  u.significand.assign(size_t(k_padded) * kColumns, 0);
  u.exponent.assign(size_t(k_padded) * kColumns, kZeroExponent);
  for (uint32_t c = 0; c < count; ++c)
    for (uint32_t i = 0; i < k; ++i) {
      const Parts p = from(first + c, i);
      if (p.nan || p.infinite) u.finite = false;
      u.significand[size_t(i) * kColumns + c] = p.negative ? -int32_t(p.significand) : int32_t(p.significand);
      if (p.significand) u.exponent[size_t(i) * kColumns + c] = p.exponent;
    }
  return u;
}

/// Rows of A, each padded.
struct UnpackedRows {
  uint32_t padded;
  std::vector<int32_t> significand = std::vector<int32_t>(size_t(kRows) * padded),
                       exponent = std::vector<int32_t>(size_t(kRows) * padded, kZeroExponent);
  std::vector<bool> finite = std::vector<bool>(kRows);

  explicit UnpackedRows(uint32_t of) : padded(of) {}
  void unpack(const Elements& from, uint32_t first, uint32_t count, uint32_t k) {
    for (uint32_t r = 0; r < count; ++r) {
      bool all_finite = true;
      for (uint32_t i = 0; i < k; ++i) {
        const Parts p = from(first + r, i);
        all_finite &= !p.nan && !p.infinite;
        significand[size_t(r) * padded + i] = p.negative ? -int32_t(p.significand) : int32_t(p.significand);
        exponent[size_t(r) * padded + i] = p.significand ? p.exponent : kZeroExponent;
      }
      finite[r] = all_finite;
    }
  }
};

/// One step for kColumns columns. Returns false if some column needs the slow path: its exponents are near the ends of
/// f32. All terms of a column: magnitudes below 2^27 after alignment, so eight of them and C stay below 2^31: partial
/// sums of eight are added as doubles.
[[gnu::always_inline]] inline bool step_of(int depth, const int32_t* a_sig, const int32_t* a_exp, const int32_t* b_sig,
                                           const int32_t* b_exp, int product_shift, uint32_t* c) {
  alignas(64) int32_t largest[kColumns], sum[kColumns], c_sig[kColumns], c_exp[kColumns];
  alignas(64) double exact[kColumns];
  int32_t unfit = 0;
  for (uint32_t j = 0; j < kColumns; ++j) {
    const auto bits = int32_t(c[j]);
    const int32_t e = (bits >> 23) & 255, f = bits & 0x7fffff;
    unfit |= (e == 255) | (e == 0 && f != 0);
    const int32_t magnitude = e ? f | 0x800000 : 0;
    c_sig[j] = bits < 0 ? -magnitude : magnitude;
    c_exp[j] = e ? e - 127 : kZeroExponent;
    largest[j] = c_exp[j];
  }
  for (int i = 0; i < depth; ++i)
    for (uint32_t j = 0; j < kColumns; ++j) largest[j] = std::max(largest[j], a_exp[i] + b_exp[i * kColumns + j]);
  for (uint32_t j = 0; j < kColumns; ++j) {
    const int32_t top = largest[j];
    // Anything between here and kZeroExponent is near f32's ends; sums of zeros stay on this path.
    unfit |= (top > 100) | (top < -90 && top > kZeroExponent / 2);
    const uint32_t magnitude = uint32_t(std::abs(c_sig[j])) << (kWindow - 23);
    const auto cut = int32_t(magnitude >> std::min(top - c_exp[j], 31));
    exact[j] = c_sig[j] < 0 ? -cut : cut;
  }
  for (int first = 0; first < depth; first += 8) {
    std::fill_n(sum, kColumns, 0);
    for (int i = first; i < first + 8; ++i)
      for (uint32_t j = 0; j < kColumns; ++j) {
        const int32_t product = a_sig[i] * b_sig[i * kColumns + j];
        const uint32_t magnitude = uint32_t(std::abs(product)) << product_shift;
        const auto cut = int32_t(magnitude >> std::min(largest[j] - (a_exp[i] + b_exp[i * kColumns + j]), 31));
        sum[j] += product < 0 ? -cut : cut;
      }
    for (uint32_t j = 0; j < kColumns; ++j) exact[j] += sum[j];
  }
  if (unfit) return false;
  for (uint32_t j = 0; j < kColumns; ++j) {
    // Dropping the low 29 fraction bits of the exact sum cuts it toward zero to f32's 24.
    const uint64_t cut = std::bit_cast<uint64_t>(exact[j]) & ~uint64_t(0x1fffffff);
    const double scale = std::bit_cast<double>(uint64_t(std::max(largest[j] - kWindow, -900) + 1023) << 52);
    const float f = float(std::bit_cast<double>(cut) * scale);
    c[j] = f == 0 ? 0 : std::bit_cast<uint32_t>(f);
  }
  return true;
}

/// The same. What depths there are is known to the compiler, which then keeps a column's numbers in registers: five
/// times as fast.
GEN5_CLONES bool step_columns(const int32_t* a_sig, const int32_t* a_exp, const int32_t* b_sig, const int32_t* b_exp,
                              int depth, int product_shift, uint32_t* c) {
  if (depth == 8) return step_of(8, a_sig, a_exp, b_sig, b_exp, product_shift, c);
  if (depth == 16) return step_of(16, a_sig, a_exp, b_sig, b_exp, product_shift, c);
  if (depth == 32) return step_of(32, a_sig, a_exp, b_sig, b_exp, product_shift, c);
  return step_of(depth, a_sig, a_exp, b_sig, b_exp, product_shift, c);
}

}  // namespace

Parts split(uint32_t bits, int exponent_bits, int fraction) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t e = (bits >> fraction) & ((1u << exponent_bits) - 1), f = bits & ((1u << fraction) - 1);
  Parts p;
  p.negative = (bits >> (exponent_bits + fraction)) & 1;
  if (e == (1u << exponent_bits) - 1) {
    (f ? p.nan : p.infinite) = true;
  } else if (e) {
    p.significand = f | 1u << fraction;
    p.exponent = int(e) - bias;
  } else if (f) {
    p.significand = f;
    p.exponent = 1 - bias;
  }
  return p;
}

uint32_t to_f32(__int128 sum, int last) {
  if (sum == 0) return 0;
  const uint32_t sign = sum < 0 ? 0x80000000u : 0;
  unsigned __int128 u = sum < 0 ? -sum : sum;
  int top = 0;  // exponent of the leading bit
  for (unsigned __int128 v = u; v >>= 1;) ++top;
  const int exponent = top + last;
  if (exponent > 127) return sign | 0x7f800000;
  const int quantum = std::max(exponent, -126) - 23;  // exponent of f32's last place here
  const int shift = quantum - last;
  u = shift > 0 ? (shift > 120 ? 0 : u >> shift) : u << -shift;
  if (u == 0) return 0;
  const uint32_t significand = uint32_t(u);
  return sign | (significand >> 23 ? uint32_t(exponent + 127) << 23 | (significand & 0x7fffff) : significand);
}

uint32_t window_sum(std::span<const Parts> xs, std::span<const Parts> ys, int fraction, uint32_t c, bool accumulate) {
  struct Term {
    bool negative;
    uint64_t magnitude;
    int exponent, fraction;
  };
  std::vector<Term> terms;
  bool nan = false, plus = false, minus = false;
  const auto add_infinity = [&](bool negative) { (negative ? minus : plus) = true; };
  for (size_t i = 0; i < xs.size(); ++i) {
    const Parts &x = xs[i], &y = ys[i];
    if (x.nan || y.nan || (x.infinite && !y.infinite && !y.significand) ||
        (y.infinite && !x.infinite && !x.significand)) {
      nan = true;
    } else if (x.infinite || y.infinite) {
      add_infinity(x.negative != y.negative);
    } else if (x.significand && y.significand) {
      terms.push_back(
          {x.negative != y.negative, uint64_t(x.significand) * y.significand, x.exponent + y.exponent, 2 * fraction});
    }
  }
  if (accumulate) {
    const Parts z = split(c, 8, 23);
    if (z.nan) nan = true;
    if (z.infinite) add_infinity(z.negative);
    if (z.significand) terms.push_back({z.negative, z.significand, z.exponent, 23});
  }
  if (nan || (plus && minus)) return kCanonicalNan;
  if (plus || minus) return plus ? 0x7f800000 : 0xff800000;
  int largest = kNoTerm;
  for (const Term& t : terms) largest = std::max(largest, t.exponent);
  // The window's floor, measured on an H200: it never lies below that of 2^-133.
  largest = std::max(largest, -133);
  const int last = largest - kWindow;
  __int128 sum = 0;
  for (const Term& t : terms) {
    const int shift = t.exponent - t.fraction - last;  // magnitude · 2^(exponent − fraction) in units of 2^last
    const unsigned __int128 m = t.magnitude;
    const __int128 cut = __int128(shift >= 0 ? m << shift : (shift < -100 ? 0 : m >> -shift));
    sum += t.negative ? -cut : cut;
  }
  return to_f32(sum, last);
}

std::vector<uint32_t> window_gemm(const Elements& a, const Elements& b, uint32_t k, uint32_t depth, int fraction,
                                  uint32_t m0, uint32_t n0, uint32_t rows, uint32_t columns) {
  std::vector<uint32_t> out(size_t(rows) * columns);
  const uint32_t padded = (k + depth - 1) / depth * depth;
  // A product has twice the fraction bits; aligned to its own exponent it has kWindow.
  const int product_shift = kWindow - 2 * fraction;
  using Range = oneapi::tbb::blocked_range2d<uint32_t>;
  for_parts(Range(0, columns, kColumns, 0, rows, kRows), [&](const Range& range) {
    UnpackedRows left(padded);
    std::vector<Parts> of_row(depth), of_column(depth);
    for (uint32_t r0 = range.cols().begin(); r0 < range.cols().end(); r0 += kRows) {
      const uint32_t nr = std::min(kRows, range.cols().end() - r0);
      left.unpack(a, m0 + r0, nr, k);
      for (uint32_t c0 = range.rows().begin(); c0 < range.rows().end(); c0 += kColumns) {
        const uint32_t nc = std::min(kColumns, range.rows().end() - c0);
        const Unpacked right = unpack(b, n0 + c0, nc, k, padded);
        for (uint32_t r = 0; r < nr; ++r) {
          const bool finite = right.finite && left.finite[r];
          alignas(64) uint32_t c[kColumns] = {};
          for (uint32_t i = 0; i < padded; i += depth) {
            const size_t in_a = size_t(r) * padded + i, in_b = size_t(i) * kColumns;
            alignas(64) uint32_t before[kColumns];
            std::copy_n(c, kColumns, before);
            if (finite && step_columns(&left.significand[in_a], &left.exponent[in_a], &right.significand[in_b],
                                       &right.exponent[in_b], int(depth), product_shift, c))
              continue;
            for (uint32_t t = 0; t < depth; ++t) of_row[t] = i + t < k ? a(m0 + r0 + r, i + t) : Parts{};
            for (uint32_t j = 0; j < nc; ++j) {
              for (uint32_t t = 0; t < depth; ++t) of_column[t] = i + t < k ? b(n0 + c0 + j, i + t) : Parts{};
              c[j] = window_sum(of_row, of_column, fraction, before[j], i > 0);
            }
          }
          std::copy_n(c, nc, &out[size_t(r0 + r) * columns + c0]);
        }
      }
    }
  });
  return out;
}

}  // namespace gen5::harness
