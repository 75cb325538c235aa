// Packed integers: add, min, max, neg on u16x2 and s16x2, the dot products dp2a and dp4a, cvt.pack (PTX
// ISA 9.7.1, 9.7.9).
#include <algorithm>

#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/scalar.h"

namespace tinygpu::isa {
namespace {

using ptx::Type;

// ---- Halves

template <class T>
T add(T a, T b) {
  return T(uint16_t(a) + uint16_t(b));
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
T min_relu(T a, T b) {
  return max(min(a, b), T(0));
}
template <class T>
T max_relu(T a, T b) {
  return max(max(a, b), T(0));
}

// ---- Dot products of bytes

/// Element n of a register seen as elements of T.
template <class T>
int32_t element(uint32_t word, int n) {
  return T(word >> (n * kBits<T>));
}

/// c + Σ a.byte[i] × b.byte[i]
template <class A, class B>
uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t sum = c;
  for (int i = 0; i < 4; ++i) sum += uint32_t(element<A>(a, i) * element<B>(b, i));
  return sum;
}
/// c + Σ a.half[i] × b.byte[i + first]
template <class A, class B, int first>
uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c) {
  return c + uint32_t(element<A>(a, 0) * element<B>(b, first)) + uint32_t(element<A>(a, 1) * element<B>(b, first + 1));
}

void decode_dp4a(Decoder& d, Op& op) {
  plain_operands(d, op, Type::b32);
  const bool sa = d.inst->type(0) == Type::s32, sb = d.inst->type(1) == Type::s32;
  finish(d, op,
         sa ? (sb ? lanewise<dp4a<int8_t, int8_t>> : lanewise<dp4a<int8_t, uint8_t>>)
            : (sb ? lanewise<dp4a<uint8_t, int8_t>> : lanewise<dp4a<uint8_t, uint8_t>>),
         CostClass::imul);
}
template <int first>
ExecFn dp2a_executor(bool sa, bool sb) {
  return sa ? (sb ? lanewise<dp2a<int16_t, int8_t, first>> : lanewise<dp2a<int16_t, uint8_t, first>>)
            : (sb ? lanewise<dp2a<uint16_t, int8_t, first>> : lanewise<dp2a<uint16_t, uint8_t, first>>);
}
void decode_dp2a(Decoder& d, Op& op) {
  plain_operands(d, op, Type::b32);
  const bool sa = d.inst->type(0) == Type::s32, sb = d.inst->type(1) == Type::s32;
  finish(d, op, d.inst->has("hi") ? dp2a_executor<2>(sa, sb) : dp2a_executor<0>(sa, sb), CostClass::imul);
}

// ---- cvt.pack

/// The s32 value clamped to `bits` bits, signed or not, as that many bits.
uint32_t clamped(int32_t v, int bits, bool is_signed) {
  const int64_t low = is_signed ? -(int64_t(1) << (bits - 1)) : 0;
  const int64_t high = is_signed ? (int64_t(1) << (bits - 1)) - 1 : (int64_t(1) << bits) - 1;
  return uint32_t(std::clamp<int64_t>(v, low, high)) & uint32_t((uint64_t(1) << bits) - 1);
}
/// {c shifted up by two fields, a, b}
template <int bits, bool is_signed>
uint32_t convert_pack(int32_t a, int32_t b, uint32_t c) {
  const uint32_t above = bits == 16 ? 0 : c << (2 * bits % 32);
  return above | clamped(a, bits, is_signed) << bits | clamped(b, bits, is_signed);
}

}  // namespace

void decode_convert_pack(Decoder& d, Op& op) {
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), Type::s32);
  op.b = d.src(d.operand(2), Type::s32);
  op.c = d.has(3) ? d.src(d.operand(3), Type::b32) : op.b;
  const ptx::Instruction& i = *d.inst;
  finish(d, op,
         i.has("u16")   ? lanewise<convert_pack<16, false>>
         : i.has("s16") ? lanewise<convert_pack<16, true>>
         : i.has("u8")  ? lanewise<convert_pack<8, false>>
         : i.has("s8")  ? lanewise<convert_pack<8, true>>
         : i.has("u4")  ? lanewise<convert_pack<4, false>>
         : i.has("s4")  ? lanewise<convert_pack<4, true>>
         : i.has("u2")  ? lanewise<convert_pack<2, false>>
         : i.has("s2")  ? lanewise<convert_pack<2, true>>
                        : ExecFn(nullptr),
         CostClass::cvt);
}

void decode_packed_integer(Decoder& d, Op& op) {
  plain_operands(d, op, d.inst->type());
  const bool s = d.inst->type() == Type::s16x2, relu = d.inst->has("relu");
  const Opcode o = d.inst->opcode;
  finish(d, op,
         o == Opcode::add   ? lanewise<add<uint16_t>, 2>
         : o == Opcode::min ? (relu ? lanewise<min_relu<int16_t>, 2>
                               : s  ? lanewise<min<int16_t>, 2>
                                    : lanewise<min<uint16_t>, 2>)
         : o == Opcode::max ? (relu ? lanewise<max_relu<int16_t>, 2>
                               : s  ? lanewise<max<int16_t>, 2>
                                    : lanewise<max<uint16_t>, 2>)
                            : ExecFn(nullptr),
         CostClass::alu);
}

Table packed_table() {
  static const Entry table[] = {
      {Opcode::dp2a, decode_dp2a}, {Opcode::dp4a, decode_dp4a}, {Opcode::cvt_pack, decode_convert_pack}};
  return {std::begin(table), std::end(table)};
}

}  // namespace tinygpu::isa
