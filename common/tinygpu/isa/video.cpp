// Video instructions (PTX ISA 9.7.18): arithmetic on bytes, halves and words that are taken out of registers, saturated
// and merged into others; and the same on lanes of two halves or four bytes. vabsdiff4 is __vabsdiffu4 in CUDA.
//   vadd.D.A.B{.sat} d, a{.part}, b{.part}         d = a + b
//   vadd.D.A.B{.sat}.add|min|max d, a, b, c        d = (a + b) op c
//   vadd.D.A.B{.sat} d.part, a, b, c               d = c with a part replaced
//   vadd4.D.A.B{.sat|.add} d{.mask}, a{.lanes}, b{.lanes}, c
#include <algorithm>
#include <string_view>

#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

using ptx::Operand;
using ptx::Type;

namespace {

enum class Act : uint8_t { add, sub, average, abs_difference, min, max, shift_left, shift_right, compare, multiply };
enum class Second : uint8_t { none, add, min, max };
enum class Relation : uint8_t { eq, ne, lt, le, gt, ge };

/// Bits [shift, shift + bits) of a register.
struct Part {
  uint8_t shift, bits;
};
constexpr Part kWord{0, 32};

struct VideoDetails {
  Act act;
  Second second;
  Relation relation;
  bool d_signed, a_signed, b_signed;
  bool saturate, wrap;
  Part d, a, b;                  // of scalars
  uint8_t lanes;                 // 2 or 4
  uint8_t a_lane[4], b_lane[4];  // of a's lanes, then b's
  uint8_t mask;                  // lanes of d that are written
  // vmad
  uint8_t scale;
  bool negate_product, negate_c, plus_one;
};
static_assert(sizeof(VideoDetails) <= Op::kDetails);

int64_t extend(uint32_t value, uint32_t bits, bool is_signed) {
  const uint32_t top = value << (32 - bits);
  return is_signed ? int64_t(int32_t(top) >> (32 - bits)) : int64_t(top >> (32 - bits));
}

int64_t clamp_to(int64_t v, uint32_t bits, bool is_signed) {
  const int64_t high = is_signed ? (int64_t(1) << (bits - 1)) - 1 : (int64_t(1) << bits) - 1;
  return std::clamp<int64_t>(v, is_signed ? -high - 1 : 0, high);
}

bool holds(Relation r, int64_t a, int64_t b) {
  switch (r) {
    case Relation::eq: return a == b;
    case Relation::ne: return a != b;
    case Relation::lt: return a < b;
    case Relation::le: return a <= b;
    case Relation::gt: return a > b;
    case Relation::ge: return a >= b;
  }
  return false;
}

int64_t result(const VideoDetails& k, int64_t a, int64_t b) {
  switch (k.act) {
    case Act::add: return a + b;
    case Act::sub: return a - b;
    // Half the sum: halves go up where it is not negative, and down where it is.
    case Act::average: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case Act::abs_difference: return a > b ? a - b : b - a;
    case Act::min: return std::min(a, b);
    case Act::max: return std::max(a, b);
    case Act::shift_left: return int64_t(uint64_t(a) << (k.wrap ? b & 31 : std::min<int64_t>(b, 32)));
    case Act::shift_right: return a >> (k.wrap ? b & 31 : std::min<int64_t>(b, 32));
    case Act::compare: return holds(k.relation, a, b);
    case Act::multiply: break;
  }
  return 0;
}

// Scalar forms do what ptxas 13.0 makes of them (the same code for sm_90 and sm_100), which an H200 ran: beside the
// manual's pseudo code they have the five peculiarities that comments tell here.

bool is_shift(Act a) { return a == Act::shift_left || a == Act::shift_right; }
bool has_part(const VideoDetails& k) { return k.a.bits < 32 || k.b.bits < 32; }

/// The first operation's result, saturated.
int64_t primary(const VideoDetails& k, uint32_t a, uint32_t b) {
  int64_t t = result(k, extend(a >> k.a.shift, k.a.bits, k.a_signed), extend(b >> k.b.shift, k.b.bits, k.b_signed));
  // One: sums with a part have 32 bits where the result is unsigned; what they carry out is lost, not saturated.
  if (k.act == Act::add && has_part(k) && !k.d_signed && k.d.bits == 32 && t > UINT32_MAX) t = uint32_t(t);
  if (!k.saturate) return t;
  // Two: shifts saturate 34 bits to a word, whatever part is written.
  if (is_shift(k.act)) return clamp_to(int64_t(uint64_t(t) << 30) >> 30, 32, k.d_signed);
  if (k.d.bits == 32) return clamp_to(t, 32, k.d_signed);
  // Three: what does not fit into a part becomes its largest value, if it is negative too.
  const int64_t most = (int64_t(1) << (k.d.bits - (k.d_signed ? 1 : 0))) - 1;
  return t < 0 || t > most ? most : t;
}

uint32_t scalar(const VideoDetails& k, uint32_t a, uint32_t b, uint32_t c) {
  int64_t t = primary(k, a, b);
  const uint32_t word = uint32_t(t);
  if (k.second == Second::add) return word + c;
  if (k.second != Second::none) {
    // Four: minimum and maximum compare 64 bits; sums with a part, and saturated shifts, are words with a sign then.
    if ((has_part(k) && (k.act == Act::add || k.act == Act::sub)) || (k.saturate && is_shift(k.act))) t = int32_t(word);
    const bool less = k.d_signed ? t < int32_t(c) : uint64_t(t) < c;
    return less == (k.second == Second::min) ? word : c;
  }
  if (k.d.bits == 32) return word;
  const uint32_t mask = ((1u << k.d.bits) - 1) << k.d.shift;
  // Five: the upper half takes the result's upper half.
  const uint32_t in_place = k.d.bits == 16 ? word : word << k.d.shift;
  return (in_place & mask) | (c & ~mask);
}

/// The sum of product and c is exact, shifted, and then cut or clamped to 32 bits, signed where an operand is or one
/// was negated. As ptxas has it, operands are words with a sign where they are parts or differ in sign.
uint32_t multiply_add(const VideoDetails& k, uint32_t a, uint32_t b, uint32_t c) {
  const bool is_signed = k.a_signed || k.b_signed || k.negate_product || k.negate_c;
  const bool with_sign = has_part(k) || k.a_signed != k.b_signed;
  const auto factor = [&](uint32_t word, Part p, bool s) {
    const int64_t v = extend(word >> p.shift, p.bits, s);
    return with_sign ? int64_t(int32_t(v)) : v;
  };
  __int128 sum = static_cast<__int128>(factor(a, k.a, k.a_signed)) * factor(b, k.b, k.b_signed);
  if (k.negate_product) sum = -sum;
  const int64_t addend = extend(c, 32, is_signed || has_part(k));
  sum += k.negate_c ? -addend : addend;
  sum += k.plus_one;
  if (k.scale) sum = is_signed ? sum >> k.scale : static_cast<__int128>(uint64_t(sum) >> k.scale);
  if (!k.saturate) return uint32_t(sum);
  const __int128 high = is_signed ? INT32_MAX : UINT32_MAX, low = is_signed ? INT32_MIN : 0;
  return uint32_t(sum > high ? high : sum < low ? low : sum);
}

uint32_t lanes(const VideoDetails& k, uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t bits = 32 / k.lanes, ones = (1u << bits) - 1;
  const auto lane = [&](uint8_t which, bool is_signed) {
    const uint32_t source = which < k.lanes ? a : b;
    return extend(source >> (which % k.lanes * bits), bits, is_signed);
  };
  uint32_t sum = c, merged = c;
  for (uint32_t i = 0; i < k.lanes; ++i) {
    if (!(k.mask >> i & 1)) continue;
    int64_t t = result(k, lane(k.a_lane[i], k.a_signed), lane(k.b_lane[i], k.b_signed));
    if (k.saturate) t = clamp_to(t, bits, k.d_signed);
    sum += uint32_t(t);
    merged = (merged & ~(ones << (i * bits))) | (uint32_t(t) & ones) << (i * bits);
  }
  return k.second == Second::add ? sum : merged;
}

template <uint32_t (*f)(const VideoDetails&, uint32_t, uint32_t, uint32_t)>
void video(Warp& w, const Op& op) {
  const VideoDetails& k = op.get<VideoDetails>();
  const uint32_t *a = w.at<uint32_t>(op.a), *b = w.at<uint32_t>(op.b), *c = w.at<uint32_t>(op.c);
  each_lane<uint32_t>(w, op.dst, [&](int i) { return f(k, a[i], b[i], c[i]); });
}

// ---- Decoding

Part part_of(const Operand& o) {
  if (o.name.empty()) return kWord;
  const uint8_t at = uint8_t(o.name[1] - '0');
  return o.name[0] == 'b' ? Part{uint8_t(8 * at), 8} : Part{uint8_t(16 * at), 16};
}

/// Lanes that a source operand of `n` lanes takes, lowest first; `first`: where its own begin.
void pick_lanes(const Operand& o, uint32_t n, uint32_t first, uint8_t* lane) {
  for (uint32_t i = 0; i < 4; ++i)
    lane[i] = uint8_t(i >= n ? 0 : o.name.empty() ? first + i : uint32_t(o.name[n - i] - '0'));
}

template <class T>
T choice(const ptx::Instruction& i, std::initializer_list<std::string_view> names, T first) {
  for (std::string_view n : names) {
    if (i.has(n)) return first;
    first = T(uint8_t(first) + 1);
  }
  return T{};
}

template <Act act, int lanes_of = 0>
void decode_video(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  VideoDetails k{};
  k.lanes = lanes_of;
  k.act = act;
  // vset names no type of d: its result is 0 or 1, and a's type decides how it meets c.
  const size_t first = k.act == Act::compare ? 0 : 1;
  k.a_signed = i.type(first) == Type::s32;
  k.b_signed = i.type(first + 1) == Type::s32;
  k.d_signed = k.act == Act::compare ? k.a_signed : i.type(0) == Type::s32;
  k.second = choice(i, {"add", "min", "max"}, Second::add);
  if (k.act == Act::compare) k.relation = choice(i, {"eq", "ne", "lt", "le", "gt", "ge"}, Relation::eq);
  k.saturate = i.has("sat");
  k.wrap = i.has("wrap");
  if (k.lanes) {
    pick_lanes(d.operand(1), k.lanes, 0, k.a_lane);
    pick_lanes(d.operand(2), k.lanes, k.lanes, k.b_lane);
    const std::string& mask = d.operand(0).name;
    for (size_t n = 1; n < mask.size(); ++n) k.mask |= uint8_t(1 << (mask[n] - '0'));
    if (mask.empty()) k.mask = 15;
  } else {
    k.d = part_of(d.operand(0));
    k.a = part_of(d.operand(1));
    k.b = part_of(d.operand(2));
  }
  if (k.act == Act::multiply) {
    k.scale = i.has("shr7") ? 7 : i.has("shr15") ? 15 : 0;
    k.negate_product = d.operand(1).negated != d.operand(2).negated;
    k.negate_c = d.operand(3).negated;
    k.plus_one = i.has("po");
  }
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), Type::u32);
  op.b = d.src(d.operand(2), Type::u32);
  op.c = d.has(3) ? d.src(d.operand(3), Type::u32) : d.constant(0, 4);
  op.set(k);
  op.cost = CostClass::imul;  // ptxas makes short sequences of most
  op.fn = k.lanes ? video<lanes> : k.act == Act::multiply ? video<multiply_add> : video<scalar>;
}

constexpr Entry kVideoTable[] = {
    {Opcode::vadd, decode_video<Act::add>},
    {Opcode::vsub, decode_video<Act::sub>},
    {Opcode::vabsdiff, decode_video<Act::abs_difference>},
    {Opcode::vmin, decode_video<Act::min>},
    {Opcode::vmax, decode_video<Act::max>},
    {Opcode::vshl, decode_video<Act::shift_left>},
    {Opcode::vshr, decode_video<Act::shift_right>},
    {Opcode::vmad, decode_video<Act::multiply>},
    {Opcode::vset, decode_video<Act::compare>},
    {Opcode::vadd2, decode_video<Act::add, 2>},
    {Opcode::vsub2, decode_video<Act::sub, 2>},
    {Opcode::vavrg2, decode_video<Act::average, 2>},
    {Opcode::vmin2, decode_video<Act::min, 2>},
    {Opcode::vmax2, decode_video<Act::max, 2>},
    {Opcode::vabsdiff2, decode_video<Act::abs_difference, 2>},
    {Opcode::vset2, decode_video<Act::compare, 2>},
    {Opcode::vadd4, decode_video<Act::add, 4>},
    {Opcode::vsub4, decode_video<Act::sub, 4>},
    {Opcode::vavrg4, decode_video<Act::average, 4>},
    {Opcode::vmin4, decode_video<Act::min, 4>},
    {Opcode::vmax4, decode_video<Act::max, 4>},
    {Opcode::vset4, decode_video<Act::compare, 4>},
    {Opcode::vabsdiff4, decode_video<Act::abs_difference, 4>},
};

}  // namespace

Table video_table() { return {kVideoTable}; }

}  // namespace tinygpu::isa
