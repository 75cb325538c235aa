// Counters in global memory by which CTAs of one grid wait for each other (PTX ISA 8.10, 9.7.9.8, 9.7.13.8): who
// writes, then releases; who acquires, then reads.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Adds 1 behind all that this thread has done or knows of (a barrier tells it what other threads have done).
GEN5_PTX void counter_raise(uint32_t* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

/// Its value. What was released before it became this can be read.
GEN5_PTX uint32_t counter_read(const uint32_t* counter) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

/// Adds 1 and returns what was there: raise and read in one.
GEN5_PTX uint32_t counter_meet(uint32_t* counter) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

/// Adds 1 and returns what was there, without any order.
GEN5_PTX uint32_t counter_claim(uint32_t* counter) {
  uint32_t before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

}  // namespace gen5::ptx
