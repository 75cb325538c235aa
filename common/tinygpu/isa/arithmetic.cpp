// Integer arithmetic (PTX ISA 9.7.1) and extended precision with the carry flag (9.7.2). Float types go to
// floating.cpp, packed ones to packed.cpp.
#include <algorithm>

#include "common/tinygpu/isa/lanewise.h"
#include "common/tinygpu/isa/scalar.h"

namespace tinygpu::isa {
namespace {

// ---- One function per instruction
// Sums and products wrap: they are computed on unsigned types.

constexpr auto add = []<class T>(T a, T b) { return T(Unsigned<T>(a) + Unsigned<T>(b)); };
constexpr auto sub = []<class T>(T a, T b) { return T(Unsigned<T>(a) - Unsigned<T>(b)); };
constexpr auto neg = []<class T>(T a) { return T(Unsigned<T>(0) - Unsigned<T>(a)); };
constexpr auto abs = []<class T>(T a) { return a < 0 ? neg(a) : a; };
constexpr auto min = []<class T>(T a, T b) { return a < b ? a : b; };
constexpr auto max = []<class T>(T a, T b) { return a > b ? a : b; };
constexpr auto min_relu = []<class T>(T a, T b) { return max(min(a, b), T(0)); };
constexpr auto max_relu = []<class T>(T a, T b) { return max(max(a, b), T(0)); };

int32_t clamp_s32(int64_t v) { return int32_t(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX)); }
int32_t add_sat(int32_t a, int32_t b) { return clamp_s32(int64_t(a) + b); }
int32_t sub_sat(int32_t a, int32_t b) { return clamp_s32(int64_t(a) - b); }

constexpr auto mul_lo = []<class T>(T a, T b) {
  using U = std::common_type_t<Unsigned<T>, uint32_t>;  // products of 16 bits would be int's
  return T(U(a) * U(b));
};
constexpr auto mul_wide = []<class T>(T a, T b) { return Wide<T>(a) * Wide<T>(b); };
constexpr auto mul_hi = []<class T>(T a, T b) { return T(mul_wide(a, b) >> kBits<T>); };

constexpr auto mad_lo = []<class T>(T a, T b, T c) { return add(mul_lo(a, b), c); };
constexpr auto mad_hi = []<class T>(T a, T b, T c) { return add(mul_hi(a, b), c); };
constexpr auto mad_wide = []<class T>(T a, T b, Wide<T> c) { return add(mul_wide(a, b), c); };
int32_t mad_hi_sat(int32_t a, int32_t b, int32_t c) { return clamp_s32(int64_t(mul_hi(a, b)) + c); }

/// The low 24 bits as a number.
template <class T>
int64_t low24(T a) {
  return std::is_signed_v<T> ? int64_t(int32_t(uint32_t(a) << 8) >> 8) : a & 0xffffff;
}
constexpr auto mul24_lo = []<class T>(T a, T b) { return T(low24(a) * low24(b)); };
constexpr auto mul24_hi = []<class T>(T a, T b) { return T(low24(a) * low24(b) >> 16); };
constexpr auto mad24_lo = []<class T>(T a, T b, T c) { return add(mul24_lo(a, b), c); };
constexpr auto mad24_hi = []<class T>(T a, T b, T c) { return add(mul24_hi(a, b), c); };
int32_t mad24_hi_sat(int32_t a, int32_t b, int32_t c) { return clamp_s32(int64_t(mul24_hi(a, b)) + c); }

constexpr auto sad = []<class T>(T a, T b, T c) { return add(c, a < b ? sub(b, a) : sub(a, b)); };

// Division by zero gives all ones, quotient and remainder; the most negative number by −1 wraps (H200).
constexpr auto div = []<class T>(T a, T b) {
  return b == 0 ? T(-1) : (std::is_signed_v<T> && b == T(-1)) ? neg(a) : T(a / b);
};
constexpr auto rem = []<class T>(T a, T b) {
  return b == 0 ? T(-1) : (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b);
};

// ---- Carry flag

/// CC.CF of the warp's lanes, one bit each.
struct CarryFlags final : Extension {
  uint32_t lanes = 0;
};

template <class T>
struct Carried {
  T value;
  bool carry;
};
template <class T>
Carried<T> add_cc(T a, T b, T, bool in) {
  const Wide<T> sum = Wide<T>(a) + b + in;
  return {T(sum), bool(sum >> kBits<T>)};
}
/// The chip adds the complement, and its flag says that there is no borrow: what subc makes of an addition's carry.
template <class T>
Carried<T> sub_cc(T a, T b, T, bool in) {
  return add_cc<T>(a, T(~b), 0, in);
}
template <class T>
Carried<T> mad_lo_cc(T a, T b, T c, bool in) {
  return add_cc<T>(mul_lo(a, b), c, 0, in);
}
template <class T>
Carried<T> mad_hi_cc(T a, T b, T c, bool in) {
  return add_cc<T>(mul_hi(a, b), c, 0, in);
}
/// Signed operands: the high half of the signed product; the carry is that of the words.
template <class T>
Carried<T> mad_hi_cc_signed(T a, T b, T c, bool in) {
  return add_cc<T>(T(mul_hi(std::make_signed_t<T>(a), std::make_signed_t<T>(b))), c, 0, in);
}

struct CarryFlag {
  bool taken, written;
  bool otherwise;  // what goes in where it is not taken: a subtraction without a borrow
};

template <class T, auto f>
void with_carry(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b), *c = w.at<T>(op.c == kNoSlot ? op.b : op.c);
  T* d = w.at<T>(op.dst);
  uint32_t& flags = w.extensions.get<CarryFlags>().lanes;
  const CarryFlag flag = op.get<CarryFlag>();
  const uint32_t in = flag.taken ? flags : flag.otherwise ? ~0u : 0;
  uint32_t out = 0;
  for (int i = 0; i < 32; ++i) {
    const Carried<T> r = f(a[i], b[i], c[i], in >> i & 1);
    d[i] = (w.exec() >> i & 1) ? r.value : d[i];
    out |= uint32_t(r.carry) << i;
  }
  if (flag.written) flags = (flags & ~w.exec()) | (out & w.exec());
}

template <class T>
ExecFn carry_executor(const ptx::Instruction& inst) {
  const Opcode o = inst.opcode;
  if (o == Opcode::add || o == Opcode::addc) return with_carry<T, add_cc<T>>;
  if (o == Opcode::sub || o == Opcode::subc) return with_carry<T, sub_cc<T>>;
  if (inst.has("lo")) return with_carry<T, mad_lo_cc<T>>;
  return ptx::is_signed(inst.type()) ? with_carry<T, mad_hi_cc_signed<T>> : with_carry<T, mad_hi_cc<T>>;
}

void decode_carry(Decoder& d, Op& op) {
  const ptx::Instruction& inst = *d.inst;
  const Type t = inst.type();
  const Opcode o = inst.opcode;
  const bool taken = o == Opcode::addc || o == Opcode::subc || o == Opcode::madc;
  const bool mul = o == Opcode::mad || o == Opcode::madc;
  op.set(CarryFlag{taken, inst.has("cc"), o == Opcode::sub});
  const ExecFn fn = ptx::size_of(t) == 8 ? carry_executor<uint64_t>(inst) : carry_executor<uint32_t>(inst);
  decode_lanewise(d, op, {fn, {t, t, mul ? t : Type::none}}, mul ? CostClass::imul : alu_cost(t));
}

// ---- Decoding

constexpr LanewiseForm kArithmeticForms[] = {
    {Opcode::add, "sat", always<add_sat>, CostClass::alu},
    {Opcode::add, "", by_integer<add>, CostClass::alu},
    {Opcode::sub, "sat", always<sub_sat>, CostClass::alu},
    {Opcode::sub, "", by_integer<sub>, CostClass::alu},
    {Opcode::mul, "wide", by_half<mul_wide>, CostClass::imul},
    {Opcode::mul, "hi", by_integer<mul_hi>, CostClass::imul},
    {Opcode::mul, "", by_integer<mul_lo>, CostClass::imul},
    {Opcode::mad, "wide", by_half<mad_wide>, CostClass::imul},
    {Opcode::mad, "sat", always<mad_hi_sat>, CostClass::imul},
    {Opcode::mad, "hi", by_integer<mad_hi>, CostClass::imul},
    {Opcode::mad, "", by_integer<mad_lo>, CostClass::imul},
    {Opcode::neg, "", by_signed<neg>, CostClass::alu},
    {Opcode::abs, "", by_signed<abs>, CostClass::alu},
    {Opcode::min, "relu", by_signed<min_relu>, CostClass::alu},
    {Opcode::min, "", by_integer<min>, CostClass::alu},
    {Opcode::max, "relu", by_signed<max_relu>, CostClass::alu},
    {Opcode::max, "", by_integer<max>, CostClass::alu},
    {Opcode::rem, "", by_integer<rem>, CostClass::idiv},
    {Opcode::sad, "", by_integer<sad>, CostClass::alu},
    {Opcode::mul24, "hi", by_word<mul24_hi>, CostClass::imul},
    {Opcode::mul24, "", by_word<mul24_lo>, CostClass::imul},
    {Opcode::mad24, "sat", always<mad24_hi_sat>, CostClass::imul},
    {Opcode::mad24, "hi", by_word<mad24_hi>, CostClass::imul},
    {Opcode::mad24, "", by_word<mad24_lo>, CostClass::imul},
    {Opcode::div, "", by_integer<div>, CostClass::idiv},
};

/// Opcodes that other types share.
void decode_any(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (ptx::is_float(t)) return decode_float_arithmetic(d, op);
  if (t == Type::u16x2 || t == Type::s16x2) return decode_packed_integer(d, op);
  if (d.inst->has("cc")) return decode_carry(d, op);
  decode_form(d, op);
}

}  // namespace

Table arithmetic_table() {
  static constexpr Entry table[] = {
      {Opcode::add, decode_any},
      {Opcode::sub, decode_any},
      {Opcode::mul, decode_any},
      {Opcode::mad, decode_any},
      {Opcode::neg, decode_any},
      {Opcode::abs, decode_any},
      {Opcode::min, decode_any},
      {Opcode::max, decode_any},
      {Opcode::addc, decode_carry},
      {Opcode::subc, decode_carry},
      {Opcode::madc, decode_carry},
      {Opcode::fma, decode_float_arithmetic},
      {Opcode::copysign, decode_float_arithmetic},
  };
  return {table, kArithmeticForms};
}

}  // namespace tinygpu::isa
