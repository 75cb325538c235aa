#include "tests/mma/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace gen5::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Shape {
  int exponent_bits, fraction_bits;
  int emin() const { return 2 - (1 << (exponent_bits - 1)); }
};

Shape shape_of(Type t) {
  switch (t) {
    case Type::f16: return {5, 10};
    case Type::bf16: return {8, 7};
    case Type::tf32: return {8, 10};
    case Type::e4m3: return {4, 3};
    case Type::e5m2: return {5, 2};
    case Type::e2m3: return {2, 3};
    case Type::e3m2: return {3, 2};
    case Type::e2m1: return {2, 1};
    case Type::s8:
    case Type::u8: break;
  }
  return {};
}

double decode(Shape s, uint32_t bits) {
  const int top = (1 << s.exponent_bits) - 1;
  const int field = int(bits >> s.fraction_bits) & top;
  const double fraction = double(bits & ((1u << s.fraction_bits) - 1)) / (1 << s.fraction_bits);
  const double sign = bits >> (s.exponent_bits + s.fraction_bits) & 1 ? -1.0 : 1.0;
  if (field == top) return fraction != 0 ? std::nan("") : sign * kInf;
  return sign * (field ? std::ldexp(1 + fraction, field + s.emin() - 1) : std::ldexp(fraction, s.emin()));
}

/// The exponent that the encoding has: a subnormal's is the smallest normal's.
int raw_exponent(double x, int emin) { return std::max(std::ilogb(x), emin); }

uint32_t float_toward_zero(double x) {
  float f = float(x);
  if (std::fabs(double(f)) > std::fabs(x)) f = std::nextafterf(f, 0.0f);
  // A finite sum that f32 cannot hold overflows to infinity.
  if (std::fabs(x) >= std::ldexp(1.0, 128))
    f = x < 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  return f == 0 ? 0 : std::bit_cast<uint32_t>(f);
}

uint32_t half_nearest(double x) {
  if (x == 0) return 0;
  const uint32_t sign = x < 0 ? 0x8000 : 0;
  const double m = std::fabs(x);
  const int e = std::max(std::ilogb(m), -14);
  const double ulps = std::nearbyint(std::ldexp(m, 10 - e));        // to nearest even; exact scaling
  const uint32_t word = uint32_t(ulps) + (uint32_t(e + 14) << 10);  // the implicit bit adds one to the exponent field
  if (word >= 0x7c00) return sign | 0x7c00;
  return word ? sign | word : 0;
}

}  // namespace

double value_of(Type t, uint32_t bits) {
  // e4m3 spends one pattern on NaN and none on infinity: the others of its top exponent are numbers.
  if (t == Type::e4m3 && (bits & 0x78) == 0x78)
    return (bits & 7) == 7 ? std::nan("") : (bits & 0x80 ? -1.0 : 1.0) * std::ldexp(8 + int(bits & 7), 5);
  if (t == Type::s8) return int8_t(bits);
  if (t == Type::u8) return bits & 0xff;
  if (t == Type::e2m3 || t == Type::e3m2 || t == Type::e2m1) {
    // No pattern is special: sign, then a magnitude that counts up through subnormals and binades.
    const Shape s = shape_of(t);
    const uint32_t top = uint32_t(s.exponent_bits + s.fraction_bits), magnitude = bits & ((1u << top) - 1);
    const uint32_t field = magnitude >> s.fraction_bits, fraction = magnitude & ((1u << s.fraction_bits) - 1);
    const double v = field ? std::ldexp(double((1u << s.fraction_bits) + fraction), int(field) - 1) : fraction;
    return (bits >> top & 1 ? -1 : 1) * std::ldexp(v, s.emin() - s.fraction_bits);
  }
  return decode(shape_of(t), t == Type::tf32 ? bits >> 13 : bits);
}

Row decode_row(Type t, const std::vector<uint32_t>& bits, bool negate) {
  const bool whole = t == Type::s8 || t == Type::u8;  // whole numbers are added without exponents
  const int emin = whole ? 0 : shape_of(t).emin();
  Row r;
  for (uint32_t b : bits) {
    const double v = value_of(t, b);
    r.value.push_back(negate ? -v : v);
    r.exponent.push_back(!whole && v != 0 && std::isfinite(v) ? raw_exponent(v, emin) : 0);
  }
  return r;
}

uint32_t reference_element(const Row& a, const Row& b, bool with_c, uint32_t c_bits, int scale, bool half,
                           bool hopper_fp8) {
  const double c = with_c ? (half ? decode({5, 10}, c_bits) : decode({8, 23}, c_bits)) : 0.0;
  double special = c;
  constexpr int kNothing = std::numeric_limits<int>::min();
  int largest = kNothing;
  if (c != 0 && std::isfinite(c)) largest = raw_exponent(c, half ? -14 : -126) - scale;
  for (size_t i = 0; i < a.value.size(); ++i) {
    const double p = a.value[i] * b.value[i];
    special += p;
    if (p != 0) largest = std::max(largest, a.exponent[i] + b.exponent[i]);
  }
  // Infinities and NaNs do to a sum what they do in IEEE arithmetic; f64 holds every finite product without overflow.
  if (std::isnan(special)) return half ? 0x7fff : 0x7fffffff;
  if (std::isinf(special)) return half ? (special < 0 ? 0xfc00 : 0x7c00) : (special < 0 ? 0xff800000 : 0x7f800000);
  if (largest == kNothing) return 0;
  if (!half) largest = std::max(largest, -133);
  const int quantum = largest - (hopper_fp8 ? 13 : 25);
  const double to_units = std::ldexp(1.0, -quantum);  // a power of two: the products below are exact
  double units = std::trunc(std::ldexp(c, -scale) * to_units);
  for (size_t i = 0; i < a.value.size(); ++i) units += std::trunc(a.value[i] * b.value[i] * to_units);
  const double sum = std::ldexp(units, quantum);
  if (half) return half_nearest(sum);
  const uint32_t word = float_toward_zero(sum);
  if (!hopper_fp8) return word;
  const uint32_t cut = word & ~0x3ffu;  // 14 significant bits, toward zero
  return cut & 0x7fffffff ? cut : 0;
}

Scale scale_of(bool ue8m0, uint32_t bits) {
  if (ue8m0) return bits == 0xff ? Scale{std::nan(""), 0} : Scale{std::ldexp(1.0, int(bits) - 127), int(bits) - 127};
  const double v = value_of(Type::e4m3, bits & 0x7f);  // bit 7 does not count
  return {v, v == 0 || std::isnan(v) ? -6 : raw_exponent(v, -6)};
}

namespace {

/// The word that infinities and NaNs force, as in IEEE arithmetic; 0: none.
uint32_t forced(double special) {
  if (std::isnan(special)) return 0x7fffffff;
  if (std::isinf(special)) return special < 0 ? 0xff800000 : 0x7f800000;
  return 0;
}

constexpr int kNone = -100000;

}  // namespace

uint32_t reference_mxf8(const Row& a, const Row& b, Scale sa, Scale sb, bool with_c, uint32_t c_bits) {
  const double c = with_c ? decode({8, 23}, c_bits) : 0.0, both = sa.value * sb.value;
  double special = c + (std::isnan(both) ? both : 0);
  int largest = kNone;
  for (size_t i = 0; i < a.value.size(); ++i) {
    special += a.value[i] * b.value[i];
    if (a.value[i] * b.value[i] != 0) largest = std::max(largest, a.exponent[i] + b.exponent[i]);
  }
  if (const uint32_t word = forced(special)) return word;
  if (largest == kNone) return with_c ? c_bits : 0;
  largest = std::max(largest + sa.exponent + sb.exponent, -133);
  if (c != 0) largest = std::max(largest, raw_exponent(c, -126));
  const int quantum = largest - 25;
  double units = std::trunc(std::ldexp(c, -quantum));
  for (size_t i = 0; i < a.value.size(); ++i)
    units += std::trunc(std::ldexp(a.value[i] * b.value[i], sa.exponent + sb.exponent - quantum));
  return float_toward_zero(std::ldexp(units, quantum));
}

uint32_t reference_fp4(bool ue8m0, const Row& a, const Row& b, const std::vector<Scale>& sa,
                       const std::vector<Scale>& sb, bool with_c, uint32_t c_bits) {
  const size_t block = a.value.size() / sa.size();
  const double c = with_c ? decode({8, 23}, c_bits) : 0.0;
  double special = c;
  for (const Scale& s : sa) special += std::isnan(s.value) ? s.value : 0;
  for (const Scale& s : sb) special += std::isnan(s.value) ? s.value : 0;
  if (const uint32_t word = forced(special)) return word;
  const auto exponent = [&](size_t i) { return sa[i / block].exponent + sb[i / block].exponent; };
  const auto product = [&](size_t i) {
    return a.value[i] * b.value[i] * sa[i / block].value * sb[i / block].value;  // exact
  };
  int p = kNone, s = kNone;
  for (size_t i = 0; i < a.value.size(); ++i)
    if (product(i) != 0) {
      p = std::max(p, a.exponent[i] + b.exponent[i] + exponent(i));
      s = std::max(s, exponent(i));
    }
  if (p == kNone) return with_c ? c_bits : 0;
  const int e = c != 0 ? raw_exponent(c, -126) : kNone;
  const bool c_leads = e >= p;
  const int quantum = c_leads ? e - 35 : std::max({p - 39, s - 35, e - 39});
  const size_t group = ue8m0 || c_leads ? 16 : 4;
  const auto sum = [&](bool without_tiny) {
    double units = std::trunc(std::ldexp(c, -quantum));
    for (size_t g = 0; g < a.value.size(); g += group) {
      double exact = 0;
      int raw = kNone, scale = kNone;
      for (size_t i = g; i < g + group; ++i)
        if (product(i) != 0) {
          exact += product(i);
          raw = std::max(raw, a.exponent[i] + b.exponent[i] + exponent(i));
          scale = std::max(scale, exponent(i));
        }
      const int q = ue8m0 && !c_leads && e != kNone && e >= raw ? std::max(quantum, e - 35) : quantum;
      const double cut = std::ldexp(std::trunc(std::ldexp(exact, -q)), q);
      if (without_tiny && scale < s && std::fabs(cut) < std::ldexp(1.0, -174)) continue;
      units += std::ldexp(cut, -quantum);
    }
    return float_toward_zero(std::ldexp(units, quantum));
  };
  const uint32_t word = sum(false);
  const bool subnormal = word << 1 != 0 && (word & 0x7f800000) == 0;
  return ue8m0 && subnormal ? sum(true) : word;
}

uint32_t reference_i8(const Row& a, const Row& b, bool with_c, uint32_t c, bool saturate) {
  int64_t sum = with_c ? int32_t(c) : 0;
  for (size_t i = 0; i < a.value.size(); ++i) sum += int64_t(a.value[i]) * int64_t(b.value[i]);
  if (saturate && sum > INT32_MAX) return 0x7fffffff;
  if (saturate && sum < INT32_MIN) return 0x80000000;
  return uint32_t(uint64_t(sum));
}

uint32_t Placement::at(uint32_t row, uint32_t k) const {
  // `line` is a row of the swizzle pattern, `byte` the position in it before swizzling.
  if (swizzle == 0) {
    // 8 lines of 16 bytes make a core matrix of 128 contiguous bytes.
    if (!mn_major) {
      const uint32_t byte = k * element_bytes;
      return base + row / 8 * stride + byte / 16 * leading + row % 8 * 16 + byte % 16;
    }
    const uint32_t byte = row * element_bytes;
    return base + byte / 16 * stride + k / 8 * leading + k % 8 * 16 + byte % 16;
  }
  const uint32_t width = swizzle == 6 ? 32 : swizzle == 4 ? 64 : 128;
  uint32_t line, byte, block;
  if (!mn_major) {
    line = row % 8;
    byte = slice * 32 + k * element_bytes;
    block = row / 8 * stride + byte / width * leading;
    byte %= width;
  } else {
    const uint32_t lines = swizzle == 1 ? 4 : 8;
    line = k % lines;
    byte = row * element_bytes % width;
    block = row * element_bytes / width * leading + k / lines * stride;
  }
  // 16-byte pieces trade places by line: all eight with 128B, every second line changes with 64B, every fourth with
  // 32B.
  uint32_t piece = byte / 16;
  if (swizzle == 2) piece ^= line;
  if (swizzle == 4) piece ^= line / 2;
  if (swizzle == 6) piece ^= line / 4;
  if (swizzle == 1) piece ^= line % 4 * 2;  // pieces move in pairs
  return base + block + line * width + piece * 16 + byte % 16;
}

uint64_t Placement::descriptor(uint32_t image) const {
  const uint64_t start = image + base + (mn_major || swizzle == 0 ? 0 : slice * 32);
  return (start & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | uint64_t(1) << 46 |
         uint64_t(swizzle) << 61;
}

}  // namespace gen5::test
