// Bursts of one thread's operations on a tensor core, under one commit: what the probes of chapters 06 to 10 share.
#pragma once
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "probes/probe.h"

namespace gen5::probe {

/// Where a burst's operands are. Shared memory is zeros, rows of 128 bytes with the 128-byte swizzle; `cells`: 64
/// columns of Tensor Memory behind 256 for an accumulator, each lane with the same words.
struct Burst {
  uint32_t d, cells;
  uint64_t a, b;
};

/// One CTA of 128 threads, one of which issues `depth` operations, commits and waits. `issue(burst)` issues one. What
/// `cells` hold depends on what they are for.
template <class Issue>
__global__ void burst(long long* cycles, uint64_t operand, uint32_t words, uint32_t depth, Issue issue) {
  using namespace gen5::ptx;
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), 512);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  for (uint32_t i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(shared)[i] = 0;
  fence_proxy_async_shared();
  __syncthreads();
  const uint32_t address = slot;
  const uint32_t eight[8] = {words, words, words, words, words, words, words, words};
  for (uint32_t c = 0; c < 64; c += 8) tcgen05_st_32x32b(address + 256 + c + (threadIdx.x / 32 << 21), eight);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x == 0) {
    const Burst places{address, address + 256, layout::at_address(operand, shared_address(shared)),
                       layout::at_address(operand, shared_address(shared) + 16 * 1024)};
    const uint32_t at = shared_address(&barrier);
    const long long read = clock_cost();
    const long long start = clock64();
    issue(places);  // the first stands before the loop: a single operation's time has no branch in it
    for (uint32_t i = 1; i < depth; ++i) issue(places);
    tcgen05_commit(at);
    mbarrier_wait_parity(at, 0);
    *cycles = clock64() - start - read;
  }
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(address, 512);
}

/// Cycles from the first operation's issue until a program sees the commit's arrival.
template <class Issue>
double burst_cycles(Issue issue, uint32_t depth, uint32_t words = 0) {
  constexpr uint64_t operand = layout::smem_descriptor({.swizzle = layout::Swizzle::b128, .stride = 1024});
  GEN5_CUDA(cudaFuncSetAttribute(burst<Issue>, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
  return double(
      measured(1, [&](long long* c) { burst<Issue><<<1, 128, 48 * 1024>>>(c, operand, words, depth, issue); })[0]);
}
/// Cycles from one operation to the next: the difference of two bursts.
template <class Issue>
double interval_cycles(Issue issue, uint32_t words = 0) {
  return (burst_cycles(issue, 24, words) - burst_cycles(issue, 8, words)) / 16;
}

/// The bits of M and N in an instruction descriptor of kinds f16, tf32, f8f6f4 and i8.
constexpr uint32_t with_shape(uint32_t idesc, uint32_t m, uint32_t n) {
  return (idesc & ~(63u << 17 | 31u << 24)) | (n >> 3) << 17 | (m >> 4) << 24;
}

/// The shapes and depths of the published bursts (SemiAnalysisAI/microbench-blackwell) that take little time.
inline void published_shapes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t m : {64, 128})
    for (int64_t n : {64, 128, 256})
      for (int64_t depth : {1, 2, 4, 8, 16, 64}) b->Args({m, n, depth});
}

}  // namespace gen5::probe
