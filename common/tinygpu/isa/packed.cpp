// Packed integers: add, min, max on u16x2 and s16x2, the dot products dp2a and dp4a, cvt.pack (PTX ISA 9.7.1, 9.7.9).
#include <algorithm>

#include "common/tinygpu/isa/lanewise.h"
#include "common/tinygpu/isa/scalar.h"

namespace tinygpu::isa {
namespace {

// ---- Halves

uint16_t add(uint16_t a, uint16_t b) { return uint16_t(a + b); }
template <class T>
T min(T a, T b) {
  return std::min(a, b);
}
template <class T>
T max(T a, T b) {
  return std::max(a, b);
}
int16_t min_relu(int16_t a, int16_t b) { return std::max(std::min(a, b), int16_t(0)); }
int16_t max_relu(int16_t a, int16_t b) { return std::max(std::max(a, b), int16_t(0)); }

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
  const bool sa = d.inst->type(0) == Type::s32, sb = d.inst->type(1) == Type::s32;
  decode_lanewise(d, op,
                  sa ? (sb ? lanewise<dp4a<int8_t, int8_t>> : lanewise<dp4a<int8_t, uint8_t>>)
                     : (sb ? lanewise<dp4a<uint8_t, int8_t>> : lanewise<dp4a<uint8_t, uint8_t>>),
                  CostClass::imul);
}
template <int first>
Executor dp2a_executor(bool sa, bool sb) {
  return sa ? (sb ? lanewise<dp2a<int16_t, int8_t, first>> : lanewise<dp2a<int16_t, uint8_t, first>>)
            : (sb ? lanewise<dp2a<uint16_t, int8_t, first>> : lanewise<dp2a<uint16_t, uint8_t, first>>);
}
void decode_dp2a(Decoder& d, Op& op) {
  const bool sa = d.inst->type(0) == Type::s32, sb = d.inst->type(1) == Type::s32;
  decode_lanewise(d, op, d.inst->has("hi") ? dp2a_executor<2>(sa, sb) : dp2a_executor<0>(sa, sb), CostClass::imul);
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
  return c << (2 * bits % 32) | clamped(a, bits, is_signed) << bits | clamped(b, bits, is_signed);
}
/// The 16-bit forms fill the register; they have no c.
template <bool is_signed>
uint32_t convert_pack_halves(int32_t a, int32_t b) {
  return clamped(a, 16, is_signed) << 16 | clamped(b, 16, is_signed);
}

constexpr LanewiseForm kPackedForms[] = {
    {Opcode::cvt_pack, "u16", always<convert_pack_halves<false>>, CostClass::cvt},
    {Opcode::cvt_pack, "s16", always<convert_pack_halves<true>>, CostClass::cvt},
    {Opcode::cvt_pack, "u8", always<convert_pack<8, false>>, CostClass::cvt},
    {Opcode::cvt_pack, "s8", always<convert_pack<8, true>>, CostClass::cvt},
    {Opcode::cvt_pack, "u4", always<convert_pack<4, false>>, CostClass::cvt},
    {Opcode::cvt_pack, "s4", always<convert_pack<4, true>>, CostClass::cvt},
    {Opcode::cvt_pack, "u2", always<convert_pack<2, false>>, CostClass::cvt},
    {Opcode::cvt_pack, "s2", always<convert_pack<2, true>>, CostClass::cvt},
};

}  // namespace

void decode_packed_integer(Decoder& d, Op& op) {
  const bool s = d.inst->type() == Type::s16x2, relu = d.inst->has("relu");
  const Opcode o = d.inst->opcode;
  decode_lanewise(d, op,
                  o == Opcode::add   ? lanewise<add, 2>
                  : o == Opcode::min ? (relu ? lanewise<min_relu, 2>
                                        : s  ? lanewise<min<int16_t>, 2>
                                             : lanewise<min<uint16_t>, 2>)
                  : o == Opcode::max ? (relu ? lanewise<max_relu, 2>
                                        : s  ? lanewise<max<int16_t>, 2>
                                             : lanewise<max<uint16_t>, 2>)
                                     : Executor{},
                  CostClass::alu);
}

Table packed_table() {
  static constexpr Entry table[] = {{Opcode::dp2a, decode_dp2a}, {Opcode::dp4a, decode_dp4a}};
  return {table, kPackedForms};
}

}  // namespace tinygpu::isa
