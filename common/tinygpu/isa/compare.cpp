// Comparison and selection: setp, set, selp, slct, testp (PTX ISA 9.7.6, 9.7.7 and 9.7.3.2).
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/floats.h"

namespace tinygpu::isa {
namespace {

using ptx::Type;

// ---- Comparisons on values: f16 and bf16 by their float value, which is exact

template <class T>
auto comparable(T x) {
  return x;
}
float comparable(f16 x) { return value(x); }
float comparable(bf16 x) { return value(x); }

template <class T>
bool eq(T a, T b) {
  return comparable(a) == comparable(b);
}
template <class T>
bool lt(T a, T b) {
  return comparable(a) < comparable(b);
}
template <class T>
bool le(T a, T b) {
  return comparable(a) <= comparable(b);
}
template <class T>
bool gt(T a, T b) {
  return comparable(a) > comparable(b);
}
template <class T>
bool ge(T a, T b) {
  return comparable(a) >= comparable(b);
}
template <class T>
bool num(T a, T b) {
  return comparable(a) == comparable(a) && comparable(b) == comparable(b);
}
/// Ordered "not equal": false when either is a NaN.
template <class T>
bool ne(T a, T b) {
  return comparable(a) < comparable(b) || comparable(a) > comparable(b);
}

enum Comparison : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kNum };

/// A comparison and whether its outcome is inverted: the unordered forms are the inverse of the opposite ordered one.
struct Compare {
  Comparison comparison;
  bool inverted;
};
/// The operator among the modifiers. lo, ls, hi, hs are the unsigned names of lt, le, gt, ge.
Compare compare_of(const ptx::Instruction& inst) {
  static constexpr std::pair<std::string_view, Compare> names[] = {
      {"eq", {kEq, false}}, {"ne", {kNe, false}},   {"lt", {kLt, false}},  {"le", {kLe, false}}, {"gt", {kGt, false}},
      {"ge", {kGe, false}}, {"lo", {kLt, false}},   {"ls", {kLe, false}},  {"hi", {kGt, false}}, {"hs", {kGe, false}},
      {"equ", {kNe, true}}, {"neu", {kEq, true}},   {"ltu", {kGe, true}},  {"leu", {kGt, true}}, {"gtu", {kLe, true}},
      {"geu", {kLt, true}}, {"num", {kNum, false}}, {"nan", {kNum, true}},
  };
  for (const auto& [name, compare] : names)
    if (!inst.mods.empty() && inst.mods.front() == name) return compare;
  for (const auto& [name, compare] : names)
    if (inst.has(name)) return compare;
  return {kEq, false};
}

/// Combination of the outcome with the predicate operand c.
enum BoolOp : uint8_t { kNoBoolOp, kAnd, kOr, kXor };
BoolOp bool_op_of(const ptx::Instruction& inst) {
  return inst.has("and") ? kAnd : inst.has("or") ? kOr : inst.has("xor") ? kXor : kNoBoolOp;
}
uint32_t combine(BoolOp op, uint32_t t, uint32_t c) {
  return op == kAnd ? t & c : op == kOr ? t | c : op == kXor ? t ^ c : t;
}

struct ComparisonDetails {
  bool inverted;
  BoolOp bool_op;
  uint8_t result_bytes;  // of set
};
bool inverted(const Op& op) { return op.get<ComparisonDetails>().inverted; }
uint32_t combined(Warp& w, const Op& op, uint32_t t) {
  const BoolOp b = op.get<ComparisonDetails>().bool_op;
  return b == kNoBoolOp ? t : combine(b, t, w.pred(op.c));
}
void write_mask(Warp& w, uint32_t slot, uint32_t m) {
  uint32_t& d = w.pred(slot);
  d = (d & ~w.exec()) | (m & w.exec());
}

/// setp p|q, a, b, c: p = (a cmp b) BoolOp c, q = !(a cmp b) BoolOp c.
template <auto f>
void setp(Warp& w, const Op& op) {
  const uint32_t t = truth<f>(w, op) ^ (inverted(op) ? ~0u : 0u);
  const uint32_t p = combined(w, op, t), q = op.dst2 == kNoSlot ? 0 : combined(w, op, ~t);
  if (op.dst != kNoSlot) write_mask(w, op.dst, p);
  if (op.dst2 != kNoSlot) write_mask(w, op.dst2, q);
}
/// Packed: p from the low halves, q from the high ones.
template <auto f, class T>
void setp_pair(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  uint32_t low = 0, high = 0;
  for (int i = 0; i < 32; ++i) {
    low |= uint32_t(f(a[2 * i], b[2 * i]) != inverted(op)) << i;
    high |= uint32_t(f(a[2 * i + 1], b[2 * i + 1]) != inverted(op)) << i;
  }
  low = combined(w, op, low);
  high = combined(w, op, high);
  if (op.dst != kNoSlot) write_mask(w, op.dst, low);
  if (op.dst2 != kNoSlot) write_mask(w, op.dst2, high);
}
/// set d: imm in lanes where it holds, else zero.
template <auto f>
void set(Warp& w, const Op& op) {
  const uint32_t t = combined(w, op, truth<f>(w, op) ^ (inverted(op) ? ~0u : 0u));
  const uint32_t yes = uint32_t(op.imm);
  if (op.get<ComparisonDetails>().result_bytes == 2)
    each_lane<uint16_t>(w, op.dst, [=](int i) { return uint16_t(t >> i & 1 ? yes : 0); });
  else
    each_lane<uint32_t>(w, op.dst, [=](int i) { return t >> i & 1 ? yes : 0; });
}
template <auto f, class T>
void set_pair(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  const uint32_t c = op.c == kNoSlot ? 0 : w.pred(op.c);
  const BoolOp bool_op = op.get<ComparisonDetails>().bool_op;
  each_element<uint16_t, 2>(w, op.dst, [=, &op](int j) {
    const bool t = f(a[j], b[j]) != inverted(op);
    return uint16_t(combine(bool_op, t, c >> (j / 2) & 1) ? op.imm : 0);
  });
}

/// Executors of one comparison for one element type.
struct Executors {
  ExecFn setp, set, setp_pair = nullptr, set_pair = nullptr;
};
template <class T, auto f>
Executors executors_of() {
  Executors e{setp<f>, set<f>};
  if constexpr (std::is_enum_v<T>) {
    e.setp_pair = setp_pair<f, T>;
    e.set_pair = set_pair<f, T>;
  }
  return e;
}
template <auto f>
struct Flushed;
template <class T, bool (*f)(T, T)>
struct Flushed<f> {
  static bool call(T a, T b) { return f(flush(a), flush(b)); }
};
template <class T, bool ftz, auto f>
Executors maybe_flushed() {
  if constexpr (ftz)
    return executors_of<T, Flushed<f>::call>();
  else
    return executors_of<T, f>();
}
template <class T, bool ftz = false>
Executors executors(Comparison c) {
  switch (c) {
    case kEq: return maybe_flushed<T, ftz, eq<T>>();
    case kNe: return maybe_flushed<T, ftz, ne<T>>();
    case kLt: return maybe_flushed<T, ftz, lt<T>>();
    case kLe: return maybe_flushed<T, ftz, le<T>>();
    case kGt: return maybe_flushed<T, ftz, gt<T>>();
    case kGe: return maybe_flushed<T, ftz, ge<T>>();
    case kNum:
      if constexpr (!std::is_integral_v<T>) return maybe_flushed<T, ftz, num<T>>();
      break;
  }
  return {};
}
Executors executors_for(Decoder& d, Type t, Comparison c) {
  const bool ftz = d.inst->has("ftz");
  switch (t) {
    case Type::b16:
    case Type::u16: return executors<uint16_t>(c);
    case Type::s16: return executors<int16_t>(c);
    case Type::b32:
    case Type::u32: return executors<uint32_t>(c);
    case Type::s32: return executors<int32_t>(c);
    case Type::b64:
    case Type::u64: return executors<uint64_t>(c);
    case Type::s64: return executors<int64_t>(c);
    case Type::f32: return ftz ? executors<float, true>(c) : executors<float>(c);
    case Type::f64: return executors<double>(c);
    case Type::f16:
    case Type::f16x2: return ftz ? executors<f16, true>(c) : executors<f16>(c);
    case Type::bf16:
    case Type::bf16x2: return executors<bf16>(c);
    default: d.not_modelled();
  }
}
CostClass compare_cost(Type t) {
  return t == Type::f64                       ? CostClass::fp64
         : ptx::is_float(t) && t != Type::f32 ? CostClass::half
         : ptx::size_of(t) == 8               ? CostClass::alu64
                                              : CostClass::alu;
}
bool is_pair(Type t) { return t == Type::f16x2 || t == Type::bf16x2; }

void decode_comparison(Decoder& d, Op& op, Type t, uint8_t result_bytes = 0) {
  op.a = d.src(d.operand(1), t);
  op.b = d.src(d.operand(2), t);
  const BoolOp b = bool_op_of(*d.inst);
  if (b != kNoBoolOp) op.c = d.pred(d.operand(3));
  op.set(ComparisonDetails{compare_of(*d.inst).inverted, b, result_bytes});
}

void decode_setp(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  const ptx::Operand& dst = d.operand(0);
  if (dst.kind == ptx::Operand::Kind::pair) {
    op.dst = d.dst(dst.elems.at(0));
    op.dst2 = d.dst(dst.elems.at(1));
  } else {
    op.dst = d.dst(dst);
  }
  decode_comparison(d, op, t);
  const Executors e = executors_for(d, t, compare_of(*d.inst).comparison);
  finish(d, op, is_pair(t) ? e.setp_pair : e.setp, compare_cost(t));
}

/// set.CmpOp.dtype.stype
void decode_set(Decoder& d, Op& op) {
  const Type to = d.inst->type(0), from = d.inst->type(1);
  op.dst = d.dst(d.operand(0));
  decode_comparison(d, op, from, uint8_t(ptx::size_of(to)));
  const Executors e = executors_for(d, from, compare_of(*d.inst).comparison);
  op.imm = to == Type::f32                          ? 0x3f800000
           : to == Type::f16 || to == Type::f16x2   ? 0x3c00
           : to == Type::bf16 || to == Type::bf16x2 ? 0x3f80
                                                    : 0xffffffff;
  finish(d, op, is_pair(from) ? e.set_pair : e.set, compare_cost(from));
}

// ---- Selection

template <class T>
void selp(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  const uint32_t p = w.pred(op.c);
  each_lane<T>(w, op.dst, [=](int i) { return (p >> i & 1) ? a[i] : b[i]; });
}
void decode_selp(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), t);
  op.b = d.src(d.operand(2), t);
  op.c = d.pred(d.operand(3));
  finish(d, op, by_width(t, [](auto tag) -> ExecFn { return selp<typename decltype(tag)::type>; }),
         ptx::size_of(t) == 8 ? CostClass::alu64 : CostClass::alu);
}

/// a where c is at least zero (−0 is, NaN is not), else b.
template <class T>
T slct_s32(T a, T b, int32_t c) {
  return c >= 0 ? a : b;
}
template <class T>
T slct_f32(T a, T b, float c) {
  return c >= 0 ? a : b;
}
template <class T>
T slct_f32_ftz(T a, T b, float c) {
  return flush(c) >= 0 ? a : b;
}
void decode_slct(Decoder& d, Op& op) {
  const Type t = d.inst->type(0), selector = d.inst->type(1);
  const bool ftz = d.inst->has("ftz");
  plain_operands(d, op, t, t, selector);
  finish(d, op,
         by_width(t,
                  [=](auto tag) -> ExecFn {
                    using T = typename decltype(tag)::type;
                    return selector == Type::s32 ? lanewise<slct_s32<T>>
                           : ftz                 ? lanewise<slct_f32_ftz<T>>
                                                 : lanewise<slct_f32<T>>;
                  }),
         ptx::size_of(t) == 8 ? CostClass::alu64 : CostClass::alu);
}

// ---- testp

template <class T>
bool test_number(T a) {
  return a == a;
}
template <class T>
bool test_notanumber(T a) {
  return a != a;
}
template <class T>
bool test_infinite(T a) {
  return std::fabs(a) == HUGE_VAL;
}
template <class T>
bool test_finite(T a) {
  return std::fabs(a) < HUGE_VAL;
}
template <class T>
constexpr T kSmallestNormal = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
template <class T>
bool test_subnormal(T a) {
  return a != 0 && std::fabs(a) < kSmallestNormal<T>;
}
/// Zeros count as normal (PTX ISA 9.7.3.2).
template <class T>
bool test_normal(T a) {
  return test_finite(a) && !test_subnormal(a);
}

template <auto f>
void testp(Warp& w, const Op& op) {
  write_mask(w, op.dst, truth<f>(w, op));
}
template <class T>
ExecFn testp_of(const ptx::Instruction& inst) {
  return inst.has("number")       ? testp<test_number<T>>
         : inst.has("notanumber") ? testp<test_notanumber<T>>
         : inst.has("infinite")   ? testp<test_infinite<T>>
         : inst.has("finite")     ? testp<test_finite<T>>
         : inst.has("normal")     ? testp<test_normal<T>>
                                  : testp<test_subnormal<T>>;
}
void decode_testp(Decoder& d, Op& op) {
  const Type t = d.inst->type();
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), t);
  finish(d, op, t == Type::f64 ? testp_of<double>(*d.inst) : testp_of<float>(*d.inst), compare_cost(t));
}

}  // namespace

Table compare_table() {
  static const Entry table[] = {
      {Opcode::setp, decode_setp}, {Opcode::set, decode_set},     {Opcode::selp, decode_selp},
      {Opcode::slct, decode_slct}, {Opcode::testp, decode_testp},
  };
  return {std::begin(table), std::end(table)};
}

}  // namespace tinygpu::isa
