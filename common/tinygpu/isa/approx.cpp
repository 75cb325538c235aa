// Division, reciprocal, roots, and the functions of the special-function unit (PTX ISA 9.7.3, 9.7.4).
// .rn/.rz/.rm/.rp forms are exact. The .approx forms give the correctly rounded value (or within 2^-30 of it before
// rounding): hardware's are table-driven and may differ in the last bits; notes/evidence.md states by how much on an
// H200.
#include "common/tinygpu/isa/floats.h"

namespace tinygpu::isa {
namespace {

float div(float a, float b) { return canonical(host::div(a, b)); }
float rcp(float a) { return canonical(host::div(1.0f, a)); }
float sqrt(float a) { return canonical(host::sqrt(a)); }
float rsqrt(float a) { return canonical(float(1.0 / std::sqrt(double(a)))); }
double exact_div(float a, float b) { return host::div(double(a), double(b)); }
double exact_rcp(float a) { return host::div(1.0, double(a)); }
/// a times the flushed reciprocal: 0 for |b| above 2^126.
float div_approx(float a, float b) { return canonical(std::fabs(b) > 0x1p126f ? a * std::copysign(0.0f, b) : a / b); }
double div64(double a, double b) { return payload(host::div(a, b), a, b); }
double rcp64(double a) { return payload(host::div(1.0, a), a); }
double sqrt64(double a) { return payload(host::sqrt(a), a); }
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

constexpr auto ex2_half = []<class T>(T a) { return nearest<T>(ex2(value(a))); };
constexpr auto tanh_half = []<class T>(T a) { return nearest<T>(tanh(value(a))); };

// ---- Decoding

/// An IEEE operation: to nearest vectorised, else under the host's rounding mode.
template <auto f, auto f_ftz = f>
Executor ieee(const ptx::Instruction& inst, Op& op) {
  const Rounding rounding = rounding_of(inst);
  op.set(rounding);
  const bool ftz = inst.has("ftz");
  if (rounding == Rounding::rn) return ftz ? lanewise<f_ftz> : lanewise<f>;
  return ftz ? directed<f_ftz> : directed<f>;
}
CostClass division_cost(const ptx::Instruction& inst) {
  if (inst.has("approx") || inst.has("full")) return CostClass::sfu;
  return inst.type() == Type::f64 ? CostClass::fdiv64 : CostClass::fdiv;
}

void decode_div(Decoder& d, Op& op) {
  const ptx::Instruction& inst = *d.inst;
  if (!ptx::is_float(inst.type())) return decode_form(d, op);
  decode_lanewise(d, op,
                  inst.type() == Type::f64 ? ieee<div64>(inst, op)
                  : inst.has("approx")
                      ? (inst.has("ftz") ? lanewise<FlushTiny<div_approx, exact_div>::call> : lanewise<div_approx>)
                      : ieee<div, FlushTiny<div, exact_div>::call>(inst, op),
                  division_cost(inst));
}
void decode_rcp(Decoder& d, Op& op) {
  const ptx::Instruction& inst = *d.inst;
  decode_lanewise(d, op,
                  inst.type() == Type::f32 ? ieee<rcp, FlushTiny<rcp, exact_rcp>::call>(inst, op)
                  : inst.has("approx")     ? lanewise<rcp_approx64>
                                           : ieee<rcp64>(inst, op),
                  division_cost(inst));
}
void decode_sqrt(Decoder& d, Op& op) {
  const ptx::Instruction& inst = *d.inst;
  decode_lanewise(d, op, inst.type() == Type::f64 ? ieee<sqrt64>(inst, op) : ieee<sqrt, Modified<sqrt>::ftz>(inst, op),
                  division_cost(inst));
}
void decode_rsqrt(Decoder& d, Op& op) {
  const ptx::Instruction& inst = *d.inst;
  if (inst.type() == Type::f32) return decode_lanewise(d, op, maybe_ftz<rsqrt>(inst), CostClass::sfu);
  decode_lanewise(d, op, inst.has("ftz") ? lanewise<rsqrt_approx64> : lanewise<rsqrt64>, CostClass::fdiv64);
}

/// f32 by `f`, halves by `half`.
template <auto f, auto half>
void decode_function(Decoder& d, Op& op) {
  constexpr auto brain = instance<half, bf16>;
  const bool ftz = d.inst->has("ftz");
  const auto executor = [&]() -> Executor {
    switch (d.inst->type()) {
      case Type::f32: return maybe_ftz<f>(*d.inst);
      case Type::f16: return lanewise<instance<half, f16>>;
      case Type::f16x2: return lanewise<instance<half, f16>, 2>;
      case Type::bf16: return maybe_ftz<brain>(*d.inst);
      case Type::bf16x2: return ftz ? lanewise<Modified<brain>::ftz, 2> : lanewise<brain, 2>;
      default: return {};
    }
  };
  decode_lanewise(d, op, executor(), CostClass::sfu);
}

constexpr LanewiseForm kApproxForms[] = {
    {Opcode::lg2, "ftz", always<Modified<lg2>::ftz>, CostClass::sfu}, {Opcode::lg2, "", always<lg2>, CostClass::sfu},
    {Opcode::sin, "ftz", always<Modified<sin>::ftz>, CostClass::sfu}, {Opcode::sin, "", always<sin>, CostClass::sfu},
    {Opcode::cos, "ftz", always<Modified<cos>::ftz>, CostClass::sfu}, {Opcode::cos, "", always<cos>, CostClass::sfu},
};

}  // namespace

Table approx_table() {
  static constexpr Entry table[] = {
      {Opcode::div, decode_div},
      {Opcode::rcp, decode_rcp},
      {Opcode::sqrt, decode_sqrt},
      {Opcode::rsqrt, decode_rsqrt},
      {Opcode::ex2, decode_function<ex2, ex2_half>},
      {Opcode::tanh, decode_function<tanh, tanh_half>},
  };
  return {table, kApproxForms};
}

}  // namespace tinygpu::isa
