// Integer arithmetic (PTX ISA 9.7.1) and extended precision with the carry flag (9.7.2). Float types go to
// floating.cpp, packed ones to packed.cpp.
#include <algorithm>
#include <limits>

#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/scalar.h"

namespace tinygpu::isa {
namespace {

using ptx::Type;

// ---- One function per instruction
// Sums and products wrap: they are computed on the unsigned type, 16-bit ones in int.

template <class T>
T add(T a, T b) {
  return T(Unsigned<T>(a) + Unsigned<T>(b));
}
template <class T>
T sub(T a, T b) {
  return T(Unsigned<T>(a) - Unsigned<T>(b));
}
template <class T>
T neg(T a) {
  return T(Unsigned<T>(0) - Unsigned<T>(a));
}
template <class T>
T abs(T a) {
  return a < 0 ? neg(a) : a;
}
template <class T>
T min(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T max(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T relu(T a) {
  return a > 0 ? a : T(0);
}
template <class T>
T min_relu(T a, T b) {
  return relu(min(a, b));
}
template <class T>
T max_relu(T a, T b) {
  return relu(max(a, b));
}

int32_t clamp_s32(int64_t v) { return int32_t(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX)); }
int32_t add_sat(int32_t a, int32_t b) { return clamp_s32(int64_t(a) + b); }
int32_t sub_sat(int32_t a, int32_t b) { return clamp_s32(int64_t(a) - b); }

template <class T>
T mul_lo(T a, T b) {
  return T(Unsigned<Wide<T>>(Unsigned<T>(a)) * Unsigned<T>(b));
}
template <>
uint64_t mul_lo(uint64_t a, uint64_t b) {
  return a * b;
}
template <>
int64_t mul_lo(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}
template <class T>
Wide<T> mul_wide(T a, T b) {
  return Wide<T>(a) * Wide<T>(b);
}
template <class T>
T mul_hi(T a, T b) {
  return T(mul_wide(a, b) >> kBits<T>);
}
template <>
uint16_t mul_hi(uint16_t a, uint16_t b) {
  return uint16_t(uint32_t(a) * b >> 16);
}

template <class T>
T mad_lo(T a, T b, T c) {
  return add(mul_lo(a, b), c);
}
template <class T>
T mad_hi(T a, T b, T c) {
  return add(mul_hi(a, b), c);
}
template <class T>
Wide<T> mad_wide(T a, T b, Wide<T> c) {
  return Wide<T>(Unsigned<Wide<T>>(mul_wide(a, b)) + Unsigned<Wide<T>>(c));
}
int32_t mad_hi_sat(int32_t a, int32_t b, int32_t c) { return clamp_s32(int64_t(mul_hi(a, b)) + c); }

/// The low 24 bits as a number.
template <class T>
int64_t low24(T a) {
  return std::is_signed_v<T> ? int64_t(int32_t(uint32_t(a) << 8) >> 8) : a & 0xffffff;
}
template <class T>
T mul24_lo(T a, T b) {
  return T(low24(a) * low24(b));
}
template <class T>
T mul24_hi(T a, T b) {
  return T(low24(a) * low24(b) >> 16);
}
template <class T>
T mad24_lo(T a, T b, T c) {
  return add(mul24_lo(a, b), c);
}
template <class T>
T mad24_hi(T a, T b, T c) {
  return add(mul24_hi(a, b), c);
}
int32_t mad24_hi_sat(int32_t a, int32_t b, int32_t c) { return clamp_s32(int64_t(mul24_hi(a, b)) + c); }

template <class T>
T sad(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}

// Division by zero gives all ones, quotient and remainder; the most negative number by −1 wraps (H200).
template <class T>
T div(T a, T b) {
  return b == 0 ? T(-1) : (std::is_signed_v<T> && b == T(-1)) ? neg(a) : T(a / b);
}
template <class T>
T rem(T a, T b) {
  return b == 0 ? T(-1) : (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b);
}

// ---- Carry flag

/// CC.CF of the warp's lanes, one bit each.
struct CarryFlags final : Extension {
  uint32_t lanes = 0;
};
uint32_t& carry(Warp& w) { return w.extensions.get<CarryFlags>().lanes; }

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
  uint32_t& flags = carry(w);
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
  plain_operands(d, op, t);
  const Opcode o = inst.opcode;
  const bool taken = o == Opcode::addc || o == Opcode::subc || o == Opcode::madc;
  op.set(CarryFlag{taken, inst.has("cc"), o == Opcode::sub});
  const bool wide = ptx::size_of(t) == 8, mul = o == Opcode::mad || o == Opcode::madc;
  finish(d, op, wide ? carry_executor<uint64_t>(inst) : carry_executor<uint32_t>(inst),
         mul    ? CostClass::imul
         : wide ? CostClass::alu64
                : CostClass::alu);
}

// ---- Decoding

bool is_packed_integer(Type t) { return t == Type::u16x2 || t == Type::s16x2; }

/// True, with op filled, when another file's function or the carry form takes the instruction.
bool elsewhere(Decoder& d, Op& op) {
  if (is_float_arithmetic(*d.inst)) return decode_float_arithmetic(d, op), true;
  if (is_packed_integer(d.inst->type())) return decode_packed_integer(d, op), true;
  if (d.inst->has("cc")) return decode_carry(d, op), true;
  return false;
}

CostClass alu_cost(Type t) { return ptx::size_of(t) == 8 ? CostClass::alu64 : CostClass::alu; }

#define INTEGER(f) by_integer(t, [](auto tag) -> ExecFn { return lanewise<f<typename decltype(tag)::type>>; })

/// Instructions that exist for signed types alone would not compile for unsigned ones in one place or another.
#define SIGNED(f)                                  \
  (t == Type::s16   ? ExecFn(lanewise<f<int16_t>>) \
   : t == Type::s32 ? ExecFn(lanewise<f<int32_t>>) \
   : t == Type::s64 ? ExecFn(lanewise<f<int64_t>>) \
                    : nullptr)

void decode_add(Decoder& d, Op& op) {
  if (elsewhere(d, op)) return;
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, d.inst->has("sat") ? lanewise<add_sat> : INTEGER(add), alu_cost(t));
}
void decode_sub(Decoder& d, Op& op) {
  if (elsewhere(d, op)) return;
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, d.inst->has("sat") ? lanewise<sub_sat> : INTEGER(sub), alu_cost(t));
}
void decode_neg(Decoder& d, Op& op) {
  if (elsewhere(d, op)) return;
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, SIGNED(neg), alu_cost(t));
}
void decode_abs(Decoder& d, Op& op) {
  if (elsewhere(d, op)) return;
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, SIGNED(abs), alu_cost(t));
}
void decode_min(Decoder& d, Op& op) {
  if (elsewhere(d, op)) return;
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, d.inst->has("relu") ? SIGNED(min_relu) : INTEGER(min), alu_cost(t));
}
void decode_max(Decoder& d, Op& op) {
  if (elsewhere(d, op)) return;
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, d.inst->has("relu") ? SIGNED(max_relu) : INTEGER(max), alu_cost(t));
}

#define WIDENING(f)                                 \
  (t == Type::u16   ? ExecFn(lanewise<f<uint16_t>>) \
   : t == Type::s16 ? ExecFn(lanewise<f<int16_t>>)  \
   : t == Type::u32 ? ExecFn(lanewise<f<uint32_t>>) \
   : t == Type::s32 ? ExecFn(lanewise<f<int32_t>>)  \
                    : nullptr)

void decode_mul(Decoder& d, Op& op) {
  if (elsewhere(d, op)) return;
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op,
         d.inst->has("wide") ? WIDENING(mul_wide)
         : d.inst->has("hi") ? INTEGER(mul_hi)
                             : INTEGER(mul_lo),
         CostClass::imul);
}
Type widened(Type t) {
  return t == Type::u16 ? Type::u32 : t == Type::s16 ? Type::s32 : t == Type::u32 ? Type::u64 : Type::s64;
}
void decode_mad(Decoder& d, Op& op) {
  if (elsewhere(d, op)) return;
  const Type t = d.inst->type();
  const bool wide = d.inst->has("wide");
  plain_operands(d, op, t, t, wide ? widened(t) : t);
  finish(d, op,
         wide                 ? WIDENING(mad_wide)
         : d.inst->has("sat") ? lanewise<mad_hi_sat>
         : d.inst->has("hi")  ? INTEGER(mad_hi)
                              : INTEGER(mad_lo),
         CostClass::imul);
}

#define WORD(f) (t == Type::s32 ? ExecFn(lanewise<f<int32_t>>) : ExecFn(lanewise<f<uint32_t>>))

void decode_mul24(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, d.inst->has("hi") ? WORD(mul24_hi) : WORD(mul24_lo), CostClass::imul);
}
void decode_mad24(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op,
         d.inst->has("sat")  ? lanewise<mad24_hi_sat>
         : d.inst->has("hi") ? WORD(mad24_hi)
                             : WORD(mad24_lo),
         CostClass::imul);
}
void decode_sad(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, INTEGER(sad), alu_cost(t));
}
void decode_rem(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, INTEGER(rem), CostClass::idiv);
}

}  // namespace

void decode_integer_division(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, INTEGER(div), CostClass::idiv);
}

Table arithmetic_table() {
  static const Entry table[] = {
      {Opcode::add, decode_add},
      {Opcode::sub, decode_sub},
      {Opcode::mul, decode_mul},
      {Opcode::mad, decode_mad},
      {Opcode::neg, decode_neg},
      {Opcode::abs, decode_abs},
      {Opcode::min, decode_min},
      {Opcode::max, decode_max},
      {Opcode::rem, decode_rem},
      {Opcode::sad, decode_sad},
      {Opcode::mul24, decode_mul24},
      {Opcode::mad24, decode_mad24},
      {Opcode::addc, decode_carry},
      {Opcode::subc, decode_carry},
      {Opcode::madc, decode_carry},
      {Opcode::fma, decode_float_arithmetic},
      {Opcode::copysign, decode_float_arithmetic},
  };
  return {std::begin(table), std::end(table)};
}

}  // namespace tinygpu::isa
