// Metadata of sparse A in Tensor Memory (PTX ISA 9.7.16.10.8): which elements along K the stored ones are. The
// placement is CuTe's tmem_e_frg.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "common/tinygpu/engines/mma/mma_kind.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"

namespace tinygpu {

/// Columns that it takes.
inline constexpr uint32_t kMetadataColumns = 2;

/// Of A's stored element (i, row) the position along K, at [i * numerics::kPlane + row].
struct SparseSelection {
  uint8_t bytes[64 * 256];
};

/// A code without a meaning.
struct MetadataProblem {
  uint32_t row, code;
  const char* legal;
};

/// Whether `count` stored elements of A's row, from `first` on, are all zeros.
using StoredZeros = std::function<bool(uint32_t row, uint32_t first, uint32_t count)>;

/// Reads the metadata of `rows` rows, row r's group of 16 starting in lane lanes[r / 16], from `column` on; `selector`:
/// bits 1:0 of the instruction descriptor. Codes without a meaning are taken by their letter, two indices that may be
/// the same: CUTLASS's compressor writes 0 where all four elements are zeros, so there it means nothing wrong. Returns
/// the first one that speaks of other elements.
std::optional<MetadataProblem> read_metadata(const TensorMemory& memory, MmaKind kind, const uint32_t* lanes,
                                             uint32_t column, uint32_t selector, uint32_t rows,
                                             const StoredZeros& zeros, SparseSelection& out);

}  // namespace tinygpu
