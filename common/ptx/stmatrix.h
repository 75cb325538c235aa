// stmatrix (PTX ISA 9.7.14.5.16): a warp's fragments of 8 × 8 matrices to rows of shared memory.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Stores four 8 × 8 matrices of 16-bit elements. Lane l names row l % 8 of matrix l / 8: 16 bytes at `row`.
GEN5_PTX void stmatrix_x4(uint32_t row, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(r0), "r"(r1),
               "r"(r2), "r"(r3)
               : "memory");
}

}  // namespace gen5::ptx
