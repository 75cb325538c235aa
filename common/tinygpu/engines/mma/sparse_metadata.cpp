#include "common/tinygpu/engines/mma/sparse_metadata.h"

#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {
namespace {

/// Codes that name two different elements (or pairs) in order, and one of two: bit c of the set is code c.
constexpr uint32_t kTwoOfFour = 1 << 0x4 | 1 << 0x8 | 1 << 0xc | 1 << 0x9 | 1 << 0xd | 1 << 0x6 | 1 << 0xe;
constexpr uint32_t kOneOfTwo = 1 << 0x4 | 1 << 0xe;

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
                                             uint32_t column, uint32_t selector, uint32_t rows,
                                             const StoredZeros& zeros, SparseSelection& out) {
  const MmaKindInfo& k = info(kind);
  const uint32_t span = k.metadata_span, stored = span / 2, chunks = 2 * k.k / span;
  const uint32_t legal = span == 2 ? kOneOfTwo : kTwoOfFour;
  std::optional<MetadataProblem> problem;
  for (uint32_t row = 0; row < rows; ++row) {
    uint8_t* to = out.bytes + row;
    const auto keep = [&](uint32_t position) {
      *to = uint8_t(position);
      to += numerics::kPlane;
    };
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const uint32_t code = nibble(memory, k.element_bytes > 1, lanes[row / 16], row % 16, column, selector, chunk);
      if (!(legal >> code & 1) && !problem && !zeros(row, chunk * stored, stored))
        problem = {row, code, span == 2 ? "0x4, 0xe" : "0x4, 0x8, 0xc, 0x9, 0xd, 0x6, 0xe"};
      const uint32_t base = chunk * span, first = code & 3, second = code >> 2;
      if (span == 2) {
        keep(base + first / 2);
      } else {
        const uint32_t width = span / 4;  // 2: pairs
        for (const uint32_t at : {first, second})
          for (uint32_t i = 0; i < width; ++i) keep(base + at * width + i);
      }
    }
  }
  return problem;
}

}  // namespace tinygpu
