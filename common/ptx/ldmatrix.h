// ldmatrix (PTX ISA 9.7.14.5.15): rows of shared memory to a warp's fragments of 8 × 8 matrices.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Loads four 8 × 8 matrices of 16-bit elements, each turned: lane l gets of column l / 4 the elements of rows 2(l % 4)
/// and 2(l % 4) + 1. Lane l names row l % 8 of matrix l / 8: 16 bytes at `row`.
GEN5_PTX void ldmatrix_x4_trans(uint32_t (&r)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}

}  // namespace gen5::ptx
