#include "common/tinygpu/engines/mma/sparse_metadata.h"

#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {
namespace {

/// What four bits say: the first and the second kept of four (elements, or pairs of fp4 elements), or the half of two.
/// −1: no code.
struct Code {
  int8_t first, second;
};
constexpr Code kNone{-1, -1};
constexpr Code kTwoOfFour[16] = {kNone,  kNone,  kNone, kNone, {0, 1}, kNone,  {2, 1}, kNone,
                                 {0, 2}, {1, 2}, kNone, kNone, {0, 3}, {1, 3}, {2, 3}, kNone};
constexpr Code kOneOfTwo[16] = {kNone, kNone, kNone, kNone, {0, 0}, kNone, kNone,  kNone,
                                kNone, kNone, kNone, kNone, kNone,  kNone, {1, 1}, kNone};

/// Nibble `chunk` of row `r` of a group of 16 rows whose first lane is `lane`. Kinds of 16- and 32-bit elements have 8
/// a row: rows 8 apart share a cell, and the second four lie 8 lanes on. The others have 16, in two cells of the row's
/// lane.
uint32_t nibble(const TensorMemory& memory, bool wide, uint32_t lane, uint32_t r, uint32_t column, uint32_t selector,
                uint32_t chunk) {
  if (wide)
    return memory.cell(lane + r % 8 + chunk / 4 * 8, column + selector) >> (16 * (r / 8) + 4 * (chunk % 4)) & 15;
  return memory.cell(lane + r, column + chunk / 8) >> 4 * (chunk % 8) & 15;
}

}  // namespace

std::optional<MetadataProblem> read_metadata(const TensorMemory& memory, MmaKind kind, const uint32_t* lanes,
                                             uint32_t column, uint32_t selector, uint32_t rows, SparseSelection& out) {
  const MmaKindInfo& k = info(kind);
  const uint32_t span = k.metadata_span, chunks = 2 * k.k / span;
  const Code* codes = span == 2 ? kOneOfTwo : kTwoOfFour;
  for (uint32_t row = 0; row < rows; ++row) {
    uint8_t* to = out.bytes + row;
    const auto keep = [&](uint32_t position) {
      *to = uint8_t(position);
      to += numerics::kPlane;
    };
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const uint32_t code = nibble(memory, k.element_bytes > 1, lanes[row / 16], row % 16, column, selector, chunk);
      const Code c = codes[code];
      if (c.first < 0)
        return MetadataProblem{row, code, span == 2 ? "0b0100, 0b1110" : "0x4, 0x8, 0xc, 0x9, 0xd, 0x6, 0xe"};
      const uint32_t base = chunk * span;
      if (span == 2) {
        keep(base + uint32_t(c.first));
      } else {
        const uint32_t width = span / 4;  // 2: pairs
        for (const int8_t at : {c.first, c.second})
          for (uint32_t i = 0; i < width; ++i) keep(base + uint32_t(at) * width + i);
      }
    }
  }
  return std::nullopt;
}

}  // namespace tinygpu
