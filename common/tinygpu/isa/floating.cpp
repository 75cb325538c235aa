// Floating-point add, sub, mul, fma, min, max, abs, neg, copysign (PTX ISA 9.7.3, 9.7.4, 9.7.5) on f32, f64, f16, bf16,
// the packed pairs f32x2, f16x2, bf16x2, and the mixed forms add/sub/fma.f32.{f16,bf16}.
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/floats.h"
#include "common/tinygpu/isa/half_arithmetic.h"
#include "common/tinygpu/isa/scalar.h"

namespace tinygpu::isa {
namespace {

using ptx::Type;

// ---- Rounded arithmetic
// f16 and bf16 sums and products are computed in float and rounded again: float's 24 bits are enough for the second
// rounding to see what the first one lost (24 >= 2 * 11 + 2).

template <class T>
T add(T a, T b) {
  return nearest<T>(value(a) + value(b));
}
template <class T>
T sub(T a, T b) {
  return nearest<T>(value(a) - value(b));
}
template <class T>
T mul(T a, T b) {
  return nearest<T>(value(a) * value(b));
}
template <class T>
T fma(T a, T b, T c) {
  return fused16(a, b, c);
}
// f64 NaN operands win in the order b, c, a of a × b + c; a sum is a × 1 + b, a product a × b + 0.
template <>
double add(double a, double b) {
  return payload(a + b, b, a);
}
template <>
double sub(double a, double b) {
  return payload(a - b, b, a);
}
template <>
double mul(double a, double b) {
  return payload(a * b, b, a);
}
template <>
double fma(double a, double b, double c) {
  return payload(fused(a, b, c), b, c, a);
}
template <>
float fma(float a, float b, float c) {
  return canonical(fused(a, b, c));
}

/// Under a directed mode float() and std::fma must round by that mode, so nothing goes through double.
float fma_directed(float a, float b, float c) { return canonical(std::fma(a, b, c)); }
double fma_directed(double a, double b, double c) { return payload(std::fma(a, b, c), b, c, a); }

// What .ftz decides on. Sums of normal numbers that are tiny are exact, so add and sub need none.
template <class T>
double exact_mul(T a, T b) {
  return double(value(a)) * double(value(b));
}
template <class T>
double exact_fma(T a, T b, T c) {
  return sum_to_odd(double(value(a)) * double(value(b)), double(value(c)));
}
/// Under a directed mode rounding to double first is harmless: the second rounding goes the same way.
double exact_fma_directed(float a, float b, float c) { return double(a) * b + c; }

// ---- .oob: an operand that a bounds-checked tensor load filled with the out-of-bounds NaN makes the result zero

template <class T>
bool is_oob(T x) {
  return (bits_of(x) & 0x7fff) == 0x7ff7;
}  // f16 and bf16 (H200)
template <class T>
T fma_oob(T a, T b, T c) {
  return is_oob(a) || is_oob(b) ? T(0) : fused16(a, b, c);
}

// ---- Mixed precision: f32 with f16 or bf16 operands (sm_100)

template <class T>
float add_mixed(T a, float c) {
  return canonical(value(a) + c);
}
template <class T>
float sub_mixed(T a, float c) {
  return canonical(value(a) - c);
}
template <class T>
float fma_mixed(T a, T b, float c) {
  return canonical(fused(value(a), value(b), c));
}
template <class T>
float fma_mixed_directed(T a, T b, float c) {
  return canonical(std::fma(value(a), value(b), c));
}

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
template <class T>
T neg(T a) {
  return as<T>(is_nan(a) ? Layout<T>::nan : Bits<T>(raw(a) ^ kSign<T>));
}
template <class T>
T abs(T a) {
  return as<T>(is_nan(a) ? Layout<T>::nan : magnitude(a));
}
template <>
double neg(double a) {
  return a == a ? -a : quiet(a);
}
template <>
double abs(double a) {
  return a == a ? std::fabs(a) : quiet(a);
}
/// The magnitude of b with the sign of a.
template <class T>
T copysign(T a, T b) {
  return as<T>(Bits<T>(magnitude(b) | (raw(a) & kSign<T>)));
}

/// Encodings as integers in numerical order, −0 below +0.
template <class T>
std::make_signed_t<Bits<T>> order(T x) {
  using S = std::make_signed_t<Bits<T>>;
  const S s = S(raw(x));
  return S(s ^ S(S(s >> (kBits<Bits<T>> - 1)) & S(Bits<T>(~kSign<T>))));
}
template <class T>
T lesser(T a, T b) {
  return order(a) < order(b) ? a : b;
}
template <class T>
T greater(T a, T b) {
  return order(a) < order(b) ? b : a;
}

/// A NaN loses against a number; two give the canonical NaN.
template <class T, auto pick>
T number_wins(T a, T b) {
  const Bits<T> r = raw(pick(a, b));
  const Bits<T> one = is_nan(a) ? raw(b) : is_nan(b) ? raw(a) : r;
  return as<T>(is_nan(a) & is_nan(b) ? Layout<T>::nan : one);
}
/// .NaN: a NaN wins.
template <class T, auto pick>
T nan_wins(T a, T b) {
  return as<T>(is_nan(a) | is_nan(b) ? Layout<T>::nan : raw(pick(a, b)));
}
template <class T>
T min(T a, T b) {
  return number_wins<T, lesser<T>>(a, b);
}
template <class T>
T max(T a, T b) {
  return number_wins<T, greater<T>>(a, b);
}
/// f64: of two NaNs the second, quieted.
template <>
double min(double a, double b) {
  return b != b ? (a != a ? quiet(b) : a) : a != a ? b : lesser(a, b);
}
template <>
double max(double a, double b) {
  return b != b ? (a != a ? quiet(b) : a) : a != a ? b : greater(a, b);
}
template <class T>
T min_nan(T a, T b) {
  return nan_wins<T, lesser<T>>(a, b);
}
template <class T>
T max_nan(T a, T b) {
  return nan_wins<T, greater<T>>(a, b);
}
/// .xorsign.abs: of the magnitudes, with the product's sign; a NaN has none.
template <class T, auto f>
T xorsign(T a, T b) {
  const T r = f(abs(a), abs(b));
  return as<T>(is_nan(r) ? Layout<T>::nan : Bits<T>(raw(r) | ((raw(a) ^ raw(b)) & kSign<T>)));
}
template <class T, auto f>
T three(T a, T b, T c) {
  return f(f(a, b), c);
}
template <class T, auto f>
T three_abs(T a, T b, T c) {
  return f(f(abs(a), abs(b)), abs(c));
}

// ---- Decoding

/// For `exact` of an operation that has no .ftz, or whose tiny results are exact.
struct None {};
constexpr None kNone;

/// Executor of a rounded operation with its modifiers. Rounding other than to nearest only for f32 and f64.
template <int N, auto f, auto exact, auto f_directed = f, auto exact_directed = exact>
ExecFn rounded(const ptx::Instruction& inst, Op& op) {
  const bool ftz = inst.has("ftz"), sat = inst.has("sat");
  const Rounding rounding = rounding_of(inst);
  op.set(rounding);
  constexpr bool flush_exactly = !std::is_same_v<std::remove_cv_t<decltype(exact)>, None>;
  if constexpr (!std::is_enum_v<typename Signature<std::decay_t<decltype(f)>>::Result>) {
    if (rounding != Rounding::rn) {
      if (!ftz) return sat ? directed<Modified<f_directed>::sat, N> : directed<f_directed, N>;
      if constexpr (flush_exactly) {
        constexpr auto slow = FlushTiny<f_directed, exact_directed>::call;
        return sat ? directed<Modified<slow>::sat, N> : directed<slow, N>;
      } else {
        return sat ? directed<Modified<Modified<f_directed>::ftz>::sat, N> : directed<Modified<f_directed>::ftz, N>;
      }
    }
  }
  if (!ftz) return sat ? lanewise<Modified<f>::sat, N> : lanewise<f, N>;
  if constexpr (flush_exactly)
    return sat ? lanewise<Modified<FlushTiny<f, exact>::call>::sat, N> : flushing<f, exact, N>;
  else
    return sat ? lanewise<Modified<Modified<f>::ftz>::sat, N> : lanewise<Modified<f>::ftz, N>;
}
/// The quick executor of an instruction without .ftz and .oob.
template <class T, int N, class Operation>
ExecFn quick16(const ptx::Instruction& inst) {
  constexpr auto exact = fma<T>;
  if (inst.has("relu")) return by_float<T, N, Operation, WithoutNegatives, Modified<exact>::relu>;
  if (inst.has("sat")) return by_float<T, N, Operation, WithinOne, Modified<exact>::sat>;
  return by_float<T, N, Operation, AsItIs, exact>;
}

template <class T, int N>
ExecFn rounded_fma16(const ptx::Instruction& inst) {
  constexpr auto f = fma<T>;
  const bool relu = inst.has("relu");
  if (inst.has("oob")) return relu ? lanewise<Modified<fma_oob<T>>::relu, N> : lanewise<fma_oob<T>, N>;
  if constexpr (std::is_same_v<T, f16>) {
    constexpr auto ftz = FlushTiny<f, exact_fma<T>>::call;
    if (inst.has("ftz"))
      return relu              ? lanewise<Modified<ftz>::relu, N>
             : inst.has("sat") ? lanewise<Modified<ftz>::sat, N>
                               : lanewise<ftz, N>;
  }
  if constexpr (kQuickHalves)
    return quick16<T, N, FmaFloats>(inst);
  else
    return relu ? lanewise<Modified<f>::relu, N> : inst.has("sat") ? lanewise<Modified<f>::sat, N> : lanewise<f, N>;
}
/// add, sub or mul.
template <class T, int N>
ExecFn rounded_binary(const ptx::Instruction& inst, Op& op) {
  const Opcode o = inst.opcode;
  if (o == Opcode::add) return rounded<N, add<T>, kNone>(inst, op);
  if (o == Opcode::sub) return rounded<N, sub<T>, kNone>(inst, op);
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, f16>)
    return rounded<N, mul<T>, exact_mul<T>>(inst, op);
  else
    return rounded<N, mul<T>, kNone>(inst, op);  // f64 and bf16 have no .ftz
}
template <class T, int N>
ExecFn rounded16(const ptx::Instruction& inst) {
  const bool is_fma = inst.opcode == Opcode::fma;
  if (is_fma) return rounded_fma16<T, N>(inst);
  if constexpr (kQuickHalves) {
    if (!inst.has("ftz"))
      return inst.opcode == Opcode::add   ? quick16<T, N, AddFloats>(inst)
             : inst.opcode == Opcode::sub ? quick16<T, N, SubFloats>(inst)
                                          : quick16<T, N, MulFloats>(inst);
  }
  Op unused;  // no rounding but to nearest
  return rounded_binary<T, N>(inst, unused);
}
template <int N>
ExecFn rounded32(const ptx::Instruction& inst, Op& op) {
  if (inst.opcode != Opcode::fma && inst.opcode != Opcode::mad) return rounded_binary<float, N>(inst, op);
  constexpr float (*under_mode)(float, float, float) = fma_directed;
  return rounded<N, fma<float>, exact_fma<float>, under_mode, exact_fma_directed>(inst, op);
}
ExecFn rounded64(const ptx::Instruction& inst, Op& op) {
  if (inst.opcode != Opcode::fma && inst.opcode != Opcode::mad) return rounded_binary<double, 1>(inst, op);
  constexpr double (*under_mode)(double, double, double) = fma_directed;
  return rounded<1, fma<double>, kNone, under_mode>(inst, op);
}

template <class T>
ExecFn mixed(const ptx::Instruction& inst, Op& op) {
  const Opcode o = inst.opcode;
  if (o == Opcode::add) return rounded<1, add_mixed<T>, kNone>(inst, op);  // no .ftz
  if (o == Opcode::sub) return rounded<1, sub_mixed<T>, kNone>(inst, op);
  return rounded<1, fma_mixed<T>, kNone, fma_mixed_directed<T>>(inst, op);
}

void decode_mixed(Decoder& d, Op& op) {
  const Type narrow = d.inst->type(1);
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), narrow);
  const bool is_fma = d.inst->opcode == Opcode::fma;
  op.b = d.src(d.operand(2), is_fma ? narrow : Type::f32);
  if (is_fma) op.c = d.src(d.operand(3), Type::f32);
  finish(d, op, narrow == Type::f16 ? mixed<f16>(*d.inst, op) : mixed<bf16>(*d.inst, op), CostClass::fma);
}

void decode_rounded(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (d.inst->types.size() > 1) return decode_mixed(d, op);
  plain_operands(d, op, t);
  switch (t) {
    case Type::f32: return finish(d, op, rounded32<1>(*d.inst, op), CostClass::fma);
    case Type::f32x2: return finish(d, op, rounded32<2>(*d.inst, op), CostClass::fma2);
    case Type::f64: return finish(d, op, rounded64(*d.inst, op), CostClass::fp64);
    case Type::f16: return finish(d, op, rounded16<f16, 1>(*d.inst), CostClass::half);
    case Type::f16x2: return finish(d, op, rounded16<f16, 2>(*d.inst), CostClass::half);
    case Type::bf16: return finish(d, op, rounded16<bf16, 1>(*d.inst), CostClass::half);
    case Type::bf16x2: return finish(d, op, rounded16<bf16, 2>(*d.inst), CostClass::half);
    default: d.not_modelled();
  }
}

template <class T, int N, auto f>
ExecFn extremum_of(const ptx::Instruction& inst, bool three_inputs) {
  const bool ftz = inst.has("ftz");
  if constexpr (std::is_same_v<T, float>)
    if (three_inputs) {
      constexpr auto plain = three<T, f>;
      constexpr auto magnitudes = three_abs<T, f>;
      if (inst.has("abs")) return ftz ? lanewise<Modified<magnitudes>::ftz, N> : lanewise<magnitudes, N>;
      return ftz ? lanewise<Modified<plain>::ftz, N> : lanewise<plain, N>;
    }
  if (inst.has("xorsign")) {
    constexpr auto g = xorsign<T, f>;
    return ftz ? lanewise<Modified<g>::ftz, N> : lanewise<g, N>;
  }
  return ftz ? lanewise<Modified<f>::ftz, N> : lanewise<f, N>;
}
template <class T, int N>
ExecFn extremum(const ptx::Instruction& inst, bool three_inputs) {
  if (inst.opcode == Opcode::min)
    return inst.has("NaN") ? extremum_of<T, N, min_nan<T>>(inst, three_inputs)
                           : extremum_of<T, N, min<T>>(inst, three_inputs);
  return inst.has("NaN") ? extremum_of<T, N, max_nan<T>>(inst, three_inputs)
                         : extremum_of<T, N, max<T>>(inst, three_inputs);
}
template <class T, int N>
ExecFn sign_operation(const ptx::Instruction& inst) {
  const bool ftz = inst.has("ftz");
  if (inst.opcode == Opcode::neg) return ftz ? lanewise<Modified<neg<T>>::ftz, N> : lanewise<neg<T>, N>;
  if (inst.opcode == Opcode::abs) return ftz ? lanewise<Modified<abs<T>>::ftz, N> : lanewise<abs<T>, N>;
  return lanewise<copysign<T>, N>;
}

void decode_sign_or_order(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  const bool order = d.inst->opcode == Opcode::min || d.inst->opcode == Opcode::max;
  const bool three_inputs = d.operand_count() == 4;
  const auto pick = [&]<class T, int N>() {
    return order ? extremum<T, N>(*d.inst, three_inputs) : sign_operation<T, N>(*d.inst);
  };
  switch (t) {
    case Type::f32: return finish(d, op, pick.operator()<float, 1>(), CostClass::alu);
    case Type::f64: return finish(d, op, pick.operator()<double, 1>(), CostClass::fp64);
    case Type::f16: return finish(d, op, pick.operator()<f16, 1>(), CostClass::half);
    case Type::f16x2: return finish(d, op, pick.operator()<f16, 2>(), CostClass::half);
    case Type::bf16: return finish(d, op, pick.operator()<bf16, 1>(), CostClass::half);
    case Type::bf16x2: return finish(d, op, pick.operator()<bf16, 2>(), CostClass::half);
    default: d.not_modelled();
  }
}

}  // namespace

bool is_float_arithmetic(const ptx::Instruction& inst) { return ptx::is_float(inst.type()); }

void decode_float_arithmetic(Decoder& d, Op& op) {
  const Opcode o = d.inst->opcode;
  if (o == Opcode::add || o == Opcode::sub || o == Opcode::mul || o == Opcode::fma || o == Opcode::mad)
    return decode_rounded(d, op);
  decode_sign_or_order(d, op);
}

}  // namespace tinygpu::isa
