// tcgen05.mma (PTX ISA 9.7.16.10): D = A·B or D += A·B on one tile, issued by one thread, asynchronous.
// `d` is a Tensor Memory address, `b` (and `a`, unless it is one too) a shared-memory descriptor, `idesc` the
// instruction descriptor (common/layout builds both). accumulate = false: the old D is not read.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// kind::f16: f16 or bf16 operands, 16 deep, A and B from shared memory. kCtaGroup 2: one MMA on the tensor cores of a
/// CTA pair; each CTA's shared memory holds half of A's rows and half of B's, where the descriptors say in both.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_mma_f16(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile(GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;")::"r"(d), "l"(a),
                 "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
                 : "memory");
  else
    asm volatile(GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;")::"r"(d), "l"(a),
                 "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
                 : "memory");
}

/// kind::f16 with A in Tensor Memory at `a`: eight columns, two elements to a cell.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_mma_f16_tmem(uint32_t d, uint32_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile(GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;")::"r"(d), "r"(a),
                 "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
                 : "memory");
  else
    asm volatile(GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::2.kind::f16 [%0], [%1], %2, %3, p;")::"r"(d), "r"(a),
                 "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
                 : "memory");
}

/// kind::f16, D = A·B + D · 2^−kScale, kScale 0 to 15.
template <int kScale>
GEN5_PTX void tcgen05_mma_f16_scaled(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc) {
  asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, 1, %4;" ::"r"(d), "l"(a), "l"(b), "r"(idesc),
               "n"(kScale)
               : "memory");
}

/// kind::f16; lanes of D whose bits are set in `disable` (x: lanes 0 to 31 …) stay as they are.
GEN5_PTX void tcgen05_mma_f16_masked(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, uint4 disable,
                                     bool accumulate) {
  asm volatile(
      GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, {%5, %6, %7, %8}, p;")::"r"(d),
      "l"(a), "l"(b), "r"(idesc), "r"(uint32_t(accumulate)), "r"(disable.x), "r"(disable.y), "r"(disable.z),
      "r"(disable.w)
      : "memory");
}

/// kind::f8f6f4: any two of e4m3, e5m2, e2m3, e3m2 and e2m1, 32 deep, sixteen elements in 16 bytes whatever their
/// width.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_mma_f8f6f4(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile(GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, p;")::"r"(d), "l"(a),
                 "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
                 : "memory");
  else
    asm volatile(GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::2.kind::f8f6f4 [%0], %1, %2, %3, p;")::"r"(d), "l"(a),
                 "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
                 : "memory");
}

/// kind::i8: u8 or s8, 32 deep, s32 accumulators.
GEN5_PTX void tcgen05_mma_i8(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  asm volatile(GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::1.kind::i8 [%0], %1, %2, %3, p;")::"r"(d), "l"(a), "l"(b),
               "r"(idesc), "r"(uint32_t(accumulate))
               : "memory");
}

/// kind::tf32: f32 words whose low 13 bits are ignored, 8 deep, A and B from shared memory.
GEN5_PTX void tcgen05_mma_tf32(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  asm volatile(GEN5_PTX_TAKES_P("%4", "tcgen05.mma.cta_group::1.kind::tf32 [%0], %1, %2, %3, p;")::"r"(d), "l"(a),
               "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
               : "memory");
}

}  // namespace gen5::ptx
