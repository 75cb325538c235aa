// What one matrix instruction of a warp computes from registers: m8 or m16 by n8 by k. mma.sync is one such piece,
// wmma.mma one, two or four, mma.sp.sync has A's zeros left out. How elements lie in registers is one rule for all
// shapes (PTX ISA 9.7.14.5); how they are summed is numerics/ (f16, bf16, tf32, fp8), exact (integers, bits) or a chain
// of fused multiply-adds (f64).
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/tinygpu/isa/floats.h"
#include "common/tinygpu/isa/lanes.h"
#include "common/tinygpu/numerics/formats.h"

namespace tinygpu::isa {

constexpr uint32_t kPieceM = 16, kPieceN = 8, kMostK = 256;

struct PieceLayout {
  uint16_t m, k;
  uint8_t d, a, b, c;  // registers
};

struct MmaRegisters;
struct MmaDetails;
/// Computes D from A, B and C. Returns how many sums the scalar model did (MmaStatistics).
using MmaPiece = uint64_t (*)(const MmaDetails&, MmaRegisters&);

/// What a piece computes, as the modifiers say.
struct MmaDetails {
  MmaPiece piece;
  PieceLayout layout;
  numerics::Format a, b;  // of floating point
  uint8_t bits;           // of an element of A and B in its register
  bool a_signed, b_signed;
  bool saturate;              // .satfinite
  bool both;                  // .b1: and, not xor
  bool a_col, b_row, c_half;  // Volta's instruction
  bool d_half;
  Rounding rounding;  // of f64
};

/// A piece's registers, 32 lanes each, and room for its results.
struct MmaRegisters {
  const void *a[16], *b[8], *c[8];
  alignas(64) uint64_t d[8][32];

  template <class T>
  const T* at(const void* r) const {
    return static_cast<const T*>(r);
  }
  template <class T>
  T* result(uint32_t r) {
    return reinterpret_cast<T*>(d[r]);
  }
};

/// Where elements of A and B lie. A register of `per` elements holds neighbours along K; the four threads of a quad
/// follow each other, then registers: first 8 rows down (A of 16 rows), then on along K. T is the register's type,
/// `bits` the element's width in it.
template <class T>
T element_of(T word, uint32_t bits, uint32_t i) {
  return bits == sizeof(T) * 8 ? word : T(word >> (i * bits) & ((T(1) << bits % (sizeof(T) * 8)) - 1));
}
template <class T>
void gather_a(const MmaRegisters& r, const PieceLayout& l, uint32_t bits, T (*a)[kMostK]) {
  const uint32_t per = sizeof(T) * 8 / bits, high = l.m / 8;
  for (uint32_t n = 0; n < l.a; ++n) {
    const T* s = r.at<T>(r.a[n]);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < per; ++i)
        a[t / 4 + 8 * (n % high)][t % 4 * per + i + n / high * 4 * per] = element_of(s[t], bits, i);
  }
}
template <class T>
void gather_b(const MmaRegisters& r, const PieceLayout& l, uint32_t bits, T (*b)[kMostK]) {
  const uint32_t per = sizeof(T) * 8 / bits;
  for (uint32_t n = 0; n < l.b; ++n) {
    const T* s = r.at<T>(r.b[n]);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < per; ++i) b[t / 4][t % 4 * per + i + n * 4 * per] = element_of(s[t], bits, i);
  }
}
/// C and D of one value per register: register n of thread t is row t / 4 + 8 (n / 2), column 2 (t % 4) + n % 2.
template <class T, class F>
void each_result(MmaRegisters& r, const PieceLayout& l, F&& f) {
  for (uint32_t n = 0; n < l.d; ++n) {
    const T* c = r.at<T>(r.c[n]);
    T* d = r.result<T>(n);
    for (uint32_t t = 0; t < 32; ++t) d[t] = f(t / 4 + 8 * (n / 2), t % 4 * 2 + n % 2, c[t]);
  }
}
/// C and D of two f16 values per register: row t / 4 + 8 n, columns 2 (t % 4) and the next.
template <class F>
void each_result_pair(MmaRegisters& r, const PieceLayout& l, F&& f) {
  for (uint32_t n = 0; n < l.d; ++n) {
    const uint32_t* c = r.at<uint32_t>(r.c[n]);
    uint32_t* d = r.result<uint32_t>(n);
    for (uint32_t t = 0; t < 32; ++t) {
      const uint32_t row = t / 4 + 8 * n, column = t % 4 * 2;
      d[t] = (f(row, column, c[t] & 0xffff) & 0xffff) | f(row, column + 1, c[t] >> 16) << 16;
    }
  }
}

/// The value of an integer element of `bits` bits.
inline int64_t integer_element(uint32_t v, uint32_t bits, bool is_signed) {
  return is_signed ? int64_t(int32_t(v << (32 - bits)) >> (32 - bits)) : int64_t(v);
}
/// A sum of fp8 elements and C: an f32 word, or an f16 word if `half_result`. mma.sync.m16n8k32 on sm_90 and sm_100 is
/// not the tensor core's own fp8: ptxas 13.0 makes of it two chained f16 sums from zero, over the elements with k % 4 <
/// 2 and then over the others, and one addition of C rounded to nearest even (all words of an H200's,
/// notes/evidence.md).
uint32_t fp8_sum(bool half_result, numerics::Format a_format, numerics::Format b_format, std::span<const uint32_t> a,
                 std::span<const uint32_t> b, uint32_t c);
/// An exact sum as the 32-bit result.
inline uint32_t integer_result(int64_t sum, bool saturate) {
  if (saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
  return uint32_t(sum);
}

/// Fills details with what the modifiers say of a dense piece: types in the order D, A, B, C ("f16", "s4" …), and which
/// piece computes it. layout.m and .k are set. False: no such piece.
bool choose_piece(const ptx::Instruction& i, const std::vector<std::string_view>& types, MmaDetails& details);
/// The types of D, A, B and C among the modifiers, in their order: .s4, .u4 and .b1 are types only here.
std::vector<std::string_view> matrix_types(const ptx::Instruction& i);
/// Bits of an element of that type.
uint8_t element_bits(std::string_view type);
struct MatrixShape {
  uint16_t m, n, k;
};
/// Of ".m16n8k16".
std::optional<MatrixShape> matrix_shape(const ptx::Instruction& i);

/// Decodes an instruction of one piece: its details but the registers, then those of d, a, b and c into op.list. Ends
/// in "not modelled" if there is no such piece.
void decode_piece(Decoder& d, Op& op, MmaDetails& details);
/// The pieces' registers from a list of slots: D, A, B, C.
void take_registers(Warp& w, const uint32_t* list, const PieceLayout& l, MmaRegisters& r);
/// Writes the results, of 64 bits if `wide`.
void put_results(Warp& w, const uint32_t* list, uint32_t count, bool wide, MmaRegisters& r);

}  // namespace tinygpu::isa
