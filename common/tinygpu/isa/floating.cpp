// Floating-point add, sub, mul, fma, min, max, abs, neg, copysign (PTX ISA 9.7.3, 9.7.4, 9.7.5) on f32, f64, f16, bf16,
// the packed pairs f32x2, f16x2, bf16x2, and the mixed forms add/sub/fma.f32.{f16,bf16}.
#include "common/tinygpu/isa/floats.h"
#include "common/tinygpu/isa/half_arithmetic.h"
#include "common/tinygpu/isa/scalar.h"

namespace tinygpu::isa {
namespace {

// ---- Rounded arithmetic
// f16 and bf16 sums and products are computed in float and rounded again: float's 24 bits are enough for the second
// rounding to see what the first one lost (24 >= 2 * 11 + 2).
// f64 NaN operands win in the order b, c, a of a × b + c; a sum is a × 1 + b, a product a × b + 0.

template <class T>
constexpr bool kIsDouble = std::is_same_v<T, double>;

constexpr auto add = []<class T>(T a, T b) {
  if constexpr (kIsDouble<T>)
    return payload(host::add(a, b), b, a);
  else
    return nearest<T>(host::add(value(a), value(b)));
};
constexpr auto sub = []<class T>(T a, T b) {
  if constexpr (kIsDouble<T>)
    return payload(host::sub(a, b), b, a);
  else
    return nearest<T>(host::sub(value(a), value(b)));
};
constexpr auto mul = []<class T>(T a, T b) {
  if constexpr (kIsDouble<T>)
    return payload(host::mul(a, b), b, a);
  else
    return nearest<T>(host::mul(value(a), value(b)));
};
float fma(float a, float b, float c) { return canonical(fused(a, b, c)); }
double fma(double a, double b, double c) { return payload(fused(a, b, c), b, c, a); }
f16 fma(f16 a, f16 b, f16 c) { return fused16(a, b, c); }
bf16 fma(bf16 a, bf16 b, bf16 c) { return fused16(a, b, c); }
template <class T>
constexpr T (*kFma)(T, T, T) = fma;

/// Under a directed mode float() and fma must round by that mode, so nothing goes through double.
float fma_directed(float a, float b, float c) { return canonical(host::fma(a, b, c)); }
double fma_directed(double a, double b, double c) { return payload(host::fma(a, b, c), b, c, a); }
template <class T>
constexpr T (*kFmaDirected)(T, T, T) = fma_directed;

// The results before rounding, by which .ftz decides. Tiny sums of normal numbers are exact: add and sub need none.
template <class T>
double exact_mul(T a, T b) {
  return double(value(a)) * double(value(b));
}
template <class T>
double exact_fma(T a, T b, T c) {
  return sum_to_odd(double(value(a)) * double(value(b)), double(value(c)));
}
/// Under a directed mode rounding to double first is harmless: the second rounding goes the same way.
double exact_fma_directed(float a, float b, float c) { return host::add(double(a) * b, double(c)); }

/// .oob: an operand that a bounds-checked tensor load filled with the out-of-bounds NaN makes the result zero (H200).
template <class T>
T fma_oob(T a, T b, T c) {
  const auto is_oob = [](T x) { return (bits_of(x) & 0x7fff) == 0x7ff7; };
  return is_oob(a) || is_oob(b) ? T(0) : fused16(a, b, c);
}

// ---- Mixed precision: f32 with f16 or bf16 operands (sm_100)

constexpr auto add_mixed = []<class T>(T a, float c) { return canonical(host::add(value(a), c)); };
constexpr auto sub_mixed = []<class T>(T a, float c) { return canonical(host::sub(value(a), c)); };
constexpr auto fma_mixed = []<class T>(T a, T b, float c) { return canonical(fused(value(a), value(b), c)); };
constexpr auto fma_mixed_directed = []<class T>(T a, T b, float c) {
  return canonical(host::fma(value(a), value(b), c));
};

// ---- Sign and order

template <class T>
struct Layout;
template <>
struct Layout<float> {
  using Bits = uint32_t;
  static constexpr Bits infinity = 0x7f800000, nan = kCanonicalNaN;
};
template <>
struct Layout<double> {
  using Bits = uint64_t;
  static constexpr Bits infinity = 0x7ff0000000000000, nan = 0x7fffffffffffffff;
};
template <>
struct Layout<f16> {
  using Bits = uint16_t;
  static constexpr Bits infinity = 0x7c00, nan = kCanonicalNaN16;
};
template <>
struct Layout<bf16> {
  using Bits = uint16_t;
  static constexpr Bits infinity = 0x7f80, nan = kCanonicalNaN16;
};
template <class T>
using Bits = typename Layout<T>::Bits;
template <class T>
constexpr Bits<T> kSign = Bits<T>(Bits<T>(1) << (kBits<Bits<T>> - 1));
template <class T>
constexpr Bits<T> raw(T x) {
  return std::bit_cast<Bits<T>>(x);
}
template <class T>
constexpr T as(Bits<T> b) {
  return std::bit_cast<T>(b);
}
template <class T>
constexpr Bits<T> magnitude(T x) {
  return Bits<T>(raw(x) & Bits<T>(~kSign<T>));
}
template <class T>
constexpr bool is_nan(T x) {
  return magnitude(x) > Layout<T>::infinity;
}

// A NaN becomes the canonical one; f64's keeps payload and sign and becomes quiet (H200).
constexpr auto neg = []<class T>(T a) {
  if constexpr (kIsDouble<T>)
    return a == a ? -a : quiet(a);
  else
    return as<T>(is_nan(a) ? Layout<T>::nan : Bits<T>(raw(a) ^ kSign<T>));
};
constexpr auto abs = []<class T>(T a) {
  if constexpr (kIsDouble<T>)
    return a == a ? std::fabs(a) : quiet(a);
  else
    return as<T>(is_nan(a) ? Layout<T>::nan : magnitude(a));
};
/// The magnitude of b with the sign of a.
constexpr auto copysign = []<class T>(T a, T b) { return as<T>(Bits<T>(magnitude(b) | (raw(a) & kSign<T>))); };

/// Encodings as integers in numerical order, −0 below +0.
template <class T>
std::make_signed_t<Bits<T>> order(T x) {
  using S = std::make_signed_t<Bits<T>>;
  const S s = S(raw(x));
  return S(s ^ S(S(s >> (kBits<Bits<T>> - 1)) & S(Bits<T>(~kSign<T>))));
}
constexpr auto lesser = []<class T>(T a, T b) { return order(a) < order(b) ? a : b; };
constexpr auto greater = []<class T>(T a, T b) { return order(a) < order(b) ? b : a; };

/// A NaN loses against a number; two give the canonical NaN, and of f64 the second, quieted.
template <auto pick>
constexpr auto number_wins = []<class T>(T a, T b) {
  if constexpr (kIsDouble<T>) return b != b ? (a != a ? quiet(b) : a) : a != a ? b : pick(a, b);
  const Bits<T> r = raw(pick(a, b));
  const Bits<T> one = is_nan(a) ? raw(b) : is_nan(b) ? raw(a) : r;
  return as<T>((int(is_nan(a)) & int(is_nan(b))) ? Layout<T>::nan : one);
};
/// .NaN: a NaN wins.
template <auto pick>
constexpr auto nan_wins =
    []<class T>(T a, T b) { return as<T>((int(is_nan(a)) | int(is_nan(b))) ? Layout<T>::nan : raw(pick(a, b))); };
/// .xorsign.abs: of the magnitudes, with the product's sign; a NaN has none.
template <auto f>
constexpr auto xorsign = []<class T>(T a, T b) {
  const T r = f(abs(a), abs(b));
  return as<T>(is_nan(r) ? Layout<T>::nan : Bits<T>(raw(r) | ((raw(a) ^ raw(b)) & kSign<T>)));
};
template <auto f>
float three(float a, float b, float c) {
  return f(f(a, b), c);
}
template <auto f>
float three_abs(float a, float b, float c) {
  return f(f(abs(a), abs(b)), abs(c));
}

// ---- Decoding

/// For `exact` of an operation that has no .ftz, or whose tiny results are exact.
struct None {};
constexpr None kNone;
template <auto exact>
constexpr bool kTinyInexact = !std::is_same_v<std::remove_cv_t<decltype(exact)>, None>;

template <auto f, auto exact>
constexpr auto with_ftz() {
  if constexpr (kTinyInexact<exact>)
    return FlushTiny<f, exact>::call;
  else
    return Modified<f>::ftz;
}
template <auto f, int N>
Executor maybe_sat(const ptx::Instruction& inst) {
  return inst.has("sat") ? lanewise<Modified<f>::sat, N> : lanewise<f, N>;
}
template <auto f, int N>
Executor maybe_relu_or_sat(const ptx::Instruction& inst) {
  return inst.has("relu") ? lanewise<Modified<f>::relu, N> : maybe_sat<f, N>(inst);
}
template <auto f, int N>
Executor maybe_sat_directed(const ptx::Instruction& inst) {
  return inst.has("sat") ? directed<Modified<f>::sat, N> : directed<f, N>;
}

/// Executor of a rounded operation with its modifiers. Rounding other than to nearest only for f32 and f64.
template <int N, auto f, auto exact, auto f_directed = f, auto exact_directed = exact>
Executor rounded(const ptx::Instruction& inst, Op& op) {
  const bool ftz = inst.has("ftz");
  const Rounding rounding = rounding_of(inst);
  op.set(rounding);
  if constexpr (!std::is_enum_v<typename Elements<f>::Result>)
    if (rounding != Rounding::rn)
      return ftz ? maybe_sat_directed<with_ftz<f_directed, exact_directed>(), N>(inst)
                 : maybe_sat_directed<f_directed, N>(inst);
  if (!ftz) return maybe_sat<f, N>(inst);
  if constexpr (kTinyInexact<exact>)
    if (!inst.has("sat")) return flushing<f, exact, N>;
  return maybe_sat<with_ftz<f, exact>(), N>(inst);
}
/// The quick executor of an instruction without .ftz and .oob.
template <class T, int N, class Operation>
Executor quick16(const ptx::Instruction& inst) {
  constexpr auto exact = kFma<T>;
  if (inst.has("relu")) return halves_by_float<T, N, Operation, WithoutNegatives, Modified<exact>::relu>;
  if (inst.has("sat")) return halves_by_float<T, N, Operation, WithinOne, Modified<exact>::sat>;
  return halves_by_float<T, N, Operation, AsItIs, exact>;
}

/// add, sub or mul.
template <class T, int N>
Executor rounded_binary(const ptx::Instruction& inst, Op& op) {
  const Opcode o = inst.opcode;
  if (o == Opcode::add) return rounded<N, instance<add, T>, kNone>(inst, op);
  if (o == Opcode::sub) return rounded<N, instance<sub, T>, kNone>(inst, op);
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, f16>)
    return rounded<N, instance<mul, T>, exact_mul<T>>(inst, op);
  else
    return rounded<N, instance<mul, T>, kNone>(inst, op);  // f64 and bf16 have no .ftz
}
template <class T, int N>
Executor rounded16(const ptx::Instruction& inst, Op& op) {
  const bool ftz = inst.has("ftz");
  if (inst.opcode == Opcode::fma) {
    if (inst.has("oob")) return maybe_relu_or_sat<fma_oob<T>, N>(inst);
    if constexpr (std::is_same_v<T, f16>)
      if (ftz) return maybe_relu_or_sat<FlushTiny<kFma<T>, exact_fma<T>>::call, N>(inst);
    if constexpr (kQuickHalves) return quick16<T, N, FmaFloats>(inst);
    return maybe_relu_or_sat<kFma<T>, N>(inst);
  }
  if (kQuickHalves && !ftz)
    return inst.opcode == Opcode::add   ? quick16<T, N, AddFloats>(inst)
           : inst.opcode == Opcode::sub ? quick16<T, N, SubFloats>(inst)
                                        : quick16<T, N, MulFloats>(inst);
  return rounded_binary<T, N>(inst, op);
}
bool is_fma(const ptx::Instruction& inst) { return inst.opcode == Opcode::fma || inst.opcode == Opcode::mad; }
template <int N>
Executor rounded32(const ptx::Instruction& inst, Op& op) {
  if (!is_fma(inst)) return rounded_binary<float, N>(inst, op);
  return rounded<N, kFma<float>, exact_fma<float>, kFmaDirected<float>, exact_fma_directed>(inst, op);
}
Executor rounded64(const ptx::Instruction& inst, Op& op) {
  if (!is_fma(inst)) return rounded_binary<double, 1>(inst, op);
  return rounded<1, kFma<double>, kNone, kFmaDirected<double>>(inst, op);
}
template <class T>
Executor mixed(const ptx::Instruction& inst, Op& op) {
  if (inst.opcode == Opcode::add) return rounded<1, instance<add_mixed, T>, kNone>(inst, op);  // no .ftz
  if (inst.opcode == Opcode::sub) return rounded<1, instance<sub_mixed, T>, kNone>(inst, op);
  return rounded<1, instance<fma_mixed, T>, kNone, instance<fma_mixed_directed, T>>(inst, op);
}
Executor rounded_executor(const ptx::Instruction& inst, Op& op) {
  if (inst.types.size() > 1) return inst.type(1) == Type::f16 ? mixed<f16>(inst, op) : mixed<bf16>(inst, op);
  switch (inst.type()) {
    case Type::f32: return rounded32<1>(inst, op);
    case Type::f32x2: return rounded32<2>(inst, op);
    case Type::f64: return rounded64(inst, op);
    case Type::f16: return rounded16<f16, 1>(inst, op);
    case Type::f16x2: return rounded16<f16, 2>(inst, op);
    case Type::bf16: return rounded16<bf16, 1>(inst, op);
    case Type::bf16x2: return rounded16<bf16, 2>(inst, op);
    default: return {};
  }
}

template <class T, int N, auto f>
Executor extremum_of(const ptx::Instruction& inst) {
  if constexpr (std::is_same_v<T, float>)
    if (inst.operands.size() == 4)
      return inst.has("abs") ? maybe_ftz<three_abs<f>, N>(inst) : maybe_ftz<three<f>, N>(inst);
  return inst.has("xorsign") ? maybe_ftz<instance<xorsign<f>, T>, N>(inst) : maybe_ftz<instance<f, T>, N>(inst);
}
template <class T, int N>
Executor sign_or_order(const ptx::Instruction& inst) {
  const bool nan = inst.has("NaN");
  switch (inst.opcode) {
    case Opcode::min:
      return nan ? extremum_of<T, N, nan_wins<lesser>>(inst) : extremum_of<T, N, number_wins<lesser>>(inst);
    case Opcode::max:
      return nan ? extremum_of<T, N, nan_wins<greater>>(inst) : extremum_of<T, N, number_wins<greater>>(inst);
    case Opcode::neg: return maybe_ftz<instance<neg, T>, N>(inst);
    case Opcode::abs: return maybe_ftz<instance<abs, T>, N>(inst);
    default: return lanewise<instance<copysign, T>, N>;
  }
}
Executor sign_or_order_executor(const ptx::Instruction& inst) {
  switch (inst.type()) {
    case Type::f32: return sign_or_order<float, 1>(inst);
    case Type::f64: return sign_or_order<double, 1>(inst);
    case Type::f16: return sign_or_order<f16, 1>(inst);
    case Type::f16x2: return sign_or_order<f16, 2>(inst);
    case Type::bf16: return sign_or_order<bf16, 1>(inst);
    case Type::bf16x2: return sign_or_order<bf16, 2>(inst);
    default: return {};
  }
}
/// `of_f32`: what the operation costs on f32.
CostClass float_cost(Type t, CostClass of_f32) {
  return t == Type::f32     ? of_f32
         : t == Type::f32x2 ? CostClass::fma2
         : t == Type::f64   ? CostClass::fp64
                            : CostClass::half;
}

}  // namespace

void decode_float_arithmetic(Decoder& d, Op& op) {
  const Opcode o = d.inst->opcode;
  const Type t = d.inst->type();
  if (is_fma(*d.inst) || o == Opcode::add || o == Opcode::sub || o == Opcode::mul)
    return decode_lanewise(d, op, rounded_executor(*d.inst, op), float_cost(t, CostClass::fma));
  decode_lanewise(d, op, sign_or_order_executor(*d.inst), float_cost(t, CostClass::alu));
}

}  // namespace tinygpu::isa
