#include "common/harness/narrow_gemm.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "common/harness/nv_sum.h"
#include "common/harness/window_sum.h"

namespace gen5::harness {
namespace {

/// A code taken apart; infinities and NaNs are e4m3's and e5m2's.
Parts parts_of(Narrow format, uint8_t code) {
  const NarrowShape s = shape_of(format);
  if (format == Narrow::e5m2) return split(code, 5, 2);
  Parts p;
  const uint32_t e = code >> s.fraction & ((1u << s.exponent) - 1), f = code & ((1u << s.fraction) - 1);
  p.negative = code >> (s.bits() - 1) & 1;
  p.nan = format == Narrow::e4m3 && e == 15 && f == 7;
  p.significand = p.nan ? 0 : e ? f | 1u << s.fraction : f;
  if (p.significand) p.exponent = int(std::max(e, 1u)) - s.bias;
  return p;
}

/// Elements with the power of two of their block; both scales' exponents join the product's.
Elements elements_of(const NarrowMatrix& m) {
  std::array<Parts, 256> table;
  for (uint32_t code = 0; code < 256; ++code) table[code] = parts_of(m.format, uint8_t(code));
  return [&m, table](uint32_t row, uint32_t k) {
    Parts p = table[m.codes[size_t(row) * m.k + k]];
    if (m.scaling == Scaling::none) return p;
    const uint8_t scale = m.scales[size_t(row) * m.blocks() + k / 32];
    p.nan |= scale == 255;
    if (p.significand) p.exponent += int(scale) - 127;
    return p;
  };
}

uint8_t random_code(Narrow format, Random& r) {
  const uint32_t all = (1u << shape_of(format).bits()) - 1;
  for (;;) {
    const auto code = uint8_t(r.bits() >> 20 & all);
    if (std::isfinite(value_of(format, code))) return code;
  }
}

/// ±1 and a few last bits.
uint8_t near_one(Narrow format, Random& r) {
  const NarrowShape s = shape_of(format);
  const uint64_t u = r.bits();
  return uint8_t((u & 1) << (s.bits() - 1) | uint64_t(s.bias) << s.fraction | (u >> 8 & ((1 << s.fraction) - 1)));
}

/// Signed zeros and subnormals.
uint8_t small_code(Narrow format, Random& r) {
  const NarrowShape s = shape_of(format);
  const uint64_t u = r.bits();
  return uint8_t((u & 1) << (s.bits() - 1) | (u >> 8 & ((1 << s.fraction) - 1)));
}

uint8_t random_scale(Scaling scaling, Pattern pattern, Random& r) {
  const bool mx = scaling == Scaling::mx;
  switch (pattern) {
    case Pattern::wide: return uint8_t(mx ? 107 + r.below(41) : 1 + r.below(0x7e));
    case Pattern::subnormal: return uint8_t(mx ? 57 + r.below(20) : r.below(8));  // products around 2^-126
    case Pattern::special: return uint8_t(r.below(2000) == 0 ? (mx ? 255 : 0x7f) : (mx ? 124 : 0x28) + r.below(8));
    default: return uint8_t(mx ? 127 : 0x38);
  }
}

}  // namespace

double NarrowMatrix::scale(uint32_t row, uint32_t at) const {
  if (scaling == Scaling::none) return 1;
  const uint8_t code = scales[size_t(row) * blocks() + at / block_of(scaling)];
  return scaling == Scaling::nv ? ue4m3_value(code) : ue8m0_value(code);
}

std::vector<uint8_t> NarrowMatrix::bytes() const {
  if (format != Narrow::e2m1) return codes;
  std::vector<uint8_t> out(codes.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) out[i] = uint8_t(codes[2 * i] | codes[2 * i + 1] << 4);
  return out;
}

std::vector<uint8_t> NarrowMatrix::chunks() const {
  const uint32_t across = (rows + 127) / 128, along = chunks_along(*this);
  std::vector<uint8_t> out(size_t(across) * along * 512);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t s = 0; s < blocks(); ++s) {
      // A row of the matrix picks one of 32 lines of 16 bytes and four bytes of it; the scale, one of those.
      const uint32_t line = row % 32, word = row % 128 / 32;
      out[(size_t(row / 128) * along + s / 4) * 512 + line * 16 + word * 4 + s % 4] =
          scales[size_t(row) * blocks() + s];
    }
  return out;
}

NarrowMatrix quantise(Narrow format, Scaling scaling, uint32_t rows, uint32_t k, const std::vector<double>& numbers) {
  NarrowMatrix m{format, scaling, rows, k, {}, {}};
  m.codes.resize(numbers.size());
  const uint32_t block = scaling == Scaling::none ? k : block_of(scaling);
  if (k % block) throw std::invalid_argument("quantise: k is no multiple of a scale's block");
  const int top = int(std::floor(std::log2(shape_of(format).largest)));
  for (size_t i = 0; i < numbers.size(); i += block) {
    double by = 1;
    if (scaling != Scaling::none) {
      double largest = 0;
      for (size_t j = i; j < i + block; ++j) largest = std::max(largest, std::fabs(numbers[j]));
      if (scaling == Scaling::mx) {
        const int exponent = largest > 0 ? std::clamp(int(std::floor(std::log2(largest))) - top, -127, 127) : -127;
        m.scales.push_back(uint8_t(exponent + 127));
        by = std::ldexp(1.0, exponent);
      } else {
        m.scales.push_back(narrow_of(Narrow::e4m3, largest / shape_of(format).largest));
        by = ue4m3_value(m.scales.back());
      }
    }
    for (size_t j = i; j < i + block; ++j) m.codes[j] = by > 0 ? narrow_of(format, numbers[j] / by) : 0;
  }
  return m;
}

NarrowMatrix make_narrow(Narrow format, Scaling scaling, Pattern pattern, uint32_t rows, uint32_t k, uint64_t seed) {
  Random r(seed);
  const size_t count = size_t(rows) * k;
  if (pattern == Pattern::uniform) {
    std::vector<double> numbers(count);
    for (double& x : numbers) x = r.unit();
    return quantise(format, scaling, rows, k, numbers);
  }
  NarrowMatrix m{format, scaling, rows, k, std::vector<uint8_t>(count), {}};
  for (uint8_t& code : m.codes) {
    switch (pattern) {
      case Pattern::cancelling: code = near_one(format, r); break;
      case Pattern::subnormal: code = r.below(4) == 0 ? small_code(format, r) & 8 : small_code(format, r); break;
      case Pattern::special: code = format == Narrow::e4m3 && r.below(1000) == 0 ? 0x7f : random_code(format, r); break;
      default: code = random_code(format, r);
    }
  }
  m.scales.resize(size_t(rows) * m.blocks());
  for (uint8_t& scale : m.scales) scale = random_scale(scaling, pattern, r);
  return m;
}

std::vector<uint32_t> narrow_gemm(const NarrowMatrix& a, const NarrowMatrix& b, uint32_t m0, uint32_t n0, uint32_t rows,
                                  uint32_t columns) {
  if (a.format != b.format || a.scaling != b.scaling || a.k != b.k)
    throw std::invalid_argument("narrow_gemm: the operands are of different kinds");
  if (a.scaling == Scaling::nv) return nv_gemm(a, b, m0, n0, rows, columns);
  return window_gemm(elements_of(a), elements_of(b), a.k, 32, shape_of(a.format).fraction, m0, n0, rows, columns);
}

}  // namespace gen5::harness
