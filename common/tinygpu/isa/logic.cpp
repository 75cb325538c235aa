// Logic, shifts and bit fields (PTX ISA 9.7.8, and the bit-field instructions of 9.7.1).
#include <algorithm>

#include "common/tinygpu/isa/lanewise.h"

namespace tinygpu::isa {
namespace {

// ---- Bitwise

constexpr auto bit_and = []<class T>(T a, T b) { return T(a & b); };
constexpr auto bit_or = []<class T>(T a, T b) { return T(a | b); };
constexpr auto bit_xor = []<class T>(T a, T b) { return T(a ^ b); };
constexpr auto bit_not = []<class T>(T a) { return T(~a); };
constexpr auto cnot = []<class T>(T a) { return T(a == 0); };

/// The function that a truth table names (bit 4a + 2b + c) as an exclusive or of products: coefficient n is for the
/// product of the operands in n's bits.
uint32_t products_of(uint32_t table) {
  for (int bit : {1, 2, 4})
    for (int n = 0; n < 8; ++n)
      if (n & bit) table ^= (table >> (n ^ bit) & 1) << n;
  return table;
}
/// op.imm: products_of(table), so the loop's masks are the same for every lane.
template <class Store>
void lop3_lanes(Warp& w, const Op& op, Store&& store) {
  const uint32_t *a = w.at<uint32_t>(op.a), *b = w.at<uint32_t>(op.b), *c = w.at<uint32_t>(op.c);
  const auto mask = [&](int n) { return 0 - (uint32_t(op.imm) >> n & 1); };
  const uint32_t one = mask(0), mc = mask(1), mb = mask(2), mbc = mask(3), ma = mask(4), mac = mask(5), mab = mask(6),
                 mabc = mask(7);
  store([=](int i) {
    const uint32_t x = a[i], y = b[i], z = c[i], yz = y & z, xz = x & z;
    return one ^ (z & mc) ^ (y & mb) ^ (yz & mbc) ^ (x & ma) ^ (xz & mac) ^ (x & y & mab) ^ (x & yz & mabc);
  });
}
void lop3(Warp& w, const Op& op) {
  lop3_lanes(w, op, [&](auto f) { each_lane<uint32_t>(w, op.dst, f); });
}

enum class PredicateOp : uint8_t { both, either };

/// d | p = lop3, p = (d != 0) BoolOp q; op.dst2: p, op.d: q.
void lop3_predicate(Warp& w, const Op& op) {
  uint32_t result[32], nonzero = 0;
  lop3_lanes(w, op, [&](auto f) {
    for (int i = 0; i < 32; ++i) result[i] = f(i);
  });
  for (int i = 0; i < 32; ++i) nonzero |= uint32_t(result[i] != 0) << i;
  const uint32_t q = w.pred(op.d);
  if (op.dst != kNoSlot) each_lane<uint32_t>(w, op.dst, [&](int i) { return result[i]; });
  put_pred(w, op.dst2, op.get<PredicateOp>() == PredicateOp::both ? nonzero & q : nonzero | q);
}

// ---- Shifts: the amount is 32 bits for every type and clamped to the width

constexpr auto shl = []<class T>(T a, uint32_t n) {
  return n >= uint32_t(kBits<T>) ? T(0) : T(a << (n & (kBits<T> - 1)));
};
constexpr auto shr = []<class T>(T a, uint32_t n) {
  if constexpr (std::is_signed_v<T>)
    return T(a >> (n >= uint32_t(kBits<T>) ? uint32_t(kBits<T> - 1) : n));
  else
    return n >= uint32_t(kBits<T>) ? T(0) : T(a >> (n & (kBits<T> - 1)));
};
uint64_t funnel(uint32_t low, uint32_t high) { return uint64_t(high) << 32 | low; }
uint32_t shf_l_wrap(uint32_t a, uint32_t b, uint32_t n) { return uint32_t(funnel(a, b) << (n & 31) >> 32); }
uint32_t shf_l_clamp(uint32_t a, uint32_t b, uint32_t n) { return uint32_t(funnel(a, b) << (n < 32 ? n : 32) >> 32); }
uint32_t shf_r_wrap(uint32_t a, uint32_t b, uint32_t n) { return uint32_t(funnel(a, b) >> (n & 31)); }
uint32_t shf_r_clamp(uint32_t a, uint32_t b, uint32_t n) { return uint32_t(funnel(a, b) >> (n < 32 ? n : 32)); }

// ---- Bytes

/// Byte `selector & 7` of {b, a}; bit 3 replicates its sign instead.
uint32_t permuted_byte(uint64_t bytes, uint32_t selector) {
  const uint32_t byte = uint32_t(bytes >> ((selector & 7) * 8)) & 0xff;
  return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}
uint32_t prmt(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t bytes = funnel(a, b);
  return permuted_byte(bytes, c) | permuted_byte(bytes, c >> 4) << 8 | permuted_byte(bytes, c >> 8) << 16 |
         permuted_byte(bytes, c >> 12) << 24;
}
/// The special modes choose a selector by the two low bits of c.
template <uint32_t s0, uint32_t s1, uint32_t s2, uint32_t s3>
uint32_t prmt_mode(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = c & 3;
  return prmt(a, b, n == 0 ? s0 : n == 1 ? s1 : n == 2 ? s2 : s3);
}

// ---- Bit fields

/// Ones in the low n bits.
template <class T>
T low_ones(uint32_t n) {
  return n >= uint32_t(kBits<T>) ? T(~T(0)) : T((T(1) << n) - 1);
}

/// Position and length count by their low byte for 32-bit fields; for 64-bit ones in full (H200; the PTX ISA says the
/// byte for both).
template <class T>
uint32_t field_count(uint32_t n) {
  return kBits<T> == 32 ? n & 0xff : n < 0xff ? n : 0xff;
}

constexpr auto bfe = []<class T>(T a, uint32_t position, uint32_t length) {
  using U = Unsigned<T>;
  const uint32_t p = field_count<T>(position), n = field_count<T>(length);
  if (n == 0) return T(0);
  const U field = p >= uint32_t(kBits<T>) ? U(0) : U(U(a) >> p);
  const uint32_t last = std::min<uint32_t>(p + n - 1, kBits<T> - 1);
  const bool negative = std::is_signed_v<T> && (U(a) >> last & 1);
  // Bits of the field that a has; the sign fills the rest of the register.
  const uint32_t held = p >= uint32_t(kBits<T>) ? 0 : std::min<uint32_t>(n, kBits<T> - p);
  const U mask = low_ones<U>(held);
  return T((field & mask) | (negative ? U(~mask) : U(0)));
};
constexpr auto bfi = []<class T>(T field, T base, uint32_t position, uint32_t length) {
  const uint32_t p = field_count<T>(position), n = field_count<T>(length);
  if (p >= uint32_t(kBits<T>)) return base;
  const T mask = T(low_ones<T>(n) << p);
  return T((base & ~mask) | (T(field << p) & mask));
};
/// Position of the highest bit that differs from the sign; all ones if there is none.
constexpr auto bfind = []<class T>(T a) {
  const Unsigned<T> u = std::is_signed_v<T> && a < 0 ? Unsigned<T>(~a) : Unsigned<T>(a);
  return u == 0 ? ~0u : uint32_t(kBits<T> - 1 - std::countl_zero(u));
};
/// .shiftamt: how far left that bit can move.
constexpr auto bfind_shift = []<class T>(T a) {
  const uint32_t at = bfind(a);
  return at == ~0u ? at : uint32_t(kBits<T> - 1) - at;
};
uint32_t brev32(uint32_t a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  a = (a >> 8 & 0x00ff00ff) | (a & 0x00ff00ff) << 8;
  return a >> 16 | a << 16;
}
constexpr auto brev = []<class T>(T a) {
  if constexpr (sizeof(T) == 4)
    return T(brev32(uint32_t(a)));
  else
    return T(funnel(brev32(uint32_t(a >> 32)), brev32(uint32_t(a))));
};
constexpr auto popc = []<class T>(T a) { return uint32_t(std::popcount(a)); };
constexpr auto clz = []<class T>(T a) { return uint32_t(std::countl_zero(a)); };

/// The offset-th set bit of a from bit b on: upward for positive offsets, downward for negative; offset 0: b itself.
uint32_t fns(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == 0) return base < 32 && (mask >> base & 1) ? base : ~0u;
  const int step = offset > 0 ? 1 : -1;
  int64_t left = offset > 0 ? offset : -int64_t(offset);
  for (int64_t at = base; at >= 0 && at < 32; at += step)
    if ((mask >> at & 1) && --left == 0) return uint32_t(at);
  return ~0u;
}

/// Extends the low n bits of a.
constexpr auto szext_clamp = []<class T>(T a, uint32_t n) {
  if (n == 0) return T(0);
  if (n >= 32) return a;
  const uint32_t mask = low_ones<uint32_t>(n), u = uint32_t(a) & mask;
  return T(std::is_signed_v<T> && (u >> (n - 1) & 1) ? u | ~mask : u);
};
constexpr auto szext_wrap = []<class T>(T a, uint32_t n) { return szext_clamp(a, n & 31); };

/// b ones from bit a on.
uint32_t bmsk_clamp(uint32_t a, uint32_t b) { return a >= 32 ? 0 : low_ones<uint32_t>(b) << a; }
uint32_t bmsk_wrap(uint32_t a, uint32_t b) { return low_ones<uint32_t>(b & 31) << (a & 31); }

// ---- Decoding

constexpr LanewiseForm kLogicForms[] = {
    {Opcode::and_, "", by_width<bit_and>, CostClass::alu},
    {Opcode::or_, "", by_width<bit_or>, CostClass::alu},
    {Opcode::xor_, "", by_width<bit_xor>, CostClass::alu},
    {Opcode::not_, "", by_width<bit_not>, CostClass::alu},
    {Opcode::cnot, "", by_width<cnot>, CostClass::alu},
    {Opcode::shl, "", by_width<shl>, CostClass::alu},
    {Opcode::shr, "", by_integer<shr>, CostClass::alu},
    {Opcode::shf, "l wrap", always<shf_l_wrap>, CostClass::alu},
    {Opcode::shf, "l clamp", always<shf_l_clamp>, CostClass::alu},
    {Opcode::shf, "r wrap", always<shf_r_wrap>, CostClass::alu},
    {Opcode::shf, "r clamp", always<shf_r_clamp>, CostClass::alu},
    {Opcode::prmt, "f4e", always<prmt_mode<0x3210, 0x4321, 0x5432, 0x6543>>, CostClass::alu},
    {Opcode::prmt, "b4e", always<prmt_mode<0x5670, 0x6701, 0x7012, 0x0123>>, CostClass::alu},
    {Opcode::prmt, "rc8", always<prmt_mode<0x0000, 0x1111, 0x2222, 0x3333>>, CostClass::alu},
    {Opcode::prmt, "ecl", always<prmt_mode<0x3210, 0x3211, 0x3222, 0x3333>>, CostClass::alu},
    {Opcode::prmt, "ecr", always<prmt_mode<0x0000, 0x1110, 0x2210, 0x3210>>, CostClass::alu},
    {Opcode::prmt, "rc16", always<prmt_mode<0x1010, 0x3232, 0x1010, 0x3232>>, CostClass::alu},
    {Opcode::prmt, "", always<prmt>, CostClass::alu},
    {Opcode::bfe, "", by_word<bfe>, CostClass::alu},
    {Opcode::bfi, "", by_width<bfi>, CostClass::alu},
    {Opcode::bfind, "shiftamt", by_word<bfind_shift>, CostClass::sfu},
    {Opcode::bfind, "", by_word<bfind>, CostClass::sfu},
    {Opcode::brev, "", by_word<brev>, CostClass::sfu},
    {Opcode::popc, "", by_width<popc>, CostClass::sfu},
    {Opcode::clz, "", by_width<clz>, CostClass::sfu},
    {Opcode::fns, "", always<fns>, CostClass::alu},
    {Opcode::szext, "wrap", by_word<szext_wrap>, CostClass::alu},
    {Opcode::szext, "", by_word<szext_clamp>, CostClass::alu},
    {Opcode::bmsk, "wrap", always<bmsk_wrap>, CostClass::alu},
    {Opcode::bmsk, "", always<bmsk_clamp>, CostClass::alu},
};

/// Predicate operands are masks, one bit a lane: f works on them directly.
template <auto f>
void on_masks(Warp& w, const Op& op) {
  if constexpr (requires { f(0u); })
    put_pred(w, op.dst, f(w.pred(op.a)));
  else
    put_pred(w, op.dst, f(w.pred(op.a), w.pred(op.b)));
}

template <auto f>
void decode_bitwise(Decoder& d, Op& op) {
  if (d.inst->type() != Type::pred) return decode_form(d, op);
  op.dst = d.dst(d.operand("d"));
  op.a = d.pred(d.operand("a"));
  if (const ptx::Operand* b = d.find("b")) op.b = d.pred(*b);
  finish(d, op, on_masks<f>, CostClass::alu);
}

void decode_lop3(Decoder& d, Op& op) {
  op.a = d.src(d.operand("a"), Type::b32);
  op.b = d.src(d.operand("b"), Type::b32);
  op.c = d.src(d.operand("c"), Type::b32);
  op.imm = products_of(uint32_t(d.operand("table").bits) & 0xff);
  const ptx::Operand* q = d.find("q");
  if (q) op.d = d.pred(*q);
  op.set(d.inst->has("and") ? PredicateOp::both : PredicateOp::either);
  decode_destinations(d, op, d.operand(0));
  finish(d, op, q ? lop3_predicate : lop3, CostClass::alu);
}

}  // namespace

Table logic_table() {
  static constexpr Entry table[] = {
      {Opcode::and_, decode_bitwise<bit_and>},
      {Opcode::or_, decode_bitwise<bit_or>},
      {Opcode::xor_, decode_bitwise<bit_xor>},
      {Opcode::not_, decode_bitwise<bit_not>},
      {Opcode::lop3, decode_lop3},
  };
  return {table, kLogicForms};
}

}  // namespace tinygpu::isa
