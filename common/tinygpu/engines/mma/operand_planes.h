// Gathers a matrix operand out of shared memory or Tensor Memory into the planes that numerics/mma_kernel.h reads.
#pragma once
#include <cstdint>

#include "common/tinygpu/engines/mma/matrix_descriptor.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {

/// Large enough for K = 32 bytes of any element size: element (k, row) at [k * numerics::kPlane + row].
struct OperandPlanes {
  alignas(64) uint8_t bytes[32 * 256];
};

/// Reads `rows` rows of 32 bytes along K. Returns the first shared offset that lies outside the CTA's memory, or −1.
int64_t gather(Cta& cta, const OperandLayout& layout, uint32_t rows, OperandPlanes& out);

/// Observers are told that an operation has read these rows as its operand ("A") now.
void tell_read(Cta& cta, const OperandLayout& layout, uint32_t rows, const Origin& who, const char* operand,
               uint64_t now);

/// A in Tensor Memory: 8 columns from `column`, row r in lane lanes[r / 16] + r % 16. Elements of 2 or 4 bytes.
void gather(const TensorMemory& memory, const uint32_t* lanes, uint32_t column, uint32_t rows, uint32_t element_bytes,
            OperandPlanes& out);

}  // namespace tinygpu
