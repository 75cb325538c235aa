// cp.async.bulk.tensor for tensors of three dimensions (PTX ISA 9.7.9.27): a stack of matrices, x along the rows, y
// from row to row, z from matrix to matrix. A box that crosses the end of one matrix does not go on into the next.
#pragma once
#include <cuda.h>

#include "common/ptx/address.h"

namespace gen5::ptx {

/// Loads the box at element coordinates (x, y, z) into shared memory at `dst` and completes its bytes (always the whole
/// box, elements outside the tensor are filled) on `bar`.
GEN5_PTX void tensor_load_3d(uint32_t dst, const CUtensorMap* map, int x, int y, int z, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(bar)
      : "memory");
}

/// Brings the box into L2, and nobody learns when it is there.
GEN5_PTX void tensor_prefetch_3d(const CUtensorMap* map, int x, int y, int z) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(map), "r"(x), "r"(y), "r"(z)
               : "memory");
}

/// Stores the box at `src` to element coordinates (x, y, z); what lies outside the tensor is not written.
GEN5_PTX void tensor_store_3d(const CUtensorMap* map, int x, int y, int z, uint32_t src) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
               "r"(x), "r"(y), "r"(z), "r"(src)
               : "memory");
}

}  // namespace gen5::ptx
