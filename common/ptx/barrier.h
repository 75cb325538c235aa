// Named CTA barriers and register budgets of warp-specialised kernels (PTX ISA 9.7.13.1, 9.7.19.5).
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Waits at barrier `id` (0 is __syncthreads') until `threads` threads have arrived or waited.
GEN5_PTX void bar_sync(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Arrives at barrier `id` without waiting.
GEN5_PTX void bar_arrive(uint32_t id, uint32_t threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Gives registers back: at most `Count` a thread from here on. Every warp of a warpgroup executes it.
template <uint32_t Count>
GEN5_PTX void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

/// Takes registers: `Count` a thread from here on; blocks until the CTA's pool has them.
template <uint32_t Count>
GEN5_PTX void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

}  // namespace gen5::ptx
