// The matrices that an MMA reads and writes, for who looks at them: where they lie, and their elements as the tensor
// core takes them.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/tinygpu/engines/mma/data_path.h"
#include "common/tinygpu/engines/mma/matrix_descriptor.h"
#include "common/tinygpu/engines/mma/mma_kind.h"
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {

/// A or B: rows are M of A, N of B; columns are K.
struct MatrixOperand {
  char name = 'A';
  numerics::Format format = numerics::Format::f16;
  ElementPacking packing = ElementPacking::natural;
  uint32_t rows = 0;
  Cta* cta = nullptr;    // in whose shared memory, or on whose SM, it lies
  OperandLayout layout;  // in shared memory
  struct InTensorMemory {
    std::array<uint32_t, 8> lanes{};  // of 16 rows each
    uint32_t column = 0;
  };
  std::optional<InTensorMemory> in_tmem = {};

  /// Elements along K that one instruction reads.
  uint32_t k() const;
  /// Their patterns, element (row, k) at [row * k() + k]. Nothing where a part of it lies outside of shared memory.
  std::optional<std::vector<uint32_t>> read() const;
};

/// D of tcgen05.mma in one CTA.
struct MatrixResult {
  Cta* cta = nullptr;
  TmemAddress at;
  DataPath path;
  MmaAccumulator type = MmaAccumulator::f32;

  uint32_t rows() const { return path.rows; }
  uint32_t columns() const { return path.parts * path.columns; }
  TmemAddress cell(uint32_t row, uint32_t column) const {
    const uint32_t part = column / path.columns;
    return {at.lane + path.lane(part, row / 16) + row % 16, at.column + path.column(part) + column % path.columns};
  }
};

/// Of the tcgen05.mma or wgmma.mma_async that a CTA issued last; kept where an observer wants to know operations.
struct MatrixOperands final : Extension {
  Origin who;
  uint64_t issued = 0;                  // of the GPU's clock
  std::vector<MatrixOperand> operands;  // of a pair of CTAs, each one's
  std::vector<MatrixResult> results;    // none of wgmma: they are in registers
};

}  // namespace tinygpu
