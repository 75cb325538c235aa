// cvt (PTX ISA 9.7.9.21): every pair of integer and floating-point types, the packed pairs and quads of narrow formats.
// The general form decodes to an exact value, rounds, and encodes; the pairs that kernels use most have a vectorised
// function of their own besides.
#include <algorithm>
#include <limits>

#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/floats.h"

namespace tinygpu::isa {
namespace {

using ptx::Operand;
using ptx::Type;

// ---- Types

/// What a scalar, or one element of a packed register, is.
enum class Element : uint8_t {
  u8,
  s8,
  u16,
  s16,
  u32,
  s32,
  u64,
  s64,
  f16,
  bf16,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  e2m3,
  e3m2,
  e2m1,
  ue8m0
};

struct ElementInfo {
  int bits;  // in the register
  bool integer;
  bool is_signed;
  Format format{};  // floats but ue8m0
};
constexpr ElementInfo info(Element e) {
  switch (e) {
    case Element::u8: return {8, true, false};
    case Element::s8: return {8, true, true};
    case Element::u16: return {16, true, false};
    case Element::s16: return {16, true, true};
    case Element::u32: return {32, true, false};
    case Element::s32: return {32, true, true};
    case Element::u64: return {64, true, false};
    case Element::s64: return {64, true, true};
    case Element::f16: return {16, false, true, kF16};
    case Element::bf16: return {16, false, true, kBF16};
    case Element::tf32: return {32, false, true, kTF32};
    case Element::f32: return {32, false, true, kF32};
    case Element::f64: return {64, false, true, kF64};
    case Element::e4m3: return {8, false, true, kE4M3};
    case Element::e5m2: return {8, false, true, kE5M2};
    case Element::e2m3: return {8, false, true, kE2M3};  // six bits, padded to a byte
    case Element::e3m2: return {8, false, true, kE3M2};
    case Element::e2m1: return {4, false, true, kE2M1};
    case Element::ue8m0: return {8, false, false};
  }
  return {};
}

/// A cvt operand type: element and how many the register holds.
struct Shape {
  Element element;
  int count;
};
Shape shape_of(Decoder& d, Type t) {
  switch (t) {
    case Type::u8: return {Element::u8, 1};
    case Type::s8: return {Element::s8, 1};
    case Type::b16:
    case Type::u16: return {Element::u16, 1};
    case Type::s16: return {Element::s16, 1};
    case Type::b32:
    case Type::u32: return {Element::u32, 1};
    case Type::s32: return {Element::s32, 1};
    case Type::b64:
    case Type::u64: return {Element::u64, 1};
    case Type::s64: return {Element::s64, 1};
    case Type::f16: return {Element::f16, 1};
    case Type::bf16: return {Element::bf16, 1};
    case Type::tf32: return {Element::tf32, 1};
    case Type::f32: return {Element::f32, 1};
    case Type::f64: return {Element::f64, 1};
    case Type::f16x2: return {Element::f16, 2};
    case Type::bf16x2: return {Element::bf16, 2};
    case Type::e4m3: return {Element::e4m3, 1};
    case Type::e5m2: return {Element::e5m2, 1};
    case Type::e4m3x2: return {Element::e4m3, 2};
    case Type::e5m2x2: return {Element::e5m2, 2};
    case Type::e2m3x2: return {Element::e2m3, 2};
    case Type::e3m2x2: return {Element::e3m2, 2};
    case Type::e2m1x2: return {Element::e2m1, 2};
    case Type::ue8m0x2: return {Element::ue8m0, 2};
    case Type::e4m3x4: return {Element::e4m3, 4};
    case Type::e5m2x4: return {Element::e5m2, 4};
    case Type::e2m3x4: return {Element::e2m3, 4};
    case Type::e3m2x4: return {Element::e3m2, 4};
    case Type::e2m1x4: return {Element::e2m1, 4};
    default: d.not_modelled();
  }
}

// ---- The general form

/// Everything a conversion depends on besides its operands.
struct Conversion {
  Element from, to;
  Rounding rounding;
  bool to_integral;  // .rni, .rzi, .rmi, .rpi
  bool ftz;
  bool sat;
  bool satfinite;
  bool relu;
  uint8_t from_width, to_width;  // bytes of the registers
  uint8_t count = 1;             // elements of a packed destination
};
const Conversion& conversion_of(const Op& op) { return op.get<Conversion>(); }

/// ue8m0 holds 2^(code − 127), 0xff NaN; there is no zero and no sign.
Exact decode_ue8m0(uint64_t code) {
  Exact x;
  if (code == 0xff) x.kind = Exact::nan;
  x.significand = 1;
  x.exponent = int(code) - 127;
  return x;
}
/// By the magnitude, toward zero or up to the next power of two; zero gives the smallest code, and what lies beyond
/// 2^127 the NaN code, or 0xfe under .satfinite.
uint64_t encode_ue8m0(const Exact& x, Rounding mode, bool satfinite) {
  if (x.kind == Exact::nan) return 0xff;
  if (x.kind == Exact::infinite) return satfinite ? 0xfe : 0xff;
  if (x.significand == 0) return 0;
  const int top = x.exponent + 63 - std::countl_zero(x.significand);
  const bool inexact = !std::has_single_bit(x.significand);
  const int code = top + 127 + (mode == Rounding::rp && inexact);
  if (code < 0) return 0;
  return code <= 0xfe ? uint64_t(code) : satfinite ? 0xfe : 0xff;
}

/// Subnormals of f become zero.
Exact flushed(const Exact& x, const Format& f) {
  Exact y = x;
  if (x.kind == Exact::number && x.significand && x.exponent + 63 - std::countl_zero(x.significand) < 1 - f.bias())
    y.significand = 0;
  return y;
}

Exact load(const Conversion& c, uint64_t bits) {
  const ElementInfo from = info(c.from);
  if (from.bits < 64) bits &= (uint64_t(1) << from.bits) - 1;
  if (c.from == Element::ue8m0) return decode_ue8m0(bits);
  if (from.integer) {
    if (!from.is_signed) return exact_integer(bits);
    return exact_integer(int64_t(bits << (64 - from.bits)) >> (64 - from.bits));
  }
  Exact x = decode(from.format, bits);
  // Not for f16 destinations (H200: cvt.rp.ftz.f16.f32 of a subnormal gives the smallest f16).
  if (c.ftz && c.from == Element::f32 && c.to != Element::f16) x = flushed(x, kF32);
  return x;
}

/// To an integer under the rounding; a fraction disappears, the sign of a zero stays.
Exact integral(Exact x, Rounding mode) {
  if (x.kind != Exact::number || x.exponent >= 0) return x;
  x.significand = shift_rounded(x.significand, -x.exponent, x.negative, mode);
  x.exponent = 0;
  return x;
}

/// Out of range gives the nearest limit. NaN gives 0 for the narrower types, and 2^(width − 1) where source or
/// destination has 64 bits.
uint64_t store_integer(const Conversion& c, const ElementInfo& to, const Exact& value) {
  const Exact x = integral(value, c.rounding);
  const uint64_t top = uint64_t(1) << (to.bits - 1);
  if (x.kind == Exact::nan) return c.from == Element::f64 || to.bits == 64 ? top : 0;
  const uint64_t largest = to.is_signed ? top - 1 : top | (top - 1);
  const uint64_t smallest = to.is_signed ? 0 - top : 0;
  const int leading = x.significand ? x.exponent + 63 - std::countl_zero(x.significand) : -1;
  if (x.kind == Exact::infinite || leading >= 64) return x.negative ? smallest : largest;
  const uint64_t magnitude = x.significand << x.exponent;
  if (!x.negative) return magnitude > largest ? largest : magnitude;
  if (!to.is_signed) return 0;
  return magnitude > top ? smallest : 0 - magnitude;
}
/// Integers keep their low bits, or clamp under .sat.
uint64_t convert_integer(const Conversion& c, const ElementInfo& to, const Exact& x) {
  if (c.sat) return store_integer(c, to, x);
  return x.negative ? 0 - x.significand : x.significand;
}

/// Conversions from and to f64 keep a NaN's sign and the top of its payload and make it quiet; the others give the
/// destination's one NaN (H200).
uint64_t store_nan(const Conversion& c, const Format& f, const Exact& x) {
  if (c.from != Element::f64 && c.to != Element::f64) return f.nan;
  const Exact nan = c.ftz && c.from == Element::f32 ? decode(kF32, kCanonicalNaN) : x;
  const uint64_t quiet = uint64_t(1) << (f.fraction_bits - 1);
  return uint64_t(nan.negative) << (f.width() - 1) | f.infinity() | quiet | nan.significand >> (52 - f.fraction_bits);
}

uint64_t store_float(const Conversion& c, const Format& f, Exact x, uint32_t random) {
  if (c.to_integral) x = integral(x, c.rounding);
  if (c.sat) {
    if (x.kind == Exact::nan || x.negative)
      x = Exact{};
    else if (x.kind == Exact::infinite || (x.significand && x.exponent + 63 - std::countl_zero(x.significand) >= 0))
      x = Exact{Exact::number, false, 0, 1};
  }
  if (x.kind == Exact::nan) return store_nan(c, f, x);
  if (c.relu && x.negative) x = Exact{};
  // .ftz looks at the value rounded to the fraction as if exponents had no lower end: eleven bits are enough of them.
  constexpr Format kUnbounded{11, 23};
  if (c.ftz && x.kind == Exact::number && c.to == Element::f32)
    x = flushed(decode(kUnbounded, encode(kUnbounded, x, c.rounding)), kF32);
  return encode(f, x, c.rounding, c.satfinite, random);
}

/// tf32 by .rna is integer arithmetic on the f32 word: half a unit is added unless the exponent is full, then the low
/// bits are cut; .satfinite takes one unit off a result whose exponent is full, NaN or not (H200).
template <bool satfinite>
uint32_t tf32_away(uint32_t bits) {
  const bool full = (bits & 0x7f800000) == 0x7f800000;
  const uint32_t r = (full ? bits : bits + 0x1000) & 0xffffe000;
  return satfinite && (r & 0x7f800000) == 0x7f800000 ? r - 0x2000 : r;
}

/// Same type without any modifier, and bf16 to f32, move bits: a NaN stays as it is (f16 and bf16 do not: H200).
bool moves_bits(const Conversion& c) {
  const bool same = c.from == c.to && (c.from == Element::f32 || c.from == Element::f64);
  return (same || (c.from == Element::bf16 && c.to == Element::f32)) && !c.to_integral && !c.ftz && !c.sat && !c.relu;
}

uint64_t convert(const Conversion& c, uint64_t bits, uint32_t random = 0) {
  if (moves_bits(c)) return c.from == c.to ? bits : bits << 16;
  const Exact x = load(c, bits);
  const ElementInfo to = info(c.to);
  if (c.to == Element::ue8m0) return encode_ue8m0(x, c.rounding, c.satfinite);
  if (!to.integer) return store_float(c, to.format, x, random) << (c.to == Element::tf32 ? 13 : 0);
  return info(c.from).integer ? convert_integer(c, to, x) : store_integer(c, to, x);
}

uint64_t load_register(const uint8_t* file, int width, int lane) {
  uint64_t v = 0;
  std::memcpy(&v, file + size_t(lane) * size_t(width), size_t(width));
  return v;
}
/// Results narrower than the register are extended by the type's signedness.
void store_register(uint8_t* file, int width, int lane, uint64_t value, const ElementInfo& type) {
  if (type.bits < 64) {
    const int unused = 64 - type.bits;
    value = type.integer && type.is_signed ? uint64_t(int64_t(value << unused) >> unused) : value << unused >> unused;
  }
  std::memcpy(file + size_t(lane) * size_t(width), &value, size_t(width));
}

void convert_scalar(Warp& w, const Op& op) {
  const Conversion c = conversion_of(op);
  const uint8_t* a = w.at<uint8_t>(op.a);
  uint8_t* d = w.at<uint8_t>(op.dst);
  const ElementInfo to = info(c.to);
  uint64_t r[32];
  for_lanes(w.exec(), [&](int i) { r[i] = convert(c, load_register(a, c.from_width, i)); });
  for_lanes(w.exec(), [&](int i) { store_register(d, c.to_width, i, r[i], to); });
}

/// Packed destination from op.list: sources in order of falling significance, one element each (f32 → pairs and quads),
/// or one packed source. op.b: random bits of .rs, or kNoSlot.
void convert_packed(Warp& w, const Op& op) {
  const Conversion c = conversion_of(op);
  const ElementInfo from = info(c.from), to = info(c.to);
  const int count = c.count;
  uint8_t* d = w.at<uint8_t>(op.dst);
  const uint32_t* random = op.b == kNoSlot ? nullptr : w.at<uint32_t>(op.b);
  uint64_t result[32];
  for_lanes(w.exec(), [&](int lane) {
    uint64_t packed = 0;
    for (int n = 0; n < count; ++n) {  // element n, lowest first
      uint64_t bits;
      if (op.list_size) {
        bits = load_register(w.at<uint8_t>(op.list[count - 1 - n]), c.from_width, lane);
      } else {
        bits = load_register(w.at<uint8_t>(op.a), c.from_width, lane) >> (n * from.bits);
      }
      // .rs (inferred, no silicon): element n takes its share of the random word, aligned with the bits that fall out:
      // 16-bit halves for pairs (13 bits of them for f16), bytes for quads.
      uint32_t r = 0;
      if (random) {
        const uint32_t share = count == 2 ? random[lane] >> (16 * n) & 0xffff : random[lane] >> (8 * n) & 0xff;
        r = count == 4 ? share << 24 : c.to == Element::f16 ? share << 19 : share << 16;
      }
      packed |= convert(c, bits, r) << (n * to.bits);
    }
    result[lane] = packed;
  });
  for_lanes(w.exec(), [&](int lane) { std::memcpy(d + size_t(lane) * c.to_width, &result[lane], c.to_width); });
}

// ---- Vectorised pairs

template <class D, class S>
D integer(S x) {
  return D(x);
}

float f32_from_f16(f16 x) { return canonical(value(x)); }
float f32_from_bf16(bf16 x) { return value(x); }
double f64_from_f32(float x) { return x; }  // the host treats NaNs alike
float f32_from_f64(double x) { return float(x); }
template <class T>
T relu_nearest(float x) {
  return relu(nearest<T>(x));
}
template <class F, class S>
F from_integer(S x) {
  return F(x);
}

/// .rzi and .rni to 32 bits; NaN gives 0, the rest clamps.
int32_t s32_toward_zero(float x) {
  const float clamped = x < -0x1p31f ? -0x1p31f : x > 0x1.fffffep30f ? 0x1.fffffep30f : x;
  const int32_t r = int32_t(x == x ? clamped : 0.0f);
  return x >= 0x1p31f ? INT32_MAX : r;
}
int32_t s32_nearest(float x) { return s32_toward_zero(std::nearbyint(x)); }
uint32_t u32_toward_zero(float x) { return x >= 0x1p32f ? UINT32_MAX : x > 0 ? uint32_t(x) : 0; }
float f32_saturated(float x) { return saturate(x); }

/// f32 to a format of 4 to 8 bits, to nearest even, .satfinite: the same steps as nearest<f16>.
template <const Format& f>
uint32_t small(float x) {
  constexpr int kDropped = 23 - f.fraction_bits;
  constexpr uint32_t kLargest = uint32_t(f.max_finite());
  constexpr uint32_t kRebias = uint32_t(127 - f.bias()) << 23;
  // A number whose last bit is the format's smallest subnormal.
  constexpr float kMagic = std::bit_cast<float>(uint32_t(127 + 23 + 1 - f.bias() - f.fraction_bits) << 23);
  const uint32_t u = bits_of(x), magnitude = u & 0x7fffffff;
  const uint32_t normal =
      (magnitude + ((1u << (kDropped - 1)) - 1) + (magnitude >> kDropped & 1) - kRebias) >> kDropped;
  const uint32_t subnormal = bits_of(std::bit_cast<float>(magnitude) + kMagic) - bits_of(kMagic);
  uint32_t r = magnitude < kRebias + (1u << 23) ? subnormal : normal;
  // The normal path wraps for nothing that is above this bound, infinity included.
  r = r > kLargest ? kLargest : r;
  r |= u >> 31 << (f.width() - 1);
  return magnitude > 0x7f800000 ? uint32_t(f.nan) : r;
}
/// d = {a, b} in bytes (nibbles for e2m1): a in the upper one.
template <const Format& f, bool rectified, class D>
D small_pair(float a, float b) {
  constexpr int kStep = f.width() <= 4 ? 4 : 8;
  // .relu keeps NaN.
  if (rectified) a = a <= 0 ? 0.0f : a, b = b <= 0 ? 0.0f : b;
  return D(small<f>(a) << kStep | small<f>(b));
}
template <const Format& f, class D>
ExecFn small_pair_executor(bool rectified) {
  return rectified ? lanewise<small_pair<f, true, D>> : lanewise<small_pair<f, false, D>>;
}

/// Two bytes of e4m3 or e5m2 as f16, exactly. An e5m2 is the upper byte of an f16; an e4m3's bits are those of an f16
/// 2^8 times smaller.
f16 f16_from_e5m2(uint32_t byte) {
  const uint32_t r = byte << 8;
  return f16(uint16_t((r & 0x7fff) > 0x7c00 ? kCanonicalNaN16 : r));
}
f16 f16_from_e4m3(uint32_t byte) {
  const float magnitude = value(f16(uint16_t((byte & 0x7f) << 7))) * 256.0f;
  const uint32_t r = bits_of(nearest<f16>(magnitude)) | (byte & 0x80) << 8;
  return f16(uint16_t((byte & 0x7f) == 0x7f ? kCanonicalNaN16 : r));
}
template <auto f>
uint32_t f16_pair(uint16_t pair) {
  return bits_of(f(pair & 0xffu)) | bits_of(f(uint32_t(pair) >> 8)) << 16;
}

/// d = {a, b}: a in the upper half.
template <class T>
uint32_t pair_of(float a, float b) {
  return bits_of(nearest<T>(a)) << 16 | bits_of(nearest<T>(b));
}
template <class T>
uint32_t relu_pair_of(float a, float b) {
  return bits_of(relu_nearest<T>(a)) << 16 | bits_of(relu_nearest<T>(b));
}

template <class S>
ExecFn integer_from(Element to) {
  switch (to) {
    case Element::u16:
    case Element::s16: return lanewise<integer<uint16_t, S>>;
    case Element::u32:
    case Element::s32: return lanewise<integer<uint32_t, S>>;
    case Element::u64:
    case Element::s64: return lanewise<integer<uint64_t, S>>;
    default: return nullptr;
  }
}

/// 8-bit types live in wider registers: the source's low byte extended, or the result's.
template <class To, class Byte, class From>
To through_byte(From x) {
  return To(Byte(x));
}
template <class Byte, class From>
ExecFn through_byte_to(int width) {
  switch (width) {
    case 2: return lanewise<through_byte<uint16_t, Byte, From>>;
    case 4: return lanewise<through_byte<uint32_t, Byte, From>>;
    case 8: return lanewise<through_byte<uint64_t, Byte, From>>;
    default: return nullptr;
  }
}
template <class Byte>
ExecFn through_byte_between(int from_width, int to_width) {
  switch (from_width) {
    case 2: return through_byte_to<Byte, uint16_t>(to_width);
    case 4: return through_byte_to<Byte, uint32_t>(to_width);
    case 8: return through_byte_to<Byte, uint64_t>(to_width);
    default: return nullptr;
  }
}
/// One side has 8 bits, the other a type as wide as its register.
ExecFn byte_executor(const Conversion& c) {
  const ElementInfo from = info(c.from), to = info(c.to);
  if (!from.integer || !to.integer || c.sat) return nullptr;
  const bool narrows = to.bits == 8 && from.bits == c.from_width * 8,
             widens = from.bits == 8 && to.bits == c.to_width * 8;
  if (!narrows && !widens) return nullptr;
  return (narrows ? to : from).is_signed ? through_byte_between<int8_t>(c.from_width, c.to_width)
                                         : through_byte_between<uint8_t>(c.from_width, c.to_width);
}

template <class F>
ExecFn float_from(Element from) {
  switch (from) {
    case Element::u16: return lanewise<from_integer<F, uint16_t>>;
    case Element::s16: return lanewise<from_integer<F, int16_t>>;
    case Element::u32: return lanewise<from_integer<F, uint32_t>>;
    case Element::s32: return lanewise<from_integer<F, int32_t>>;
    case Element::u64: return lanewise<from_integer<F, uint64_t>>;
    case Element::s64: return lanewise<from_integer<F, int64_t>>;
    default: return nullptr;
  }
}

/// The vectorised executor of a scalar conversion whose registers have the types' own widths, or nullptr.
ExecFn fast_scalar(const Conversion& c) {
  const ElementInfo from = info(c.from), to = info(c.to);
  if (c.rounding == Rounding::rna) return c.satfinite ? lanewise<tf32_away<true>> : lanewise<tf32_away<false>>;
  if (const ExecFn byte = byte_executor(c)) return byte;
  // To the nearest integer, or cut, a subnormal is zero anyway.
  const bool ftz = c.ftz && !(to.integer && (c.rounding == Rounding::rn || c.rounding == Rounding::rz));
  if (c.from_width * 8 != from.bits || c.to_width * 8 != to.bits || ftz || c.satfinite) return nullptr;
  if (from.integer && to.integer) {
    if (c.sat) return nullptr;
    switch (c.from) {
      case Element::u16: return integer_from<uint16_t>(c.to);
      case Element::s16: return integer_from<int16_t>(c.to);
      case Element::u32: return integer_from<uint32_t>(c.to);
      case Element::s32: return integer_from<int32_t>(c.to);
      case Element::u64:
      case Element::s64: return integer_from<uint64_t>(c.to);
      default: return nullptr;
    }
  }
  if (c.sat)
    return c.from == Element::f32 && c.to == Element::f32 && !c.to_integral ? lanewise<f32_saturated> : nullptr;
  const bool nearest_only = c.rounding == Rounding::rn && !c.relu && !c.to_integral;
  if (from.integer && nearest_only) {
    if (c.to == Element::f32) return float_from<float>(c.from);
    if (c.to == Element::f64) return float_from<double>(c.from);
    return nullptr;
  }
  if (nearest_only) {
    if (c.from == Element::f16 && c.to == Element::f32) return lanewise<f32_from_f16>;
    if (c.from == Element::bf16 && c.to == Element::f32) return lanewise<f32_from_bf16>;
    if (c.from == Element::f32 && c.to == Element::f64) return lanewise<f64_from_f32>;
    if (c.from == Element::f64 && c.to == Element::f32) return lanewise<f32_from_f64>;
  }
  if (c.from == Element::f32 && c.rounding == Rounding::rn && !c.to_integral) {
    if (c.to == Element::f16) return c.relu ? lanewise<relu_nearest<f16>> : lanewise<nearest<f16>>;
    if (c.to == Element::bf16) return c.relu ? lanewise<relu_nearest<bf16>> : lanewise<nearest<bf16>>;
  }
  if (c.from == Element::f32 && c.to == Element::s32) {
    if (c.rounding == Rounding::rz) return lanewise<s32_toward_zero>;
    if (c.rounding == Rounding::rn) return lanewise<s32_nearest>;
  }
  if (c.from == Element::f32 && c.to == Element::u32 && c.rounding == Rounding::rz) return lanewise<u32_toward_zero>;
  return nullptr;
}

// ---- Decoding

Conversion common_fields(const ptx::Instruction& inst, Element from, Element to) {
  Conversion c{};
  c.from = from;
  c.to = to;
  c.rounding = rounding_of(inst);
  c.to_integral = inst.one_of("rni", "rzi", "rmi", "rpi") != "";
  c.ftz = inst.has("ftz");
  c.sat = inst.has("sat");
  c.satfinite = inst.has("satfinite");
  c.relu = inst.has("relu");
  return c;
}

void decode_scalar(Decoder& d, Op& op, Element from, Element to) {
  Conversion c = common_fields(*d.inst, from, to);
  const Type source = d.inst->type(1);
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), source);
  c.from_width = uint8_t(d.width(d.operand(1), ptx::size_of(source)));
  c.to_width = uint8_t(d.width(d.operand(0), ptx::size_of(d.inst->type(0))));
  op.set(c);
  const ExecFn fast = fast_scalar(c);
  finish(d, op, fast ? fast : convert_scalar, CostClass::cvt);
}

void decode_packed(Decoder& d, Op& op, Shape from, Shape to) {
  Conversion c = common_fields(*d.inst, from.element, to.element);
  const Type source = d.inst->type(1);
  op.dst = d.dst(d.operand(0));
  c.count = uint8_t(to.count);
  c.to_width = uint8_t(d.width(d.operand(0), to.count * info(to.element).bits / 8));
  size_t next = 2;
  if (from.count == to.count) {
    op.a = d.src(d.operand(1), source);
    c.from_width = uint8_t(d.width(d.operand(1), ptx::size_of(source)));
  } else {
    std::vector<uint32_t> slots;
    if (d.operand(1).kind == Operand::Kind::vector) {
      for (const Operand& e : d.operand(1).elems) slots.push_back(d.src(e, source));
    } else {
      slots = {d.src(d.operand(1), source), d.src(d.operand(2), source)};
      next = 3;
    }
    d.set_list(op, slots);
    op.a = slots[0];
    op.b = slots[1];
    c.from_width = uint8_t(ptx::size_of(source));
  }
  op.set(c);
  const bool plain_pair = from.element == Element::f32 && to.count == 2 && c.rounding == Rounding::rn && !c.satfinite;
  if (plain_pair && to.element == Element::f16)
    return finish(d, op, c.relu ? lanewise<relu_pair_of<f16>> : lanewise<pair_of<f16>>, CostClass::cvt);
  if (plain_pair && to.element == Element::bf16)
    return finish(d, op, c.relu ? lanewise<relu_pair_of<bf16>> : lanewise<pair_of<bf16>>, CostClass::cvt);
  if (from.element == Element::f32 && to.count == 2 && c.rounding == Rounding::rn) {
    const bool half = c.to_width == 2;
    ExecFn fn = nullptr;
    switch (to.element) {
      case Element::e4m3: fn = half ? small_pair_executor<kE4M3, uint16_t>(c.relu) : nullptr; break;
      case Element::e5m2: fn = half ? small_pair_executor<kE5M2, uint16_t>(c.relu) : nullptr; break;
      case Element::e2m3: fn = half ? small_pair_executor<kE2M3, uint16_t>(c.relu) : nullptr; break;
      case Element::e3m2: fn = half ? small_pair_executor<kE3M2, uint16_t>(c.relu) : nullptr; break;
      case Element::e2m1: fn = c.to_width == 1 ? small_pair_executor<kE2M1, uint8_t>(c.relu) : nullptr; break;
      default: break;
    }
    if (fn) return finish(d, op, fn, CostClass::cvt);
  }
  if (to.element == Element::f16 && !c.relu && c.from_width == 2 && c.to_width == 4) {
    if (from.element == Element::e4m3) return finish(d, op, lanewise<f16_pair<f16_from_e4m3>>, CostClass::cvt);
    if (from.element == Element::e5m2) return finish(d, op, lanewise<f16_pair<f16_from_e5m2>>, CostClass::cvt);
  }
  op.b = c.rounding == Rounding::rs ? d.src(d.operand(next), Type::b32) : kNoSlot;
  finish(d, op, convert_packed, CostClass::cvt);
}

void decode_cvt(Decoder& d, Op& op) {
  const Shape to = shape_of(d, d.inst->type(0)), from = shape_of(d, d.inst->type(1));
  if (to.count == 1) return decode_scalar(d, op, from.element, to.element);
  decode_packed(d, op, from, to);
}

}  // namespace

Table convert_table() {
  static const Entry table[] = {{Opcode::cvt, decode_cvt}};
  return {std::begin(table), std::end(table)};
}

}  // namespace tinygpu::isa
