#include "common/tinygpu/numerics/formats.h"

#include <cmath>
#include <limits>

namespace tinygpu::numerics {
namespace {

using S = FormatInfo::Specials;
constexpr FormatInfo kFormats[] = {
    {"f32", 32, 8, 23, 127, S::ieee}, {"tf32", 32, 8, 10, 127, S::ieee},  {"f16", 16, 5, 10, 15, S::ieee},
    {"bf16", 16, 8, 7, 127, S::ieee}, {"e4m3", 8, 4, 3, 7, S::nan_only},  {"e5m2", 8, 5, 2, 15, S::ieee},
    {"e2m3", 6, 2, 3, 1, S::none},    {"e3m2", 6, 3, 2, 3, S::none},      {"e2m1", 4, 2, 1, 1, S::none},
    {"ue8m0", 8, 8, 0, 127, S::none}, {"ue4m3", 7, 4, 3, 7, S::nan_only}, {"s8", 8, 0, 0, 0, S::none},
    {"u8", 8, 0, 0, 0, S::none},
};

enum class Rounding { toward_zero, nearest_even };

/// Rounds to a float format with `fraction` stored bits, smallest normal exponent `emin` and largest exponent `emax`.
uint32_t round_to(bool negative, uint64_t magnitude, int exponent, int fraction, int emin, int emax, int sign_bit,
                  Rounding r) {
  if (magnitude == 0) return 0;
  const int top = 63 - __builtin_clzll(magnitude) + exponent;  // exponent of the leading bit
  const int lsb = (top < emin ? emin : top) - fraction;
  const int drop = lsb - exponent;
  uint64_t kept = 0;
  if (drop <= 0) {
    kept = magnitude << -drop;
  } else if (drop <= 64) {
    const uint64_t half = uint64_t(1) << (drop - 1), rest = magnitude & (half + (half - 1));
    kept = magnitude >> (drop - 1) >> 1;
    if (r == Rounding::nearest_even && (rest > half || (rest == half && (kept & 1)))) ++kept;
  }
  if (kept == 0) return 0;
  int e = lsb + fraction;  // exponent field if the implicit bit is there
  if (kept >> (fraction + 1)) {
    kept >>= 1;
    ++e;
  }
  const uint32_t sign = uint32_t(negative) << sign_bit;
  const int exponent_mask = emax - emin + 2;
  if (e > emax) return sign | uint32_t(exponent_mask) << fraction;
  const uint32_t field = kept >> fraction ? uint32_t(e - emin + 1) : 0;
  return sign | field << fraction | (uint32_t(kept) & ((1u << fraction) - 1));
}

}  // namespace

const FormatInfo& info(Format f) { return kFormats[static_cast<size_t>(f)]; }

Unpacked unpack(Format f, uint32_t bits) {
  const FormatInfo& i = info(f);
  Unpacked u;
  if (f == Format::ue8m0) {
    bits &= 0xff;
    u.kind = bits == 0xff ? Unpacked::Class::nan : Unpacked::Class::finite;
    u.exponent = int16_t(int(bits) - 127);
    u.significand = 1;
    return u;
  }
  if (f == Format::tf32) bits >>= 13;  // sign, 8 exponent bits, 10 fraction bits remain
  const uint32_t fraction = bits & ((1u << i.fraction_bits) - 1);
  const uint32_t all_ones = (1u << i.exponent_bits) - 1;
  const uint32_t field = bits >> i.fraction_bits & all_ones;
  u.negative = f != Format::ue4m3 && (bits >> (i.fraction_bits + i.exponent_bits) & 1);
  if (field == all_ones && i.specials == S::ieee) {
    u.kind = fraction ? Unpacked::Class::nan : Unpacked::Class::infinite;
    return u;
  }
  if (field == all_ones && i.specials == S::nan_only && fraction == (1u << i.fraction_bits) - 1) {
    u.kind = Unpacked::Class::nan;
    return u;
  }
  u.significand = fraction | uint32_t(field != 0) << i.fraction_bits;
  u.exponent = int16_t(int(field ? field : 1) - i.bias);
  u.kind = u.significand ? Unpacked::Class::finite : Unpacked::Class::zero;
  return u;
}

int32_t unpack_integer(Format f, uint32_t bits) { return f == Format::s8 ? int8_t(bits) : int32_t(bits & 0xff); }

double to_double(Format f, uint32_t bits) {
  if (f == Format::s8 || f == Format::u8) return unpack_integer(f, bits);
  const Unpacked u = unpack(f, bits);
  const double sign = u.negative ? -1 : 1;
  switch (u.kind) {
    case Unpacked::Class::nan: return std::numeric_limits<double>::quiet_NaN();
    case Unpacked::Class::infinite: return sign * std::numeric_limits<double>::infinity();
    case Unpacked::Class::zero: return sign * 0.0;
    case Unpacked::Class::finite: break;
  }
  return sign * std::ldexp(double(u.significand), u.exponent - info(f).fraction_bits);
}

uint32_t round_f32_toward_zero(bool negative, uint64_t magnitude, int exponent) {
  return round_to(negative, magnitude, exponent, 23, -126, 127, 31, Rounding::toward_zero);
}
uint16_t round_f16_nearest(bool negative, uint64_t magnitude, int exponent) {
  return uint16_t(round_to(negative, magnitude, exponent, 10, -14, 15, 15, Rounding::nearest_even));
}

}  // namespace tinygpu::numerics
