// How a small kernel with Tensor Memory begins and ends, as chapter 05 teaches it, for the chapters behind it: 128
// threads, one block of columns, one mbarrier for commits.
#pragma once
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"

namespace tensor_kernel {

/// One warp allocates columns, thread 0 makes a barrier for one arrival, all meet. Returns the columns' address.
__device__ inline uint32_t begin(uint32_t* slot, uint64_t* barrier, uint32_t columns) {
  if (threadIdx.x < 32) gen5::ptx::tcgen05_alloc(gen5::ptx::shared_address(slot), columns);
  if (threadIdx.x == 0) {
    gen5::ptx::mbarrier_init(gen5::ptx::shared_address(barrier), 1);
    gen5::ptx::fence_mbarrier_init();
  }
  gen5::ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  gen5::ptx::tcgen05_fence_after_thread_sync();
  return *slot;
}

/// Everything stored so far, in shared memory and in Tensor Memory, is ready for one thread's operations.
__device__ inline void ready() {
  gen5::ptx::fence_proxy_async_shared();
  gen5::ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  gen5::ptx::tcgen05_fence_after_thread_sync();
}

/// Waits for phase `parity` of a commit's barrier.
__device__ inline void wait(uint64_t* barrier, uint32_t parity = 0) {
  gen5::ptx::mbarrier_wait_parity(gen5::ptx::shared_address(barrier), parity);
  gen5::ptx::tcgen05_fence_after_thread_sync();
}

/// All threads are done with the columns: gives them back.
__device__ inline void end(uint32_t address, uint32_t columns) {
  gen5::ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  gen5::ptx::tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) gen5::ptx::tcgen05_dealloc(address, columns);
}

}  // namespace tensor_kernel
