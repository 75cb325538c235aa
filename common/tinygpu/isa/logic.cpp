// Logic, shifts and bit fields (PTX ISA 9.7.8, and the bit-field instructions of 9.7.1).
#include <algorithm>

#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/lanewise.h"

namespace tinygpu::isa {
namespace {

using ptx::Type;

// ---- Bitwise

template <class T>
T and_(T a, T b) {
  return T(a & b);
}
template <class T>
T or_(T a, T b) {
  return T(a | b);
}
template <class T>
T xor_(T a, T b) {
  return T(a ^ b);
}
template <class T>
T not_(T a) {
  return T(~a);
}
template <class T>
T cnot(T a) {
  return T(a == 0);
}

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

/// d | p = lop3, p = (d != 0) BoolOp q; op.list: p's slot, q's slot.
void lop3_predicate(Warp& w, const Op& op) {
  uint32_t result[32], nonzero = 0;
  lop3_lanes(w, op, [&](auto f) {
    for (int i = 0; i < 32; ++i) result[i] = f(i);
  });
  for (int i = 0; i < 32; ++i) nonzero |= uint32_t(result[i] != 0) << i;
  const uint32_t q = w.pred(op.list[1]);
  const uint32_t p = op.get<PredicateOp>() == PredicateOp::both ? nonzero & q : nonzero | q;
  if (op.dst != kNoSlot) each_lane<uint32_t>(w, op.dst, [&](int i) { return result[i]; });
  uint32_t& d = w.pred(op.list[0]);
  d = (d & ~w.exec()) | (p & w.exec());
}

// ---- Shifts: the amount is 32 bits for every type and clamped to the width

template <class T>
T shl(T a, uint32_t n) {
  return n >= uint32_t(kBits<T>) ? T(0) : T(a << (n & (kBits<T> - 1)));
}
template <class T>
T shr(T a, uint32_t n) {
  if constexpr (std::is_signed_v<T>)
    return T(a >> (n >= uint32_t(kBits<T>) ? uint32_t(kBits<T> - 1) : n));
  else
    return n >= uint32_t(kBits<T>) ? T(0) : T(a >> (n & (kBits<T> - 1)));
}
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

template <class T>
T bfe(T a, uint32_t position, uint32_t length) {
  using U = Unsigned<T>;
  const uint32_t p = field_count<T>(position), n = field_count<T>(length);
  if (n == 0) return 0;
  const U field = p >= uint32_t(kBits<T>) ? U(0) : U(U(a) >> p);
  const uint32_t last = std::min<uint32_t>(p + n - 1, kBits<T> - 1);
  const bool negative = std::is_signed_v<T> && (U(a) >> last & 1);
  // Bits of the field that a has; the sign fills the rest of the register.
  const uint32_t held = p >= uint32_t(kBits<T>) ? 0 : std::min<uint32_t>(n, kBits<T> - p);
  const U mask = low_ones<U>(held);
  return T((field & mask) | (negative ? U(~mask) : U(0)));
}
template <class T>
T bfi(T field, T base, uint32_t position, uint32_t length) {
  const uint32_t p = field_count<T>(position), n = field_count<T>(length);
  if (p >= uint32_t(kBits<T>)) return base;
  const T mask = T(low_ones<T>(n) << p);
  return T((base & ~mask) | (T(field << p) & mask));
}
/// Position of the highest bit that differs from the sign; all ones if there is none.
template <class T>
uint32_t bfind(T a) {
  const Unsigned<T> u = std::is_signed_v<T> && a < 0 ? Unsigned<T>(~a) : Unsigned<T>(a);
  return u == 0 ? ~0u : uint32_t(kBits<T> - 1 - std::countl_zero(u));
}
/// .shiftamt: how far left that bit can move.
template <class T>
uint32_t bfind_shift(T a) {
  const uint32_t at = bfind(a);
  return at == ~0u ? at : uint32_t(kBits<T> - 1) - at;
}
uint32_t brev32(uint32_t a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  a = (a >> 8 & 0x00ff00ff) | (a & 0x00ff00ff) << 8;
  return a >> 16 | a << 16;
}
template <class T>
T brev(T a);
template <>
uint32_t brev(uint32_t a) {
  return brev32(a);
}
template <>
uint64_t brev(uint64_t a) {
  return funnel(brev32(uint32_t(a >> 32)), brev32(uint32_t(a)));
}
template <class T>
uint32_t popc(T a) {
  return uint32_t(std::popcount(a));
}
template <class T>
uint32_t clz(T a) {
  return uint32_t(std::countl_zero(a));
}

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
template <class T>
T szext_n(T a, uint32_t n) {
  if (n == 0) return 0;
  if (n >= 32) return a;
  const uint32_t mask = low_ones<uint32_t>(n), u = uint32_t(a) & mask;
  return T(std::is_signed_v<T> && (u >> (n - 1) & 1) ? u | ~mask : u);
}
template <class T>
T szext_clamp(T a, uint32_t n) {
  return szext_n(a, n);
}
template <class T>
T szext_wrap(T a, uint32_t n) {
  return szext_n(a, n & 31);
}

/// b ones from bit a on.
uint32_t bmsk_clamp(uint32_t a, uint32_t b) { return a >= 32 ? 0 : low_ones<uint32_t>(b) << a; }
uint32_t bmsk_wrap(uint32_t a, uint32_t b) { return low_ones<uint32_t>(b & 31) << (a & 31); }

// ---- Decoding

CostClass alu_cost(Type t) { return ptx::size_of(t) == 8 ? CostClass::alu64 : CostClass::alu; }

#define BITS(f) by_width(t, [](auto tag) -> ExecFn { return lanewise<f<typename decltype(tag)::type>>; })
#define INTEGER(f) by_integer(t, [](auto tag) -> ExecFn { return lanewise<f<typename decltype(tag)::type>>; })
#define WORDS(f) (ptx::size_of(t) == 8 ? ExecFn(lanewise<f<uint64_t>>) : ExecFn(lanewise<f<uint32_t>>))
#define SIGNED_WORDS(f)                             \
  (t == Type::u32   ? ExecFn(lanewise<f<uint32_t>>) \
   : t == Type::s32 ? ExecFn(lanewise<f<int32_t>>)  \
   : t == Type::u64 ? ExecFn(lanewise<f<uint64_t>>) \
                    : ExecFn(lanewise<f<int64_t>>))

/// Predicate operands are masks, one bit a lane: f works on them directly.
template <auto f>
void on_masks(Warp& w, const Op& op) {
  const uint32_t a = w.pred(op.a);
  uint32_t r;
  if constexpr (Signature<decltype(f)>::arity == 1)
    r = f(a);
  else
    r = f(a, w.pred(op.b));
  uint32_t& d = w.pred(op.dst);
  d = (d & ~w.exec()) | (r & w.exec());
}

void decode_masks(Decoder& d, Op& op, ExecFn fn) {
  op.dst = d.dst(d.operand(0));
  op.a = d.pred(d.operand(1));
  if (d.has(2)) op.b = d.pred(d.operand(2));
  finish(d, op, fn, CostClass::alu);
}

void decode_and(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (t == Type::pred) return decode_masks(d, op, on_masks<and_<uint32_t>>);
  plain_operands(d, op, t);
  finish(d, op, BITS(and_), alu_cost(t));
}
void decode_or(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (t == Type::pred) return decode_masks(d, op, on_masks<or_<uint32_t>>);
  plain_operands(d, op, t);
  finish(d, op, BITS(or_), alu_cost(t));
}
void decode_xor(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (t == Type::pred) return decode_masks(d, op, on_masks<xor_<uint32_t>>);
  plain_operands(d, op, t);
  finish(d, op, BITS(xor_), alu_cost(t));
}
void decode_not(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  if (t == Type::pred) return decode_masks(d, op, on_masks<not_<uint32_t>>);
  plain_operands(d, op, t);
  finish(d, op, BITS(not_), alu_cost(t));
}
void decode_cnot(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, BITS(cnot), alu_cost(t));
}
void decode_lop3(Decoder& d, Op& op) {
  const ptx::Operand& dst = d.operand(0);
  const bool with_predicate = dst.kind == ptx::Operand::Kind::pair;
  op.a = d.src(d.operand(1), Type::b32);
  op.b = d.src(d.operand(2), Type::b32);
  op.c = d.src(d.operand(3), Type::b32);
  op.imm = products_of(uint32_t(d.operand(4).bits) & 0xff);  // the table is an immediate
  if (!with_predicate) {
    op.dst = d.dst(dst);
    return finish(d, op, lop3, CostClass::alu);
  }
  op.dst = d.dst(dst.elems.at(0));
  op.set(d.inst->has("and") ? PredicateOp::both : PredicateOp::either);
  d.set_list(op, {d.dst(dst.elems.at(1)), d.pred(d.operand(5))});
  finish(d, op, lop3_predicate, CostClass::alu);
}
void decode_shl(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t, Type::u32);
  finish(d, op, BITS(shl), alu_cost(t));
}
void decode_shr(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t, Type::u32);
  finish(d, op, INTEGER(shr), alu_cost(t));
}
void decode_shf(Decoder& d, Op& op) {
  plain_operands(d, op, Type::b32);
  const bool left = d.inst->has("l"), wrap = d.inst->has("wrap");
  finish(d, op,
         left ? (wrap ? lanewise<shf_l_wrap> : lanewise<shf_l_clamp>)
              : (wrap ? lanewise<shf_r_wrap> : lanewise<shf_r_clamp>),
         CostClass::alu);
}
void decode_prmt(Decoder& d, Op& op) {
  plain_operands(d, op, Type::b32);
  const ptx::Instruction& i = *d.inst;
  finish(d, op,
         i.has("f4e")    ? lanewise<prmt_mode<0x3210, 0x4321, 0x5432, 0x6543>>
         : i.has("b4e")  ? lanewise<prmt_mode<0x5670, 0x6701, 0x7012, 0x0123>>
         : i.has("rc8")  ? lanewise<prmt_mode<0x0000, 0x1111, 0x2222, 0x3333>>
         : i.has("ecl")  ? lanewise<prmt_mode<0x3210, 0x3211, 0x3222, 0x3333>>
         : i.has("ecr")  ? lanewise<prmt_mode<0x0000, 0x1110, 0x2210, 0x3210>>
         : i.has("rc16") ? lanewise<prmt_mode<0x1010, 0x3232, 0x1010, 0x3232>>
                         : lanewise<prmt>,
         CostClass::alu);
}
void decode_bfe(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t, Type::u32, Type::u32);
  finish(d, op, SIGNED_WORDS(bfe), alu_cost(t));
}
void decode_bfi(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), t);
  op.b = d.src(d.operand(2), t);
  op.c = d.src(d.operand(3), Type::u32);
  op.d = d.src(d.operand(4), Type::u32);
  finish(d, op, WORDS(bfi), alu_cost(t));
}
void decode_bfind(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, d.inst->has("shiftamt") ? SIGNED_WORDS(bfind_shift) : SIGNED_WORDS(bfind), CostClass::sfu);
}
void decode_brev(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, WORDS(brev), CostClass::sfu);
}
void decode_popc(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, WORDS(popc), CostClass::sfu);
}
void decode_clz(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t);
  finish(d, op, WORDS(clz), CostClass::sfu);
}
void decode_fns(Decoder& d, Op& op) {
  plain_operands(d, op, Type::b32, Type::b32, Type::s32);
  finish(d, op, lanewise<fns>, CostClass::alu);
}
void decode_szext(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  plain_operands(d, op, t, Type::u32);
  const bool s = t == Type::s32;
  finish(d, op,
         d.inst->has("wrap") ? (s ? lanewise<szext_wrap<int32_t>> : lanewise<szext_wrap<uint32_t>>)
                             : (s ? lanewise<szext_clamp<int32_t>> : lanewise<szext_clamp<uint32_t>>),
         CostClass::alu);
}
void decode_bmsk(Decoder& d, Op& op) {
  plain_operands(d, op, Type::b32);
  finish(d, op, d.inst->has("wrap") ? lanewise<bmsk_wrap> : lanewise<bmsk_clamp>, CostClass::alu);
}

}  // namespace

Table logic_table() {
  static const Entry table[] = {
      {Opcode::and_, decode_and},    {Opcode::or_, decode_or},    {Opcode::xor_, decode_xor},
      {Opcode::not_, decode_not},    {Opcode::cnot, decode_cnot}, {Opcode::lop3, decode_lop3},
      {Opcode::shl, decode_shl},     {Opcode::shr, decode_shr},   {Opcode::shf, decode_shf},
      {Opcode::prmt, decode_prmt},   {Opcode::bfe, decode_bfe},   {Opcode::bfi, decode_bfi},
      {Opcode::bfind, decode_bfind}, {Opcode::brev, decode_brev}, {Opcode::popc, decode_popc},
      {Opcode::clz, decode_clz},     {Opcode::fns, decode_fns},   {Opcode::szext, decode_szext},
      {Opcode::bmsk, decode_bmsk},
  };
  return {std::begin(table), std::end(table)};
}

}  // namespace tinygpu::isa
