// Scale factors of block-scaled kinds in Tensor Memory (PTX ISA 9.7.16.10.7, figures; the layout is CuTe's tmem_sf_frg,
// which agrees with Triton's): the factors of row m of A, or of column m of B, lie in column m / 32 behind the address,
// in lane m % 32 of each partition, factor j in byte id + j.
#pragma once
#include <cstdint>

#include "common/tinygpu/engines/mma/data_path.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {

/// Where the factors of one operand lie in a CTA.
struct ScaleFactors {
  uint32_t column = 0;  // first
  uint32_t id = 0;      // byte of factor 0
  uint32_t count = 1;   // of a row
  uint32_t rows = 0;    // M of A in a CTA, N of B
  /// The rows' second half lies in partitions 2 and 3 of the same columns (B of layout B: a data path of 2 x 2), the
  /// first in 0 and 1.
  bool split = false;

  uint32_t columns() const { return ((split ? rows / 2 : rows) + 31) / 32; }
  /// Reads them. False if the copies in the partitions differ: `out` has the first partition's then.
  bool read(const TensorMemory& memory, numerics::ScalePlanes& out) const;
};

}  // namespace tinygpu
