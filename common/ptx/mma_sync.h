// mma.sync (PTX ISA 9.7.14.5): a warp's matrix multiply-accumulate, everything in registers.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// D[16 × 8] += A[16 × 16] · B[16 × 8], bf16 with f32 sums. Lane l, with r = l / 4 and c = l % 4, holds two neighbours
/// along K in a word: of A rows r and r + 8 at columns 2c (a0, a1) and at 2c + 8 (a2, a3); of B column r at rows 2c
/// (b0) and 2c + 8 (b1); of D rows r (d[0], d[1]) and r + 8 (d[2], d[3]) at columns 2c and 2c + 1.
GEN5_PTX void mma_m16n8k16_bf16(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

}  // namespace gen5::ptx
