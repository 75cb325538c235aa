// Comparison and selection: setp, set, selp, slct, testp (PTX ISA 9.7.6, 9.7.7 and 9.7.3.2).
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/floats.h"

namespace tinygpu::isa {
namespace {

// ---- Comparisons on values: f16 and bf16 by their float value, which is exact

template <class T>
auto comparable(T x) {
  if constexpr (std::is_enum_v<T>)
    return value(x);
  else
    return x;
}
constexpr auto eq = []<class T>(T a, T b) { return comparable(a) == comparable(b); };
constexpr auto lt = []<class T>(T a, T b) { return comparable(a) < comparable(b); };
constexpr auto le = []<class T>(T a, T b) { return comparable(a) <= comparable(b); };
constexpr auto gt = []<class T>(T a, T b) { return comparable(a) > comparable(b); };
constexpr auto ge = []<class T>(T a, T b) { return comparable(a) >= comparable(b); };
constexpr auto num = []<class T>(T a, T b) { return eq(a, a) && eq(b, b); };
/// Ordered "not equal": false when either is a NaN.
constexpr auto ne = []<class T>(T a, T b) { return lt(a, b) || gt(a, b); };

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
/// setp p|q, a, b, c: p = (a cmp b) BoolOp c, q = !(a cmp b) BoolOp c.
template <auto f>
void setp(Warp& w, const Op& op) {
  const uint32_t t = truth<f>(w, op) ^ (inverted(op) ? ~0u : 0u);
  const uint32_t p = combined(w, op, t), q = op.dst2 == kNoSlot ? 0 : combined(w, op, ~t);
  if (op.dst != kNoSlot) put_pred(w, op.dst, p);
  if (op.dst2 != kNoSlot) put_pred(w, op.dst2, q);
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
  if (op.dst != kNoSlot) put_pred(w, op.dst, low);
  if (op.dst2 != kNoSlot) put_pred(w, op.dst2, high);
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
  ExecFn setp = nullptr, set = nullptr, setp_pair = nullptr, set_pair = nullptr;
};
template <class T, auto f>
constexpr auto flushed = [](T a, T b) { return f(flush(a), flush(b)); };

template <class T, bool ftz, auto comparison>
Executors executors_of() {
  constexpr bool (*plain)(T, T) = instance<comparison, T>;
  constexpr bool (*f)(T, T) = [] {
    if constexpr (ftz)
      return +flushed<T, plain>;
    else
      return plain;
  }();
  if constexpr (std::is_enum_v<T>)
    return {setp<f>, set<f>, setp_pair<f, T>, set_pair<f, T>};
  else
    return {setp<f>, set<f>};
}
template <class T, bool ftz = false>
Executors executors(Comparison c) {
  switch (c) {
    case kEq: return executors_of<T, ftz, eq>();
    case kNe: return executors_of<T, ftz, ne>();
    case kLt: return executors_of<T, ftz, lt>();
    case kLe: return executors_of<T, ftz, le>();
    case kGt: return executors_of<T, ftz, gt>();
    case kGe: return executors_of<T, ftz, ge>();
    case kNum:
      if constexpr (!std::is_integral_v<T>) return executors_of<T, ftz, num>();
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
  return t == Type::f64 ? CostClass::fp64 : ptx::is_float(t) && t != Type::f32 ? CostClass::half : alu_cost(t);
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
  decode_destinations(d, op, d.operand(0));
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
  op.dst = d.dst(d.operand("d"));
  op.a = d.src(d.operand("a"), t);
  op.b = d.src(d.operand("b"), t);
  op.c = d.pred(d.operand("p"));
  const int size = ptx::size_of(t);
  finish(d, op, size == 2 ? selp<uint16_t> : size == 4 ? selp<uint32_t> : selp<uint64_t>, alu_cost(t));
}

/// a where c is at least zero (−0 is, NaN is not), else b.
constexpr auto slct_s32 = []<class T>(T a, T b, int32_t c) { return c >= 0 ? a : b; };
constexpr auto slct_f32 = []<class T>(T a, T b, float c) { return c >= 0 ? a : b; };
constexpr auto slct_f32_ftz = []<class T>(T a, T b, float c) { return flush(c) >= 0 ? a : b; };
void decode_slct(Decoder& d, Op& op) {
  const Type t = d.inst->type(0);
  decode_lanewise(d, op,
                  d.inst->type(1) == Type::s32 ? by_width<slct_s32>(t)
                  : d.inst->has("ftz")         ? by_width<slct_f32_ftz>(t)
                                               : by_width<slct_f32>(t),
                  alu_cost(t));
}

// ---- testp

template <class T>
constexpr T kSmallestNormal = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
constexpr auto is_number = []<class T>(T a) { return a == a; };
constexpr auto is_not_a_number = []<class T>(T a) { return a != a; };
constexpr auto is_infinite = []<class T>(T a) { return std::fabs(a) == HUGE_VAL; };
constexpr auto is_finite = []<class T>(T a) { return std::fabs(a) < HUGE_VAL; };
constexpr auto is_subnormal = []<class T>(T a) { return a != 0 && std::fabs(a) < kSmallestNormal<T>; };
/// Zeros count as normal (PTX ISA 9.7.3.2).
constexpr auto is_normal = []<class T>(T a) { return is_finite(a) && !is_subnormal(a); };

template <auto f>
void execute_testp(Warp& w, const Op& op) {
  put_pred(w, op.dst, truth<f>(w, op));
}
template <auto f>
Executor testp(Type t) {
  if (t == Type::f64) return {execute_testp<instance<f, double>>, {t}};
  return {execute_testp<instance<f, float>>, {t}};
}
void decode_testp(Decoder& d, Op& op) {
  decode_form(d, op);
  op.cost = compare_cost(d.inst->type());
}

constexpr LanewiseForm kCompareForms[] = {
    {Opcode::testp, "number", testp<is_number>, CostClass::alu},
    {Opcode::testp, "notanumber", testp<is_not_a_number>, CostClass::alu},
    {Opcode::testp, "infinite", testp<is_infinite>, CostClass::alu},
    {Opcode::testp, "finite", testp<is_finite>, CostClass::alu},
    {Opcode::testp, "normal", testp<is_normal>, CostClass::alu},
    {Opcode::testp, "subnormal", testp<is_subnormal>, CostClass::alu},
};

}  // namespace

Table compare_table() {
  static constexpr Entry table[] = {
      {Opcode::setp, decode_setp}, {Opcode::set, decode_set},     {Opcode::selp, decode_selp},
      {Opcode::slct, decode_slct}, {Opcode::testp, decode_testp},
  };
  return {table, kCompareForms};
}

}  // namespace tinygpu::isa
