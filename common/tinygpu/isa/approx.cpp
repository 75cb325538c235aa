// Division, reciprocal, roots, and the functions of the special-function unit (PTX ISA 9.7.3, 9.7.4).
// .rn/.rz/.rm/.rp forms are exact. The .approx forms give the correctly rounded value (or within 2^-30 of it before
// rounding): hardware's are table-driven and may differ in the last bits; notes/evidence.md states by how much on an
// H200.
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/floats.h"
#include "common/tinygpu/isa/scalar.h"

namespace tinygpu::isa {
namespace {

using ptx::Type;

float div(float a, float b) { return canonical(a / b); }
float rcp(float a) { return canonical(1.0f / a); }
float sqrt(float a) { return canonical(std::sqrt(a)); }
float rsqrt(float a) { return canonical(float(1.0 / std::sqrt(double(a)))); }
double exact_div(float a, float b) { return double(a) / b; }
double exact_rcp(float a) { return 1.0 / a; }
/// a times the flushed reciprocal: 0 for |b| above 2^126.
float div_approx(float a, float b) { return canonical(std::fabs(b) > 0x1p126f ? a * std::copysign(0.0f, b) : a / b); }
double div64(double a, double b) { return payload(a / b, a, b); }
double rcp64(double a) { return payload(1.0 / a, a); }
double sqrt64(double a) { return payload(std::sqrt(a), a); }
double rsqrt64(double a) { return payload(1.0 / std::sqrt(a), a); }

/// .approx.ftz.f64: operand and result are high words (20 fraction bits); the low word of the operand is ignored, that
/// of the result zero, also in its NaN. Subnormals are zeros.
double high_word(double x) {
  return std::bit_cast<double>((x == x ? bits_of(x) : ~uint64_t(0) >> 1) & 0xffffffff00000000);
}
double flush64(double x) {
  const uint64_t u = bits_of(x);
  return std::bit_cast<double>((u & 0x7ff0000000000000) ? u : u & 0x8000000000000000);
}
double cut(double x) { return std::bit_cast<double>(bits_of(x) & 0xffffffff00000000); }
double rcp_approx64(double a) { return high_word(flush64(rcp64(flush64(cut(a))))); }
double rsqrt_approx64(double a) { return high_word(flush64(rsqrt64(flush64(cut(a))))); }

/// 2^a: an integer part for the exponent field, a Taylor series of the rest (|t| <= ln 2 / 2, error below 2^-38).
float ex2(float a) {
  const double x = a < -200.0f ? -200.0 : a > 200.0f ? 200.0 : double(a);
  constexpr double kShift = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const double shifted = x + kShift;
  const double t = (x - (shifted - kShift)) * 0x1.62e42fefa39efp-1;
  double p = 1.0 / 362880;
  p = p * t + 1.0 / 40320;
  p = p * t + 1.0 / 5040;
  p = p * t + 1.0 / 720;
  p = p * t + 1.0 / 120;
  p = p * t + 1.0 / 24;
  p = p * t + 1.0 / 6;
  p = p * t + 0.5;
  p = p * t + 1.0;
  p = p * t + 1.0;
  const uint64_t integer = bits_of(shifted) - bits_of(kShift);
  const float r = float(std::bit_cast<double>(bits_of(p) + (integer << 52)));
  return a != a ? kNaN32 : r;
}

/// log2 a: exponent plus 2/ln 2 × atanh((m − 1)/(m + 1)) for m in [1/√2, √2).
float lg2(float a) {
  const uint64_t u = bits_of(double(a));
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const int64_t exponent = int64_t(u - kRootHalf) >> 52;
  const double m = std::bit_cast<double>(u - (uint64_t(exponent) << 52));
  const double z = (m - 1) / (m + 1), s = z * z;
  double p = 1.0 / 17;
  p = p * s + 1.0 / 15;
  p = p * s + 1.0 / 13;
  p = p * s + 1.0 / 11;
  p = p * s + 1.0 / 9;
  p = p * s + 1.0 / 7;
  p = p * s + 1.0 / 5;
  p = p * s + 1.0 / 3;
  p = p * s + 1.0;
  const float r = float(double(int32_t(exponent)) + z * p * 0x1.71547652b82fep+1);
  constexpr float kInfinity = HUGE_VALF;
  return !(a >= 0) ? kNaN32 : a == 0 ? -kInfinity : a == kInfinity ? a : r;
}

/// sin and cos work on turns: a / 2π rounded toward zero to float, its fraction cut to 25 bits, of which two name the
/// quadrant; odd quadrants run backward by complementing the bits (H200: seen in results near zeros and for large
/// operands).
float turns(float a) {
  const double product = double(a) * double(0x1.45f306p-3f);
  return std::bit_cast<float>(bits_of(float(product)) -
                              uint32_t(std::fabs(double(float(product))) > std::fabs(product)));
}
float sine_of(uint32_t phase) {
  constexpr uint32_t kQuarter = (1u << 23) - 1;
  const uint32_t quadrant = phase >> 23 & 3, within = phase & kQuarter;
  const uint32_t forward = quadrant & 1 ? kQuarter - within : within;
  const float r = float(std::sin(double(forward) * (0x1.921fb54442d18p+2 / (1 << 25))));
  return quadrant & 2 ? -r : r;
}
/// Fraction of |t| in units of 2^-25.
uint32_t phase_of(float t) {
  const double magnitude = std::fabs(double(t));
  return uint32_t((magnitude - std::floor(magnitude)) * (1 << 25));
}
float sin(float a) {
  if (!(std::fabs(a) < HUGE_VALF)) return kNaN32;
  const float r = sine_of(phase_of(turns(a)));
  return std::signbit(a) ? -r : r;
}
float cos(float a) {
  if (!(std::fabs(a) < HUGE_VALF)) return kNaN32;
  return sine_of(phase_of(turns(a)) + (1u << 23));
}
float tanh(float a) { return canonical(float(std::tanh(double(a)))); }

template <class T>
T ex2_16(T a) {
  return nearest<T>(ex2(value(a)));
}
template <class T>
T tanh_16(T a) {
  return nearest<T>(tanh(value(a)));
}

// ---- Decoding

template <auto f>
ExecFn maybe_ftz(const ptx::Instruction& inst) {
  return inst.has("ftz") ? lanewise<Modified<f>::ftz> : lanewise<f>;
}
/// An IEEE operation: to nearest vectorised, else under the host's rounding mode.
template <auto f, auto f_ftz = f>
ExecFn ieee(const ptx::Instruction& inst, Op& op) {
  const Rounding rounding = rounding_of(inst);
  op.set(rounding);
  const bool ftz = inst.has("ftz");
  if (rounding == Rounding::rn) return ftz ? lanewise<f_ftz> : lanewise<f>;
  return ftz ? directed<f_ftz> : directed<f>;
}
bool approximate(const ptx::Instruction& inst) { return inst.has("approx"); }

void decode_div(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (!ptx::is_float(t)) return decode_integer_division(d, op);
  plain_operands(d, op, t);
  const bool sfu = approximate(*d.inst) || d.inst->has("full");
  finish(d, op,
         t == Type::f64   ? ieee<div64>(*d.inst, op)
         : t != Type::f32 ? nullptr
         : approximate(*d.inst)
             ? (d.inst->has("ftz") ? lanewise<FlushTiny<div_approx, exact_div>::call> : lanewise<div_approx>)
             : ieee<div, FlushTiny<div, exact_div>::call>(*d.inst, op),
         t == Type::f64 ? CostClass::fdiv64
         : sfu          ? CostClass::sfu
                        : CostClass::fdiv);
}
void decode_rcp(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  const bool sfu = approximate(*d.inst);
  finish(d, op,
         t == Type::f64 ? (sfu ? lanewise<rcp_approx64> : ieee<rcp64>(*d.inst, op))
                        : ieee<rcp, FlushTiny<rcp, exact_rcp>::call>(*d.inst, op),
         sfu              ? CostClass::sfu
         : t == Type::f64 ? CostClass::fdiv64
                          : CostClass::fdiv);
}
void decode_sqrt(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, t == Type::f64 ? ieee<sqrt64>(*d.inst, op) : ieee<sqrt, Modified<sqrt>::ftz>(*d.inst, op),
         approximate(*d.inst) ? CostClass::sfu
         : t == Type::f64     ? CostClass::fdiv64
                              : CostClass::fdiv);
}
void decode_rsqrt(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(
      d, op,
      t == Type::f64 ? (d.inst->has("ftz") ? lanewise<rsqrt_approx64> : lanewise<rsqrt64>) : maybe_ftz<rsqrt>(*d.inst),
      t == Type::f64 ? CostClass::fdiv64 : CostClass::sfu);
}

template <auto f32, auto half, auto brain>
void decode_function(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  const bool ftz = d.inst->has("ftz");
  switch (t) {
    case Type::f32: return finish(d, op, maybe_ftz<f32>(*d.inst), CostClass::sfu);
    case Type::f16: return finish(d, op, lanewise<half>, CostClass::sfu);
    case Type::f16x2: return finish(d, op, lanewise<half, 2>, CostClass::sfu);
    case Type::bf16: return finish(d, op, ftz ? lanewise<Modified<brain>::ftz> : lanewise<brain>, CostClass::sfu);
    case Type::bf16x2:
      return finish(d, op, ftz ? lanewise<Modified<brain>::ftz, 2> : lanewise<brain, 2>, CostClass::sfu);
    default: d.not_modelled();
  }
}
template <auto f>
void decode_function32(Decoder& d, Op& op) {
  plain_operands(d, op, Type::f32);
  finish(d, op, maybe_ftz<f>(*d.inst), CostClass::sfu);
}

}  // namespace

Table approx_table() {
  static const Entry table[] = {
      {Opcode::div, decode_div},
      {Opcode::rcp, decode_rcp},
      {Opcode::sqrt, decode_sqrt},
      {Opcode::rsqrt, decode_rsqrt},
      {Opcode::ex2, decode_function<ex2, ex2_16<f16>, ex2_16<bf16>>},
      {Opcode::tanh, decode_function<tanh, tanh_16<f16>, tanh_16<bf16>>},
      {Opcode::lg2, decode_function32<lg2>},
      {Opcode::sin, decode_function32<sin>},
      {Opcode::cos, decode_function32<cos>},
  };
  return {std::begin(table), std::end(table)};
}

}  // namespace tinygpu::isa
