// Shapes of tcgen05.ld and tcgen05.st: which cell of Tensor Memory a thread's register is (PTX ISA 9.7.16.8.1,
// figures).
#pragma once
#include <cstdint>
#include <string_view>

namespace tinygpu {

enum class TmemShape : uint8_t { s32x32b, s16x64b, s16x128b, s16x256b, s16x32bx2, count_ };
inline constexpr uint32_t kTmemShapes = uint32_t(TmemShape::count_);
inline constexpr std::string_view kTmemShapeNames[kTmemShapes] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};

struct TmemShapeCell {
  uint32_t lane, column;  // relative to the address
};

/// Register r of thread t. The two halves of 16x32bx2 have addresses of their own; the cell is that of the half that
/// thread t is in.
constexpr TmemShapeCell cell_of(TmemShape shape, uint32_t t, uint32_t r) {
  switch (shape) {
    case TmemShape::s32x32b: return {t, r};
    case TmemShape::s16x64b: return {(t >> 2) + 8 * (t & 1), (t >> 1 & 1) + 2 * r};
    case TmemShape::s16x128b: return {(t >> 2) + 8 * (r & 1), (t & 3) + 4 * (r >> 1)};
    case TmemShape::s16x256b: return {(t >> 2) + 8 * (r >> 1 & 1), (r & 1) + 2 * (t & 3) + 8 * (r >> 2)};
    default: return {t & 15, r};
  }
}

/// A shape repeats: `registers` of each thread and `columns` more per repetition.
struct TmemRepeat {
  uint32_t lanes, registers, columns;
};
inline constexpr TmemRepeat kTmemRepeat[kTmemShapes] = {{32, 1, 1}, {16, 1, 2}, {16, 2, 4}, {16, 4, 8}, {16, 1, 1}};

}  // namespace tinygpu
