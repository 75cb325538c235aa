// Gathers a matrix operand out of shared memory or Tensor Memory into the planes that numerics/mma_kernel.h reads.
#pragma once
#include <cstdint>

#include "common/tinygpu/engines/mma/matrix_descriptor.h"
#include "common/tinygpu/engines/mma/mma_kind.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {

/// Large enough for 64 bytes of nibbles along K: element (k, row) at [k * numerics::kPlane + row].
struct OperandPlanes {
  alignas(64) uint8_t bytes[128 * 256];
};

/// Reads `rows` rows of layout.k_bytes along K, from row `first` of the layout on. Returns the first shared offset that
/// lies outside the CTA's memory, or −1.
int64_t gather(Cta& cta, const OperandLayout& layout, ElementPacking packing, uint32_t first, uint32_t rows,
               OperandPlanes& out);

/// Hands observers the rows that an operation has read as its operand ("A") now.
void tell_read(Cta& cta, const OperandLayout& layout, uint32_t rows, const Origin& who, const char* operand,
               uint64_t now);

/// A in Tensor Memory: 8 columns from `column`, row r in lane lanes[r / 16] + r % 16.
void gather(const TensorMemory& memory, const uint32_t* lanes, uint32_t column, uint32_t rows, ElementPacking packing,
            uint32_t element_bytes, OperandPlanes& out);

}  // namespace tinygpu
