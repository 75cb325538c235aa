// Fragments of wgmma: which element of a matrix a thread's register holds.
#pragma once
#include <cstdint>

namespace tinygpu {

/// D (PTX ISA 9.7.15.5.2, figures): register `r` of thread `t` of the warpgroup; of 16-bit results, two a register,
/// its half `half`.
struct WgmmaCell {
  uint32_t row, column;
};
constexpr WgmmaCell wgmma_cell(bool halves, uint32_t r, uint32_t half, uint32_t t) {
  // Eight columns are four registers: rows 0 to 7, then rows 8 to 15, of two columns each. Halves share a register.
  const uint32_t group = halves ? r / 2 : r / 4, lower = halves ? r % 2 : r / 2 % 2, second = halves ? half : r % 2;
  return {16 * (t / 32) + t % 32 / 4 + 8 * lower, 8 * group + 2 * (t % 4) + second};
}

/// A (PTX ISA 9.7.15.5.3, figures; the layout of mma.sync's A): the row, and the first of four bytes along K.
struct WgmmaOperandPlace {
  uint32_t row, byte;
};
constexpr WgmmaOperandPlace wgmma_operand_place(uint32_t r, uint32_t t) {
  return {16 * (t / 32) + t % 32 / 4 + 8 * (r & 1), 16 * (r >> 1) + 4 * (t % 4)};
}

}  // namespace tinygpu
