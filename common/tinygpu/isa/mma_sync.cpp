// mma.sync (PTX ISA 9.7.14.5): a warp's matrix multiply-accumulate on registers. How elements lie in registers is one
// rule for all shapes; how they are summed is numerics/ (f16, bf16, tf32, fp8), exact (integers, bits) or a chain of
// fused multiply-adds (f64).
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "common/tinygpu/engines/mma/mma_statistics.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/halves.h"
#include "common/tinygpu/numerics/fused_sum.h"
#include "common/tinygpu/numerics/mma_kernel.h"

TINYGPU_ISA_BEGIN

using numerics::Format;
using ptx::Operand;
using ptx::Type;

namespace {

constexpr uint32_t kMostM = 16, kN = 8, kMostK = 256;

// Op: list = D registers, A, B, C.
struct Layout {
  uint32_t m, k;
  uint32_t d, a, b, c;  // registers
};
struct Details {
  Layout layout;
  Format a, b;   // of floating point
  uint8_t bits;  // of an integer
  bool a_signed, b_signed;
  bool saturate;              // .satfinite
  bool both;                  // .b1: and, not xor
  bool a_col, b_row, c_half;  // Volta's instruction
};

/// Where elements of A, B and C lie. A register of `per` elements holds neighbours along K (A, B) or N (C); the four
/// threads of a quad follow each other, then registers: first 8 rows down (A, C of 16 rows), then on along K.
/// T is the register's type, `bits` the element's width in it.
template <class T>
void gather_a(Warp& w, const Op& op, const Layout& l, uint32_t bits, T (*a)[kMostK]) {
  const uint32_t per = sizeof(T) * 8 / bits, high = l.m / 8;
  for (uint32_t r = 0; r < l.a; ++r) {
    const T* s = w.at<T>(op.list[l.d + r]);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < per; ++i)
        a[t / 4 + 8 * (r % high)][t % 4 * per + i + r / high * 4 * per] =
            bits == sizeof(T) * 8 ? s[t] : T(s[t] >> (i * bits) & ((T(1) << bits % (sizeof(T) * 8)) - 1));
  }
}
template <class T>
void gather_b(Warp& w, const Op& op, const Layout& l, uint32_t bits, T (*b)[kMostK]) {
  const uint32_t per = sizeof(T) * 8 / bits;
  for (uint32_t r = 0; r < l.b; ++r) {
    const T* s = w.at<T>(op.list[l.d + l.a + r]);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < per; ++i)
        b[t / 4][t % 4 * per + i + r * 4 * per] =
            bits == sizeof(T) * 8 ? s[t] : T(s[t] >> (i * bits) & ((T(1) << bits % (sizeof(T) * 8)) - 1));
  }
}
/// C and D of one value per register: register r of thread t is row t / 4 + 8 (r / 2), column 2 (t % 4) + r % 2.
template <class T, class F>
void each_result(Warp& w, const Op& op, const Layout& l, F&& f) {
  for (uint32_t r = 0; r < l.d; ++r) {
    const T* c = w.at<T>(op.list[l.d + l.a + l.b + r]);
    T value[32];
    for (uint32_t t = 0; t < 32; ++t) value[t] = f(t / 4 + 8 * (r / 2), t % 4 * 2 + r % 2, c[t]);
    if (op.list[r] != kNoSlot) each_lane<T>(w, op.list[r], [&](int t) { return value[t]; });
  }
}
/// C and D of two f16 values per register: row t / 4 + 8 r, columns 2 (t % 4) and the next.
template <class F>
void each_result_pair(Warp& w, const Op& op, const Layout& l, F&& f) {
  for (uint32_t r = 0; r < l.d; ++r) {
    const uint32_t* c = w.at<uint32_t>(op.list[l.d + l.a + l.b + r]);
    uint32_t value[32];
    for (uint32_t t = 0; t < 32; ++t) {
      const uint32_t row = t / 4 + 8 * r, column = t % 4 * 2;
      value[t] = (f(row, column, c[t] & 0xffff) & 0xffff) | f(row, column + 1, c[t] >> 16) << 16;
    }
    if (op.list[r] != kNoSlot) each_lane<uint32_t>(w, op.list[r], [&](int t) { return value[t]; });
  }
}

uint32_t bits_of(Format f) {
  switch (f) {
    case Format::tf32: return 32;
    case Format::f16:
    case Format::bf16: return 16;
    default: return 8;
  }
}

// ---- Floating point

/// Element is the width of the operands' patterns: uint16_t for f16 and bf16, uint32_t for tf32.
template <bool half_result, class Element>
void mma_float(Warp& w, const Op& op) {
  const Layout& l = op.get<Details>().layout;
  constexpr uint32_t kMost = 16 * numerics::kPlane, per = 4 / sizeof(Element);
  alignas(64) Element a[kMost], b[kMost];
  if (l.k < 8)
    for (uint32_t k = l.k; k < 8; ++k) {
      std::fill_n(a + k * numerics::kPlane, kMostM, Element(0));
      std::fill_n(b + k * numerics::kPlane, kN, Element(0));
    }
  for (uint32_t r = 0; r < l.a; ++r) {
    const Element* s = w.at<Element>(op.list[l.d + r]);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < per; ++i)
        a[(t % 4 * per + i + r / 2 * 4 * per) * numerics::kPlane + t / 4 + 8 * (r % 2)] = s[t * per + i];
  }
  for (uint32_t r = 0; r < l.b; ++r) {
    const Element* s = w.at<Element>(op.list[l.d + l.a + r]);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < per; ++i) b[(t % 4 * per + i + r * 4 * per) * numerics::kPlane + t / 4] = s[t * per + i];
  }
  uint32_t sums[kN][kMostM];
  const auto place = [&](uint32_t t, uint32_t r) -> uint32_t& { return sums[t % 4 * 2 + r % 2][t / 4 + 8 * (r / 2)]; };
  for (uint32_t r = 0; r < 4; ++r) {
    // f16: two values per register, the row's columns one after the other.
    const uint32_t* c = w.at<uint32_t>(op.list[l.d + l.a + l.b + (half_result ? r / 2 : r)]);
    for (uint32_t t = 0; t < 32; ++t) place(t, r) = half_result ? c[t] >> (r % 2 * 16) & 0xffff : c[t];
  }
  numerics::MmaTile tile;
  tile.rule = half_result ? numerics::kSumF16 : numerics::kSumF32;
  tile.a_format = op.get<Details>().a;
  tile.b_format = op.get<Details>().b;
  tile.rows = kMostM;
  tile.columns = kN;
  tile.terms = l.k < 8 ? 8 : l.k;  // m16n8k4: the rest are zeros, which take no part
  tile.a = a;
  tile.b = b;
  tile.read_c = true;
  tile.d = &sums[0][0];
  tile.column_stride = kMostM;
  MmaStatistics::count_scalar(w.sm(), numerics::mma(tile));
  for (uint32_t r = 0; r < l.d; ++r)
    if (op.list[r] != kNoSlot)
      each_lane<uint32_t>(w, op.list[r], [&](int i) {
        const uint32_t t = uint32_t(i);
        return half_result ? place(t, 2 * r) | place(t, 2 * r + 1) << 16 : place(t, r);
      });
}

float half_value(uint32_t bits) { return value(f16(uint16_t(bits))); }
uint32_t half_bits(float f) { return f != f ? numerics::kNanF16 : bits_of(nearest<f16>(f)); }

/// e4m3 and e5m2 with f16 accumulators: as mma_fp8, and one addition of C rounded to nearest even to f16 (all words of
/// an H200's, notes/evidence.md).
void mma_fp8_half(Warp& w, const Op& op) {
  const Layout& l = op.get<Details>().layout;
  const Format fa = op.get<Details>().a, fb = op.get<Details>().b;
  uint32_t a[kMostM][kMostK], b[kN][kMostK];
  gather_a<uint32_t>(w, op, l, 8, a);
  gather_b<uint32_t>(w, op, l, 8, b);
  each_result_pair(w, op, l, [&](uint32_t row, uint32_t column, uint32_t c) {
    const uint32_t sum = numerics::fp8_mma_sync_f16(fa, fb, std::span<const uint32_t>(a[row], l.k),
                                                    std::span<const uint32_t>(b[column], l.k));
    return half_bits(half_value(sum) + half_value(c));
  });
  MmaStatistics::count_scalar(w.sm(), kMostM * kN);
}

/// m8n8k4 with f16 operands, Volta's instruction: each group of eight threads (a quad and the quad 16 lanes on)
/// multiplies matrices of its own. Newer chips run it as scalar code: from zero, one fused multiply-add after the other
/// in order of k, then one addition of C (all words of an H200's with f32 D).
void mma_volta(Warp& w, const Op& op) {
  const Details& details = op.get<Details>();
  const Layout& l = details.layout;
  uint32_t result[8][32];
  const auto half_of = [&](uint32_t first, uint32_t lane, uint32_t i) {
    return half_value(w.at<uint32_t>(op.list[first + i / 2])[lane] >> (i % 2 * 16));
  };
  for (uint32_t quad = 0; quad < 4; ++quad) {
    float a[8][4], b[4][8];
    for (uint32_t upper = 0; upper < 2; ++upper)
      for (uint32_t t = 0; t < 4; ++t)
        for (uint32_t i = 0; i < 4; ++i) {
          const uint32_t lane = quad * 4 + t + 16 * upper;
          (details.a_col ? a[i + 4 * upper][t] : a[t + 4 * upper][i]) = half_of(l.d, lane, i);
          (details.b_row ? b[t][i + 4 * upper] : b[i][t + 4 * upper]) = half_of(l.d + l.a, lane, i);
        }
    for (uint32_t upper = 0; upper < 2; ++upper)
      for (uint32_t t = 0; t < 4; ++t)
        for (uint32_t i = 0; i < 8; ++i) {
          const uint32_t lane = quad * 4 + t + 16 * upper;
          const uint32_t row = (t & 1) + (i & 2) + 4 * upper, column = (i & 4) + (t & 2) + (i & 1);
          float sum = a[row][0] * b[0][column];
          for (uint32_t k = 1; k < 4; ++k) sum = std::fma(a[row][k], b[k][column], sum);
          float c;
          if (details.c_half) {
            // f16 C lies row by row: thread `row` of the half that owns it, element `column`.
            c = half_of(l.d + l.a + l.b, quad * 4 + row % 4 + 16 * (row / 4), column);
          } else {
            std::memcpy(&c, &w.at<uint32_t>(op.list[l.d + l.a + l.b + i])[lane], 4);
          }
          sum += c;
          std::memcpy(&result[i][lane], &sum, 4);
          if (sum != sum) result[i][lane] = numerics::kNanF32;
        }
  }
  for (uint32_t r = 0; r < 8; ++r)
    if (op.list[r] != kNoSlot) each_lane<uint32_t>(w, op.list[r], [&](int t) { return result[r][t]; });
}

/// e4m3 and e5m2: not the tensor core's own fp8 but f16 sums (numerics/fused_sum.h).
void mma_fp8(Warp& w, const Op& op) {
  const Layout& l = op.get<Details>().layout;
  const Format fa = op.get<Details>().a, fb = op.get<Details>().b;
  uint32_t a[kMostM][kMostK], b[kN][kMostK];
  gather_a<uint32_t>(w, op, l, 8, a);
  gather_b<uint32_t>(w, op, l, 8, b);
  each_result<uint32_t>(w, op, l, [&](uint32_t row, uint32_t column, uint32_t c) {
    return numerics::fp8_mma_sync(fa, fb, std::span<const uint32_t>(a[row], l.k),
                                  std::span<const uint32_t>(b[column], l.k), c);
  });
  MmaStatistics::count_scalar(w.sm(), kMostM * kN);
}

/// a × b + c as an H200's f64 units give it: of NaN operands b wins over c over a, quieted; an invalid operation gives
/// the negative default NaN.
double fma_f64(double a, double b, double c) {
  const auto quiet = [](double d) {
    uint64_t bits;
    std::memcpy(&bits, &d, 8);
    bits |= uint64_t(1) << 51;
    std::memcpy(&d, &bits, 8);
    return d;
  };
  if (b != b) return quiet(b);
  if (c != c) return quiet(c);
  if (a != a) return quiet(a);
  const double r = std::fma(a, b, c);
  if (r == r) return r;
  const uint64_t invalid = 0xfff8000000000000;
  double d;
  std::memcpy(&d, &invalid, 8);
  return d;
}

/// f64: fused multiply-adds in order of k, each rounded to nearest even.
void mma_f64(Warp& w, const Op& op) {
  const Layout& l = op.get<Details>().layout;
  uint64_t a[kMostM][kMostK], b[kN][kMostK];
  gather_a<uint64_t>(w, op, l, 64, a);
  gather_b<uint64_t>(w, op, l, 64, b);
  const auto value = [](uint64_t bits) {
    double d;
    std::memcpy(&d, &bits, 8);
    return d;
  };
  each_result<double>(w, op, l, [&](uint32_t row, uint32_t column, double c) {
    for (uint32_t k = 0; k < l.k; ++k) c = fma_f64(value(a[row][k]), value(b[column][k]), c);
    return c;
  });
}

// ---- Integers

int64_t integer(uint32_t v, uint32_t bits, bool is_signed) {
  return is_signed ? int64_t(int32_t(v << (32 - bits)) >> (32 - bits)) : int64_t(v);
}

void mma_integer(Warp& w, const Op& op) {
  const Details& details = op.get<Details>();
  const Layout& l = details.layout;
  const uint32_t bits = details.bits;
  uint32_t a[kMostM][kMostK], b[kN][kMostK];
  gather_a<uint32_t>(w, op, l, bits, a);
  gather_b<uint32_t>(w, op, l, bits, b);
  each_result<uint32_t>(w, op, l, [&](uint32_t row, uint32_t column, uint32_t c) {
    int64_t sum = int32_t(c);
    for (uint32_t k = 0; k < l.k; ++k)
      sum += integer(a[row][k], bits, details.a_signed) * integer(b[column][k], bits, details.b_signed);
    if (details.saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return uint32_t(sum);
  });
}

/// .b1: population count of xor or and, summed.
void mma_bits(Warp& w, const Op& op) {
  const Layout& l = op.get<Details>().layout;
  uint32_t a[kMostM][kMostK], b[kN][kMostK];
  // 32 elements of a row stand in one register: words along K.
  gather_a<uint32_t>(w, op, l, 32, a);
  gather_b<uint32_t>(w, op, l, 32, b);
  each_result<uint32_t>(w, op, l, [&](uint32_t row, uint32_t column, uint32_t c) {
    for (uint32_t k = 0; k < l.k / 32; ++k)
      c += uint32_t(__builtin_popcount(op.get<Details>().both ? a[row][k] & b[column][k] : a[row][k] ^ b[column][k]));
    return c;
  });
}

/// All lanes of the warp together; `times` counts the matrices that the warp multiplies.
template <ExecFn body, uint32_t times = 1>
void mma(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  const Layout& l = op.get<Details>().layout;
  MmaStatistics::count(w.sm(), MatrixFamily::mma_sync, l.m, kN, l.k, times);
  body(w, op);
}

// ---- Decoding

bool float_format(Type t, Format& f) {
  switch (t) {
    case Type::f16: f = Format::f16; return true;
    case Type::bf16: f = Format::bf16; return true;
    case Type::tf32: f = Format::tf32; return true;
    case Type::e4m3: f = Format::e4m3; return true;
    case Type::e5m2: f = Format::e5m2; return true;
    default: return false;
  }
}

struct ElementType {
  std::string_view name;
  uint32_t bits;
  bool is_signed;
};
constexpr ElementType kIntegers[] = {{"s8", 8, true}, {"u8", 8, false}, {"s4", 4, true}, {"u4", 4, false}};

/// Operand types in the order D, A, B, C, from the modifiers themselves: .s4, .u4 and .b1 are types only here.
std::vector<std::string_view> operand_types(const ptx::Instruction& i) {
  std::vector<std::string_view> types;
  for (const auto& m : i.mods)
    for (std::string_view t :
         {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1", "s32"})
      if (m == t) types.push_back(t);
  return types;
}

bool shape_of(const ptx::Instruction& i, Layout& l) {
  for (const auto& m : i.mods) {
    unsigned rows, columns, k;
    if (std::sscanf(m.c_str(), "m%un%uk%u", &rows, &columns, &k) == 3) {
      l.m = rows;
      l.k = k;
      return columns == kN && (rows == 8 || rows == 16) && k <= kMostK;
    }
  }
  return false;
}

/// .row and .col of A and B in that order; every other shape is .row.col.
void volta_layout(const ptx::Instruction& i, Details& details) {
  std::vector<bool> col;
  for (const auto& m : i.mods)
    if (m == "row" || m == "col") col.push_back(m == "col");
  details.a_col = col.at(0);
  details.b_row = !col.at(1);
}

void decode_mma(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  op.cost = CostClass::mma_sync;
  Details details{};
  Layout& l = details.layout;
  const auto types = operand_types(i);
  if (!shape_of(i, l) || types.size() != 4 || i.has("block_scale") || !i.after("kind::").empty()) d.not_modelled();
  const Type element = ptx::type_from_name(types[1]), result = ptx::type_from_name(types[0]);
  Format fa, fb;
  uint32_t bits = 0;
  if (float_format(element, fa) && float_format(ptx::type_from_name(types[2]), fb)) {
    bits = bits_of(fa);
    if (l.m == 8) {
      if (result == Type::f16) d.not_modelled("Volta's shape with f16 results");
      op.fn = mma<mma_volta, 4>;
      volta_layout(i, details);
      details.c_half = types[3] == "f16";
    } else {
      if (bits == 8)
        op.fn = result == Type::f16 ? mma<mma_fp8_half> : mma<mma_fp8>;
      else
        op.fn = bits == 32            ? mma<mma_float<false, uint32_t>>
                : result == Type::f16 ? mma<mma_float<true, uint16_t>>
                                      : mma<mma_float<false, uint16_t>>;
      details.a = fa;
      details.b = fb;
    }
  } else if (element == Type::f64) {
    bits = 64;
    op.fn = mma<mma_f64>;
  } else if (types[1] == "b1") {
    bits = 1;
    op.fn = mma<mma_bits>;
    details.both = i.has("and");
  } else {
    for (const ElementType& e : kIntegers) {
      if (types[1] == e.name) {
        bits = e.bits;
        details.a_signed = e.is_signed;
      }
      if (types[2] == e.name) details.b_signed = e.is_signed;
    }
    if (!bits) d.not_modelled();
    op.fn = mma<mma_integer>;
    details.bits = uint8_t(bits);
    details.saturate = i.has("satfinite");
  }
  std::vector<uint32_t> slots;
  const auto add = [&](const Operand& o, bool destination, uint32_t& count) {
    const Type type = bits == 64 ? Type::b64 : Type::b32;
    const auto one = [&](const Operand& e) { slots.push_back(destination ? d.dst(e) : d.src(e, type)); };
    const size_t before = slots.size();
    if (o.kind == Operand::Kind::vector)
      for (const Operand& e : o.elems) one(e);
    else
      one(o);
    count = uint32_t(slots.size() - before);
  };
  add(d.operand(0), true, l.d);
  add(d.operand(1), false, l.a);
  add(d.operand(2), false, l.b);
  add(d.operand(3), false, l.c);
  d.set_list(op, slots);
  op.set(details);
}

constexpr Entry kEntries[] = {{"mma.sync", decode_mma}};

}  // namespace

Table mma_sync_table() { return {std::begin(kEntries), std::end(kEntries)}; }

TINYGPU_ISA_END
