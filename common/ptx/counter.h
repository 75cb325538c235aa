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

/// Adds 1 without any order.
GEN5_PTX void counter_count(uint32_t* counter) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

/// A word that other CTAs' threads read, which has all that they need in it: without any order beside others.
GEN5_PTX void word_store(uint32_t* to, uint32_t word) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
}

/// Two of them. Each is written as a whole.
GEN5_PTX void word_store_x2(uint32_t* to, uint2 words) {
  asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(words.x), "r"(words.y) : "memory");
}

/// Four of them.
GEN5_PTX void word_store_x4(uint32_t* to, uint4 words) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x), "r"(words.y),
               "r"(words.z), "r"(words.w)
               : "memory");
}

/// A word that another CTA's thread writes.
GEN5_PTX uint32_t word_read(const uint32_t* from) {
  uint32_t word;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
  return word;
}

/// Two of them. Each is read as a whole; the two may be of different moments.
GEN5_PTX uint2 word_read_x2(const uint32_t* from) {
  uint2 words;
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(words.x), "=r"(words.y) : "l"(from) : "memory");
  return words;
}

/// Four of them. Each is read as a whole; the four may be of different moments.
GEN5_PTX uint4 word_read_x4(const uint32_t* from) {
  uint4 words;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(from)
               : "memory");
  return words;
}

}  // namespace gen5::ptx
