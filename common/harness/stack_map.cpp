#include "common/harness/stack_map.h"

#include "common/harness/cuda_check.h"

namespace gen5::harness {

CUtensorMap stack_map(CUtensorMapDataType type, uint32_t element_bytes, void* data, uint64_t count, uint64_t rows,
                      uint64_t columns, uint32_t box_rows, uint32_t box_columns, CUtensorMapSwizzle swizzle) {
  static const auto encode =
      reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(driver_function("cuTensorMapEncodeTiled"));
  CUtensorMap map{};
  const cuuint64_t size[3] = {columns, rows, count};
  const cuuint64_t stride[2] = {columns * element_bytes, rows * columns * element_bytes};
  const cuuint32_t box[3] = {box_columns, box_rows, 1};
  const cuuint32_t step[3] = {1, 1, 1};
  GEN5_CUDA(encode(&map, type, 3, data, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

}  // namespace gen5::harness
