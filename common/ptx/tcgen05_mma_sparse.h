// tcgen05.mma.sp (PTX ISA 9.7.16.10): A has only the elements of K that its metadata name, half of them; B all. `a` and
// `b` are shared-memory descriptors, `metadata` a Tensor Memory address, bit 2 of `idesc` is set.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Bit 2 of an instruction descriptor: sparse A.
inline constexpr uint32_t kSparseInstruction = 1 << 2;

/// kind::f16, 32 deep.
GEN5_PTX void tcgen05_mma_sp_f16(uint32_t d, uint64_t a, uint64_t b, uint32_t metadata, uint32_t idesc,
                                 bool accumulate) {
  asm volatile(GEN5_PTX_TAKES_P("%5", "tcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%3], %4, p;")::"r"(d),
               "l"(a), "l"(b), "r"(metadata), "r"(idesc), "r"(uint32_t(accumulate))
               : "memory");
}

/// kind::tf32, 16 deep.
GEN5_PTX void tcgen05_mma_sp_tf32(uint32_t d, uint64_t a, uint64_t b, uint32_t metadata, uint32_t idesc,
                                  bool accumulate) {
  asm volatile(GEN5_PTX_TAKES_P("%5", "tcgen05.mma.sp.cta_group::1.kind::tf32 [%0], %1, %2, [%3], %4, p;")::"r"(d),
               "l"(a), "l"(b), "r"(metadata), "r"(idesc), "r"(uint32_t(accumulate))
               : "memory");
}

/// kind::f8f6f4, 64 deep.
GEN5_PTX void tcgen05_mma_sp_f8f6f4(uint32_t d, uint64_t a, uint64_t b, uint32_t metadata, uint32_t idesc,
                                    bool accumulate) {
  asm volatile(GEN5_PTX_TAKES_P("%5", "tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%0], %1, %2, [%3], %4, p;")::"r"(d),
               "l"(a), "l"(b), "r"(metadata), "r"(idesc), "r"(uint32_t(accumulate))
               : "memory");
}

}  // namespace gen5::ptx
