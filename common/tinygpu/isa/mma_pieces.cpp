#include "common/tinygpu/isa/mma_pieces.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <span>

#include "common/tinygpu/numerics/fused_sum.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu::isa {

using Element = numerics::Format;

namespace {

// ---- Floating point

/// Word is the width of the operands' patterns: uint16_t for f16 and bf16, uint32_t for tf32.
template <bool half_result, class Word>
uint64_t float_piece(const MmaDetails& details, MmaRegisters& r) {
  const PieceLayout& l = details.layout;
  constexpr uint32_t kMost = 16 * numerics::kPlane, per = 4 / sizeof(Word);
  alignas(64) Word a[kMost], b[kMost];
  if (l.k < 8)
    for (uint32_t k = l.k; k < 8; ++k) {
      std::fill_n(a + k * numerics::kPlane, kPieceM, Word(0));
      std::fill_n(b + k * numerics::kPlane, kPieceN, Word(0));
    }
  for (uint32_t n = 0; n < l.a; ++n) {
    const Word* s = r.at<Word>(r.a[n]);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < per; ++i)
        a[(t % 4 * per + i + n / 2 * 4 * per) * numerics::kPlane + t / 4 + 8 * (n % 2)] = s[t * per + i];
  }
  for (uint32_t n = 0; n < l.b; ++n) {
    const Word* s = r.at<Word>(r.b[n]);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < per; ++i) b[(t % 4 * per + i + n * 4 * per) * numerics::kPlane + t / 4] = s[t * per + i];
  }
  uint32_t sums[kPieceN][kPieceM];
  const auto place = [&](uint32_t t, uint32_t n) -> uint32_t& { return sums[t % 4 * 2 + n % 2][t / 4 + 8 * (n / 2)]; };
  for (uint32_t n = 0; n < 4; ++n) {
    // f16: two values per register, the row's columns one after the other.
    const uint32_t* c = r.at<uint32_t>(r.c[half_result ? n / 2 : n]);
    for (uint32_t t = 0; t < 32; ++t) place(t, n) = half_result ? c[t] >> (n % 2 * 16) & 0xffff : c[t];
  }
  numerics::MmaTile tile;
  tile.rule = half_result ? numerics::kSumF16 : numerics::kSumF32;
  tile.a_format = details.a;
  tile.b_format = details.b;
  tile.rows = kPieceM;
  tile.columns = kPieceN;
  tile.terms = l.k < 8 ? 8 : l.k;  // m16n8k4: the rest are zeros, which take no part
  tile.a = a;
  tile.b = b;
  tile.read_c = true;
  tile.d = &sums[0][0];
  tile.column_stride = kPieceM;
  const uint64_t scalar = numerics::mma(tile);
  for (uint32_t n = 0; n < l.d; ++n) {
    uint32_t* d = r.result<uint32_t>(n);
    for (uint32_t t = 0; t < 32; ++t) d[t] = half_result ? place(t, 2 * n) | place(t, 2 * n + 1) << 16 : place(t, n);
  }
  return scalar;
}

float half_value(uint32_t bits) { return value(f16(uint16_t(bits))); }
uint32_t half_bits(float f) { return bits_of(nearest<f16>(f)); }

/// An fp8 value as an f16 word: exact for every finite value.
uint32_t widen_to_f16(numerics::Format f, uint32_t bits) {
  using Class = numerics::Unpacked::Class;
  const numerics::Unpacked u = numerics::unpack(f, bits);
  if (u.kind == Class::nan) return numerics::kNanF16;
  if (u.kind == Class::infinite) return u.negative ? 0xfc00 : 0x7c00;
  return numerics::round_f16_nearest(u.negative, u.significand, u.exponent - numerics::info(f).fraction_bits);
}

template <bool half_result>
uint64_t fp8_piece(const MmaDetails& details, MmaRegisters& r) {
  const PieceLayout& l = details.layout;
  uint32_t a[kPieceM][kMostK], b[kPieceN][kMostK];
  gather_a<uint32_t>(r, l, 8, a);
  gather_b<uint32_t>(r, l, 8, b);
  const auto sum = [&](uint32_t row, uint32_t column, uint32_t c) {
    return fp8_sum(half_result, details.a, details.b, {a[row], l.k}, {b[column], l.k}, c);
  };
  if constexpr (half_result)
    each_result_pair(r, l, sum);
  else
    each_result<uint32_t>(r, l, sum);
  return kPieceM * kPieceN;
}

/// m8n8k4 with f16 operands, Volta's instruction: each group of eight threads (a quad and the quad 16 lanes on)
/// multiplies matrices of its own. Newer chips run it as scalar code on f32 values (all words of an H200's). With f32
/// D: from zero, one fused multiply-add after the other in order of k, then one addition of C. With f16 D: the products
/// of k 0 and 1 are added up, those of k 2 and 3 as well, then C and the first sum, then the second, and the result is
/// rounded to f16.
uint64_t volta_piece(const MmaDetails& details, MmaRegisters& r) {
  const auto half_of = [&](const void* const* registers, uint32_t lane, uint32_t i) {
    return half_value(r.at<uint32_t>(registers[i / 2])[lane] >> (i % 2 * 16));
  };
  for (uint32_t quad = 0; quad < 4; ++quad) {
    float a[8][4], b[4][8];
    for (uint32_t upper = 0; upper < 2; ++upper)
      for (uint32_t t = 0; t < 4; ++t)
        for (uint32_t i = 0; i < 4; ++i) {
          const uint32_t lane = quad * 4 + t + 16 * upper;
          (details.a_col ? a[i + 4 * upper][t] : a[t + 4 * upper][i]) = half_of(r.a, lane, i);
          (details.b_row ? b[t][i + 4 * upper] : b[i][t + 4 * upper]) = half_of(r.b, lane, i);
        }
    for (uint32_t upper = 0; upper < 2; ++upper)
      for (uint32_t t = 0; t < 4; ++t) {
        const uint32_t lane = quad * 4 + t + 16 * upper;
        if (details.d_half) {
          // f16 C and D lie row by row: a thread's own row, elements 0 to 7.
          const uint32_t row = t + 4 * upper;
          for (uint32_t i = 0; i < 8; ++i) {
            const float low = std::fma(a[row][1], b[1][i], a[row][0] * b[0][i]);
            const float high = std::fma(a[row][3], b[3][i], a[row][2] * b[2][i]);
            const uint32_t d = half_bits(half_of(r.c, lane, i) + low + high);
            uint32_t& word = r.result<uint32_t>(i / 2)[lane];
            word = i % 2 ? word | d << 16 : d;
          }
          continue;
        }
        for (uint32_t i = 0; i < 8; ++i) {
          const uint32_t row = (t & 1) + (i & 2) + 4 * upper, column = (i & 4) + (t & 2) + (i & 1);
          float sum = a[row][0] * b[0][column];
          for (uint32_t k = 1; k < 4; ++k) sum = std::fma(a[row][k], b[k][column], sum);
          const float c =
              details.c_half ? half_of(r.c, quad * 4 + row % 4 + 16 * (row / 4), column) : r.at<float>(r.c[i])[lane];
          r.result<uint32_t>(i)[lane] = bits_of(canonical(sum + c));
        }
      }
  }
  return 0;
}

/// f64: fused multiply-adds in order of k, each rounded as .rn, .rz, .rm or .rp says. Of NaN operands b wins over c
/// over a (H200).
uint64_t f64_piece(const MmaDetails& details, MmaRegisters& r) {
  const PieceLayout& l = details.layout;
  uint64_t a[kPieceM][kMostK], b[kPieceN][kMostK];
  gather_a<uint64_t>(r, l, 64, a);
  gather_b<uint64_t>(r, l, 64, b);
  // Through volatile memory: the compiler must not move sums out from under the rounding mode.
  const host::RoundingMode mode{details.rounding};
  each_result<double>(r, l, [&](uint32_t row, uint32_t column, double c) {
    volatile double sum = c;
    for (uint32_t k = 0; k < l.k; ++k) {
      const double x = std::bit_cast<double>(a[row][k]), y = std::bit_cast<double>(b[column][k]), before = sum;
      sum = payload(host::fma(x, y, before), y, before, x);
    }
    return double(sum);
  });
  return 0;
}

// ---- Integers

uint64_t integer_piece(const MmaDetails& details, MmaRegisters& r) {
  const PieceLayout& l = details.layout;
  const uint32_t bits = details.bits;
  uint32_t a[kPieceM][kMostK], b[kPieceN][kMostK];
  gather_a<uint32_t>(r, l, bits, a);
  gather_b<uint32_t>(r, l, bits, b);
  each_result<uint32_t>(r, l, [&](uint32_t row, uint32_t column, uint32_t c) {
    int64_t sum = int32_t(c);
    for (uint32_t k = 0; k < l.k; ++k)
      sum += integer_element(a[row][k], bits, details.a_signed) * integer_element(b[column][k], bits, details.b_signed);
    return integer_result(sum, details.saturate);
  });
  return 0;
}

/// .b1: population count of xor or and, summed.
uint64_t bit_piece(const MmaDetails& details, MmaRegisters& r) {
  const PieceLayout& l = details.layout;
  uint32_t a[kPieceM][kMostK], b[kPieceN][kMostK];
  // 32 elements of a row stand in one register: words along K.
  gather_a<uint32_t>(r, l, 32, a);
  gather_b<uint32_t>(r, l, 32, b);
  each_result<uint32_t>(r, l, [&](uint32_t row, uint32_t column, uint32_t c) {
    for (uint32_t k = 0; k < l.k / 32u; ++k)
      c += uint32_t(__builtin_popcount(details.both ? a[row][k] & b[column][k] : a[row][k] ^ b[column][k]));
    return c;
  });
  return 0;
}

// ---- Decoding

struct OperandType {
  std::string_view name;
  uint8_t bits;
  bool is_signed;
  Element format;  // of floats
};
constexpr OperandType kOperandTypes[] = {
    {"f16", 16, true, Element::f16},
    {"bf16", 16, true, Element::bf16},
    {"tf32", 32, true, Element::tf32},
    {"e4m3", 8, true, Element::e4m3},
    {"e5m2", 8, true, Element::e5m2},
    {"f64", 64, true, {}},
    {"s8", 8, true, {}},
    {"u8", 8, false, {}},
    {"s4", 4, true, {}},
    {"u4", 4, false, {}},
    {"b1", 1, false, {}},
};
const OperandType* operand_type(std::string_view name) {
  const auto t = std::ranges::find(kOperandTypes, name, &OperandType::name);
  return t == std::end(kOperandTypes) ? nullptr : t;
}

/// .row and .col of A and B in that order; every other shape is .row.col.
void volta_layout(const ptx::Instruction& i, MmaDetails& details) {
  std::vector<bool> col;
  for (const auto& m : i.mods)
    if (m == "row" || m == "col") col.push_back(m == "col");
  details.a_col = col.at(0);
  details.b_row = !col.at(1);
}

}  // namespace

uint8_t element_bits(std::string_view type) {
  const OperandType* t = operand_type(type);
  return t ? t->bits : 32;
}

std::vector<std::string_view> matrix_types(const ptx::Instruction& i) {
  std::vector<std::string_view> types;
  for (const auto& m : i.mods)
    for (std::string_view t :
         {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1", "s32"})
      if (m == t) types.push_back(t);
  return types;
}

std::optional<MatrixShape> matrix_shape(const ptx::Instruction& i) {
  for (const auto& m : i.mods) {
    unsigned rows, columns, k;
    if (std::sscanf(m.c_str(), "m%un%uk%u", &rows, &columns, &k) == 3)
      return MatrixShape{uint16_t(rows), uint16_t(columns), uint16_t(k)};
  }
  return {};
}

uint32_t fp8_sum(bool half_result, numerics::Format a_format, numerics::Format b_format, std::span<const uint32_t> a,
                 std::span<const uint32_t> b, uint32_t c) {
  numerics::Addend chained{true, 0, 0};
  for (size_t half = 0; half < 4; half += 2) {
    std::array<uint32_t, kMostK> x, y;
    size_t n = 0;
    for (size_t k = 0; k < a.size(); ++k)
      if (k % 4 / 2 * 2 == half) {
        x[n] = widen_to_f16(a_format, a[k]);
        y[n++] = widen_to_f16(b_format, b[k]);
      }
    chained.bits = numerics::fused_sum(half_result ? numerics::kSumF16 : numerics::kSumF32, numerics::Format::f16,
                                       numerics::Format::f16, {x.data(), n}, {y.data(), n}, chained);
  }
  if (half_result) return half_bits(half_value(chained.bits) + half_value(c));
  const float sum = std::bit_cast<float>(chained.bits) + std::bit_cast<float>(c);
  return sum != sum ? numerics::kNanF32 : std::bit_cast<uint32_t>(sum);
}

bool choose_piece(const ptx::Instruction& i, const std::vector<std::string_view>& types, MmaDetails& details) {
  const OperandType *a = operand_type(types[1]), *b = operand_type(types[2]);
  if (!a || !b) return false;
  const bool half = types[0] == "f16";
  details.a = a->format;
  details.b = b->format;
  details.bits = a->bits;
  details.a_signed = a->is_signed;
  details.b_signed = b->is_signed;
  if (a->name == "f64") {
    details.piece = f64_piece;
    details.rounding = rounding_of(i);
  } else if (a->name == "b1") {
    details.piece = bit_piece;
    details.both = i.has("and");
  } else if (types[0] == "s32") {
    details.piece = integer_piece;
    details.saturate = i.has("satfinite");
  } else if (details.layout.m == 8) {
    details.piece = volta_piece;
    volta_layout(i, details);
    details.c_half = types[3] == "f16";
    details.d_half = half;
  } else if (a->bits == 8) {
    details.piece = half ? fp8_piece<true> : fp8_piece<false>;
  } else {
    details.piece = a->bits == 32 ? float_piece<false, uint32_t>
                    : half        ? float_piece<true, uint16_t>
                                  : float_piece<false, uint16_t>;
  }
  return true;
}

void decode_piece(Decoder& d, Op& op, MmaDetails& details) {
  PieceLayout& l = details.layout;
  const auto types = matrix_types(*d.inst);
  const auto shape = matrix_shape(*d.inst);
  if (!shape || shape->n != kPieceN || types.size() != 4) d.not_modelled();
  l.m = shape->m;
  l.k = shape->k;
  if (!choose_piece(*d.inst, types, details)) d.not_modelled();
  const Type type = details.bits == 64 ? Type::b64 : Type::b32;
  OperandList slots;
  add_destinations(d, d.operand("d"), slots);
  l.d = uint8_t(slots.size());
  for (const auto& [name, count] : {std::pair("a", &l.a), std::pair("b", &l.b), std::pair("c", &l.c)}) {
    const size_t before = slots.size();
    add_sources(d, d.operand(name), type, slots);
    *count = uint8_t(slots.size() - before);
  }
  d.set_list(op, slots);
  op.cost = CostClass::mma_sync;
}

void take_registers(Warp& w, const uint32_t* list, const PieceLayout& l, MmaRegisters& r) {
  const uint32_t* slot = list + l.d;
  for (uint32_t i = 0; i < l.a; ++i) r.a[i] = w.at<uint32_t>(*slot++);
  for (uint32_t i = 0; i < l.b; ++i) r.b[i] = w.at<uint32_t>(*slot++);
  for (uint32_t i = 0; i < l.c; ++i) r.c[i] = w.at<uint32_t>(*slot++);
}

void put_results(Warp& w, const uint32_t* list, uint32_t count, bool wide, MmaRegisters& r) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i] == kNoSlot) continue;
    if (wide)
      each_lane<uint64_t>(w, list[i], [&](int t) { return r.d[i][t]; });
    else
      each_lane<uint32_t>(w, list[i], [&](int t) { return r.result<uint32_t>(i)[t]; });
  }
}

}  // namespace tinygpu::isa
