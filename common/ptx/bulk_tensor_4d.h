// cp.async.bulk.tensor for tensors of four dimensions (PTX ISA 9.7.9.27). A matrix of rows × columns is one too: 64
// columns, rows, blocks of 64 columns, matrices. A box of it is several blocks of the same rows, one behind the other.
#pragma once
#include <cuda.h>

#include "common/ptx/address.h"

namespace gen5::ptx {

/// Loads the box at element coordinates (x, y, z, w) into shared memory at `dst` and completes its bytes (always the
/// whole box, elements outside the tensor are filled) on `bar`.
GEN5_PTX void tensor_load_4d(uint32_t dst, const CUtensorMap* map, int x, int y, int z, int w, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(bar)
      : "memory");
}

/// Brings the box into L2, and nobody learns when it is there.
GEN5_PTX void tensor_prefetch_4d(const CUtensorMap* map, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(map), "r"(x), "r"(y),
               "r"(z), "r"(w)
               : "memory");
}

}  // namespace gen5::ptx
