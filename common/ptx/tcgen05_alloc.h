// tcgen05.alloc, dealloc, relinquish_alloc_permit (PTX ISA 9.7.16.7). Each is executed by one whole, converged warp;
// with cta_group 2 by one warp in each CTA of the pair.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Blocks until `columns` (a power of two, 32 to 512) of Tensor Memory are free, then stores their 32-bit address (lane
/// 0 in bits 31:16, first column in bits 15:0) at shared address `slot`. The store is weak: synchronise before reading
/// it. kCtaGroup 2 waits for the peer CTA as well, and both get the same columns.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_alloc(uint32_t slot, uint32_t columns) {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot), "r"(columns)
                 : "memory");
  else
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot), "r"(columns)
                 : "memory");
}

/// Frees what an alloc returned. Every use must have ended, and every allocation must be freed before the kernel ends.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_dealloc(uint32_t address, uint32_t columns) {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
  else
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}

/// This CTA will allocate no more, so that another one on the SM may.
template <int kCtaGroup = 1>
GEN5_PTX void tcgen05_relinquish_alloc_permit() {
  static_assert(kCtaGroup == 1 || kCtaGroup == 2);
  if constexpr (kCtaGroup == 1)
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
  else
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
}

}  // namespace gen5::ptx
