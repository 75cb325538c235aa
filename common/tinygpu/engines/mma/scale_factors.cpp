#include "common/tinygpu/engines/mma/scale_factors.h"

namespace tinygpu {

bool ScaleFactors::read(const TensorMemory& memory, numerics::ScalePlanes& out) const {
  const uint32_t half = split ? rows / 2 : rows;
  const uint32_t copies = split ? 2 : 4;
  const uint32_t used = uint32_t((uint64_t(1) << 8 * count) - 1) << 8 * id;  // bits of a cell
  uint32_t different = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t within = row % half;
    const uint32_t* cells = memory.column(column + within / 32) + row / half * 64 + within % 32;
    for (uint32_t copy = 1; copy < copies; ++copy) different |= (cells[0] ^ cells[32 * copy]) & used;
    for (uint32_t j = 0; j < count; ++j) out.bytes[j * numerics::kPlane + row] = uint8_t(cells[0] >> 8 * (id + j));
  }
  return different == 0;
}

}  // namespace tinygpu
