// tcgen05.mma with block scales (PTX ISA 9.7.16.10): D = (A · scale-A)(B · scale-B) + D, a scale for every 32 or 16
// elements of K of each row of A and column of B. `sfa`, `sfb`: Tensor Memory addresses of the scales. `idesc` from
// common/layout/scaled_instruction_descriptor.h. kCtaGroup 2: one MMA on the tensor cores of a CTA pair; each CTA has
// the scales of its own rows of A, and those of all columns of B.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// e4m3, e5m2, e2m3, e3m2 or e2m1 in any mixture, 32 deep, a ue8m0 scale for 32.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_mma_mxf8f6f4(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, uint32_t sfa, uint32_t sfb,
                                   bool accumulate) {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile(
        GEN5_PTX_TAKES_P(
            "%6", "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%5], p;")::"r"(d),
        "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(uint32_t(accumulate))
        : "memory");
  else
    asm volatile(
        GEN5_PTX_TAKES_P(
            "%6", "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%5], p;")::"r"(d),
        "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(uint32_t(accumulate))
        : "memory");
}

/// e2m1, two to a byte, 64 deep, a ue8m0 scale for 32.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_mma_mxf4(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, uint32_t sfa, uint32_t sfb,
                               bool accumulate) {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile(
        GEN5_PTX_TAKES_P(
            "%6",
            "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%0], %1, %2, %3, [%4], [%5], p;")::"r"(d),
        "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(uint32_t(accumulate))
        : "memory");
  else
    asm volatile(
        GEN5_PTX_TAKES_P(
            "%6",
            "tcgen05.mma.cta_group::2.kind::mxf4.block_scale.scale_vec::2X [%0], %1, %2, %3, [%4], [%5], p;")::"r"(d),
        "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(uint32_t(accumulate))
        : "memory");
}

/// e2m1, two to a byte, 64 deep, a scale for 16, ue4m3 or ue8m0.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_mma_mxf4nvf4(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, uint32_t sfa, uint32_t sfb,
                                   bool accumulate) {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile(
        GEN5_PTX_TAKES_P(
            "%6",
            "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, [%4], [%5], p;")::
            "r"(d),
        "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(uint32_t(accumulate))
        : "memory");
  else
    asm volatile(
        GEN5_PTX_TAKES_P(
            "%6",
            "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, [%4], [%5], p;")::
            "r"(d),
        "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(uint32_t(accumulate))
        : "memory");
}

}  // namespace gen5::ptx
