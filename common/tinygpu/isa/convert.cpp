// cvt (PTX ISA 9.7.9.21): every pair of integer and floating-point types, the packed pairs and quads of narrow formats.
// The general form decodes to an exact value, rounds, and encodes; the pairs that kernels use most have a vectorised
// function of their own besides.
#include <algorithm>
#include <limits>

#include "common/tinygpu/isa/floats.h"

namespace tinygpu::isa {
namespace {

using ptx::Operand;

// ---- Types

/// The type of one element of a register.
struct Element {
  Type type;
  uint8_t bits;  // in the register
  bool integer;
  bool is_signed;
  Format format{};  // of floats but ue8m0
  bool operator==(Type t) const { return type == t; }
};
constexpr Element kElements[] = {
    {Type::u8, 8, true, false},           {Type::s8, 8, true, true},
    {Type::u16, 16, true, false},         {Type::s16, 16, true, true},
    {Type::u32, 32, true, false},         {Type::s32, 32, true, true},
    {Type::u64, 64, true, false},         {Type::s64, 64, true, true},
    {Type::f16, 16, false, true, kF16},   {Type::bf16, 16, false, true, kBF16},
    {Type::tf32, 32, false, true, kTF32}, {Type::f32, 32, false, true, kF32},
    {Type::f64, 64, false, true, kF64},   {Type::e4m3, 8, false, true, kE4M3},
    {Type::e5m2, 8, false, true, kE5M2},  {Type::e2m3, 8, false, true, kE2M3},  // six bits, padded to a byte
    {Type::e3m2, 8, false, true, kE3M2},  {Type::e2m1, 4, false, true, kE2M1},
    {Type::ue8m0, 8, false, false},
};
/// Types of PTX that are others' names or several elements in a register.
struct Alias {
  Type type, element;
  int count;
};
constexpr Alias kAliases[] = {
    {Type::b16, Type::u16, 1},     {Type::b32, Type::u32, 1},       {Type::b64, Type::u64, 1},
    {Type::f16x2, Type::f16, 2},   {Type::bf16x2, Type::bf16, 2},   {Type::e4m3x2, Type::e4m3, 2},
    {Type::e5m2x2, Type::e5m2, 2}, {Type::e2m3x2, Type::e2m3, 2},   {Type::e3m2x2, Type::e3m2, 2},
    {Type::e2m1x2, Type::e2m1, 2}, {Type::ue8m0x2, Type::ue8m0, 2}, {Type::e4m3x4, Type::e4m3, 4},
    {Type::e5m2x4, Type::e5m2, 4}, {Type::e2m3x4, Type::e2m3, 4},   {Type::e3m2x4, Type::e3m2, 4},
    {Type::e2m1x4, Type::e2m1, 4},
};

/// A cvt operand: its elements and how many the register holds.
struct Shape {
  const Element* element;
  int count;
};
Shape shape_of(Decoder& d, Type t) {
  int count = 1;
  if (const auto alias = std::ranges::find(kAliases, t, &Alias::type); alias != std::end(kAliases)) {
    t = alias->element;
    count = alias->count;
  }
  const auto element = std::ranges::find(kElements, t, &Element::type);
  if (element == std::end(kElements)) d.not_modelled();
  return {element, count};
}

// ---- The general form

/// Everything a conversion depends on besides its operands.
struct Conversion {
  const Element *from, *to;
  Rounding rounding;
  bool to_integral;  // .rni, .rzi, .rmi, .rpi
  bool ftz;
  bool sat;
  bool satfinite;
  bool relu;
  uint8_t from_width, to_width;  // bytes of the registers
  uint8_t count = 1;             // elements of a packed destination
};
static_assert(sizeof(Conversion) <= Op::kDetails);

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
  const Element& from = *c.from;
  if (from.bits < 64) bits &= (uint64_t(1) << from.bits) - 1;
  if (*c.from == Type::ue8m0) return decode_ue8m0(bits);
  if (from.integer) {
    if (!from.is_signed) return exact_integer(bits);
    return exact_integer(int64_t(bits << (64 - from.bits)) >> (64 - from.bits));
  }
  Exact x = decode(from.format, bits);
  // Not for f16 destinations (H200: cvt.rp.ftz.f16.f32 of a subnormal gives the smallest f16).
  if (c.ftz && *c.from == Type::f32 && *c.to != Type::f16) x = flushed(x, kF32);
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
uint64_t store_integer(const Conversion& c, const Element& to, const Exact& value) {
  const Exact x = integral(value, c.rounding);
  const uint64_t top = uint64_t(1) << (to.bits - 1);
  if (x.kind == Exact::nan) return *c.from == Type::f64 || to.bits == 64 ? top : 0;
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
uint64_t convert_integer(const Conversion& c, const Element& to, const Exact& x) {
  if (c.sat) return store_integer(c, to, x);
  return x.negative ? 0 - x.significand : x.significand;
}

/// Conversions from and to f64 keep a NaN's sign and the top of its payload and make it quiet; the others give the
/// destination's one NaN (H200).
uint64_t store_nan(const Conversion& c, const Format& f, const Exact& x) {
  if (*c.from != Type::f64 && *c.to != Type::f64) return f.nan;
  const Exact nan = c.ftz && *c.from == Type::f32 ? decode(kF32, kCanonicalNaN) : x;
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
  if (c.ftz && x.kind == Exact::number && *c.to == Type::f32)
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
  const bool same = c.from == c.to && (*c.from == Type::f32 || *c.from == Type::f64);
  return (same || (*c.from == Type::bf16 && *c.to == Type::f32)) && !c.to_integral && !c.ftz && !c.sat && !c.relu;
}

uint64_t convert(const Conversion& c, uint64_t bits, uint32_t random = 0) {
  if (moves_bits(c)) return c.from == c.to ? bits : bits << 16;
  const Exact x = load(c, bits);
  const Element& to = *c.to;
  if (*c.to == Type::ue8m0) return encode_ue8m0(x, c.rounding, c.satfinite);
  if (!to.integer) return store_float(c, to.format, x, random) << (*c.to == Type::tf32 ? 13 : 0);
  return c.from->integer ? convert_integer(c, to, x) : store_integer(c, to, x);
}

uint64_t load_register(const uint8_t* file, int width, int lane) {
  uint64_t v = 0;
  std::memcpy(&v, file + size_t(lane) * size_t(width), size_t(width));
  return v;
}
/// Results narrower than the register are extended by the type's signedness.
void store_register(uint8_t* file, int width, int lane, uint64_t value, const Element& type) {
  if (type.bits < 64) {
    const int unused = 64 - type.bits;
    value = type.integer && type.is_signed ? uint64_t(int64_t(value << unused) >> unused) : value << unused >> unused;
  }
  std::memcpy(file + size_t(lane) * size_t(width), &value, size_t(width));
}

void convert_scalar(Warp& w, const Op& op) {
  const Conversion c = op.get<Conversion>();
  const uint8_t* a = w.at<uint8_t>(op.a);
  uint8_t* d = w.at<uint8_t>(op.dst);
  const Element& to = *c.to;
  uint64_t r[32];
  for_lanes(w.exec(), [&](int i) { r[i] = convert(c, load_register(a, c.from_width, i)); });
  for_lanes(w.exec(), [&](int i) { store_register(d, c.to_width, i, r[i], to); });
}

/// Packed destination from op.list: sources in order of falling significance, one element each (f32 → pairs and quads),
/// or one packed source. op.b: random bits of .rs, or kNoSlot.
void convert_packed(Warp& w, const Op& op) {
  const Conversion c = op.get<Conversion>();
  const Element &from = *c.from, &to = *c.to;
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
        r = count == 4 ? share << 24 : *c.to == Type::f16 ? share << 19 : share << 16;
      }
      packed |= convert(c, bits, r) << (n * to.bits);
    }
    result[lane] = packed;
  });
  for_lanes(w.exec(), [&](int lane) { std::memcpy(d + size_t(lane) * c.to_width, &result[lane], c.to_width); });
}

// ---- Vectorised pairs

template <class To>
constexpr auto cast = []<class T>(T x) { return To(x); };
/// 8-bit types live in wider registers: the source's low byte extended, or the result's.
template <class To, class Byte>
constexpr auto through_byte = []<class T>(T x) { return To(Byte(x)); };

float f32_from_f16(f16 x) { return canonical(value(x)); }
float f32_from_bf16(bf16 x) { return value(x); }
double f64_from_f32(float x) { return x; }  // the host treats NaNs alike
float f32_from_f64(double x) { return float(x); }
template <class T>
T relu_nearest(float x) {
  return relu(nearest<T>(x));
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
Executor small_pair_executor(bool rectified) {
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

Executor integer_to_integer(const Conversion& c) {
  const Type from = c.from->type;
  return c.to->bits == 16   ? by_integer<cast<uint16_t>>(from)
         : c.to->bits == 32 ? by_integer<cast<uint32_t>>(from)
         : c.to->bits == 64 ? by_integer<cast<uint64_t>>(from)
                            : Executor{};
}
template <class Byte>
Executor through_byte_to(const Conversion& c) {
  return c.to_width == 2   ? by_size<through_byte<uint16_t, Byte>>(c.from_width)
         : c.to_width == 4 ? by_size<through_byte<uint32_t, Byte>>(c.from_width)
         : c.to_width == 8 ? by_size<through_byte<uint64_t, Byte>>(c.from_width)
                           : Executor{};
}
/// One side has 8 bits, the other a type as wide as its register.
Executor byte_executor(const Conversion& c) {
  const Element &from = *c.from, &to = *c.to;
  if (!from.integer || !to.integer || c.sat) return {};
  const bool narrows = to.bits == 8 && from.bits == c.from_width * 8,
             widens = from.bits == 8 && to.bits == c.to_width * 8;
  if (!narrows && !widens) return {};
  return (narrows ? to : from).is_signed ? through_byte_to<int8_t>(c) : through_byte_to<uint8_t>(c);
}

/// The vectorised executor of a scalar conversion whose registers have the types' own widths, if there is one.
Executor fast_scalar(const Conversion& c) {
  const Element &from = *c.from, &to = *c.to;
  const Rounding rounding = c.rounding;
  if (rounding == Rounding::rna) return c.satfinite ? lanewise<tf32_away<true>> : lanewise<tf32_away<false>>;
  if (const Executor byte = byte_executor(c); byte.fn) return byte;
  // To the nearest integer, or cut, a subnormal is zero anyway.
  const bool ftz = c.ftz && !(to.integer && (rounding == Rounding::rn || rounding == Rounding::rz));
  if (c.from_width * 8 != from.bits || c.to_width * 8 != to.bits || ftz || c.satfinite) return {};
  if (from.integer && to.integer) return c.sat ? Executor{} : integer_to_integer(c);
  if (c.sat) return from == Type::f32 && to == Type::f32 && !c.to_integral ? lanewise<f32_saturated> : Executor{};
  if (from == Type::f32 && to == Type::s32 && rounding == Rounding::rz) return lanewise<s32_toward_zero>;
  if (from == Type::f32 && to == Type::u32 && rounding == Rounding::rz) return lanewise<u32_toward_zero>;
  if (rounding != Rounding::rn) return {};
  if (from == Type::f32 && to == Type::s32) return lanewise<s32_nearest>;
  if (c.to_integral) return {};
  if (from == Type::f32 && to == Type::f16) return c.relu ? lanewise<relu_nearest<f16>> : lanewise<nearest<f16>>;
  if (from == Type::f32 && to == Type::bf16) return c.relu ? lanewise<relu_nearest<bf16>> : lanewise<nearest<bf16>>;
  if (c.relu) return {};
  if (from.integer && to == Type::f32) return by_integer<cast<float>>(from.type);
  if (from.integer && to == Type::f64) return by_integer<cast<double>>(from.type);
  if (from == Type::f16 && to == Type::f32) return lanewise<f32_from_f16>;
  if (from == Type::bf16 && to == Type::f32) return lanewise<f32_from_bf16>;
  if (from == Type::f32 && to == Type::f64) return lanewise<f64_from_f32>;
  if (from == Type::f64 && to == Type::f32) return lanewise<f32_from_f64>;
  return {};
}

/// The same of a pair of f32 that becomes a packed register, or of bytes that become halves.
Executor fast_packed(const Conversion& c) {
  const Element &from = *c.from, &to = *c.to;
  if (from == Type::f32 && c.count == 2 && c.rounding == Rounding::rn) {
    if (to == Type::f16 && !c.satfinite) return c.relu ? lanewise<relu_pair_of<f16>> : lanewise<pair_of<f16>>;
    if (to == Type::bf16 && !c.satfinite) return c.relu ? lanewise<relu_pair_of<bf16>> : lanewise<pair_of<bf16>>;
    if (to == Type::e2m1 && c.to_width == 1) return small_pair_executor<kE2M1, uint8_t>(c.relu);
    if (c.to_width != 2) return {};
    if (to == Type::e4m3) return small_pair_executor<kE4M3, uint16_t>(c.relu);
    if (to == Type::e5m2) return small_pair_executor<kE5M2, uint16_t>(c.relu);
    if (to == Type::e2m3) return small_pair_executor<kE2M3, uint16_t>(c.relu);
    if (to == Type::e3m2) return small_pair_executor<kE3M2, uint16_t>(c.relu);
  }
  if (to == Type::f16 && !c.relu && c.from_width == 2 && c.to_width == 4) {
    if (from == Type::e4m3) return lanewise<f16_pair<f16_from_e4m3>>;
    if (from == Type::e5m2) return lanewise<f16_pair<f16_from_e5m2>>;
  }
  return {};
}

// ---- Decoding

/// All but the registers' widths.
Conversion conversion_of(const ptx::Instruction& inst, const Shape& from, const Shape& to) {
  Conversion c{};
  c.from = from.element;
  c.to = to.element;
  c.rounding = rounding_of(inst);
  c.to_integral = inst.one_of("rni", "rzi", "rmi", "rpi") != "";
  c.ftz = inst.has("ftz");
  c.sat = inst.has("sat");
  c.satfinite = inst.has("satfinite");
  c.relu = inst.has("relu");
  c.count = uint8_t(to.count);
  return c;
}

void decode_cvt(Decoder& d, Op& op) {
  const Type source = d.inst->type(1);
  const Shape to = shape_of(d, d.inst->type(0)), from = shape_of(d, source);
  Conversion c = conversion_of(*d.inst, from, to);
  op.dst = d.dst(d.operand(0));
  c.to_width = uint8_t(d.width(d.operand(0), ptx::size_of(d.inst->type(0))));
  c.from_width = uint8_t(d.width(d.operand(1), ptx::size_of(source)));
  size_t next = 2;
  if (from.count == to.count) {
    op.a = d.src(d.operand(1), source);
  } else {
    OperandList slots;
    add_sources(d, d.operand(1), source, slots);
    if (slots.size() == 1) add_sources(d, d.operand(next++), source, slots);
    op.a = slots.words()[0];
    op.b = slots.words()[1];
    c.from_width = uint8_t(ptx::size_of(source));
    d.set_list(op, std::move(slots));
  }
  op.set(c);
  const ExecFn fast = to.count == 1 ? fast_scalar(c).fn : fast_packed(c).fn;
  if (!fast) op.b = c.rounding == Rounding::rs ? d.src(d.operand(next), Type::b32) : kNoSlot;
  finish(d, op, fast ? fast : to.count == 1 ? convert_scalar : convert_packed, CostClass::cvt);
}

}  // namespace

Table convert_table() {
  static constexpr Entry table[] = {{Opcode::cvt, decode_cvt}};
  return {table};
}

}  // namespace tinygpu::isa
