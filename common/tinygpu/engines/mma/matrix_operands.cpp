#include "common/tinygpu/engines/mma/matrix_operands.h"

#include <memory>

#include "common/tinygpu/engines/mma/operand_planes.h"
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu {

uint32_t MatrixOperand::k() const {
  return in_tmem ? 8 * per_cell(packing, layout.element_bytes)
                 : layout.k_bytes / 16 * per_chunk(packing, layout.element_bytes);
}

std::optional<std::vector<uint32_t>> MatrixOperand::read() const {
  const auto planes = std::make_unique<OperandPlanes>();
  if (in_tmem)
    gather(TensorMemory::of(cta->sm), in_tmem->lanes.data(), in_tmem->column, rows, packing, layout.element_bytes,
           *planes);
  else if (gather(*cta, layout, packing, 0, rows, *planes) >= 0)
    return {};
  std::vector<uint32_t> out;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t i = 0; i < k(); ++i) out.push_back(numerics::plane_element(format, planes->bytes, i, row));
  return out;
}

}  // namespace tinygpu
