// What the kernels of chapter 12 share.
#pragma once
#include <cstdint>

__device__ inline unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

__device__ inline uint32_t sm_id() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/// Stands for work that takes so long.
__device__ inline void work(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}
