// Matrices of one size behind each other, as TMA sees them.
#pragma once
#include <cuda.h>

#include <cstdint>

namespace gen5::harness {

/// `count` row-major matrices of `rows` × `columns` elements without gaps; boxes of `box_rows` × `box_columns` of one
/// matrix, zeros outside of it. Throws CudaError with cuTensorMapEncodeTiled's reason.
CUtensorMap stack_map(CUtensorMapDataType type, uint32_t element_bytes, void* data, uint64_t count, uint64_t rows,
                      uint64_t columns, uint32_t box_rows, uint32_t box_columns, CUtensorMapSwizzle swizzle);

}  // namespace gen5::harness
