// How a kernel with Tensor Memory begins and ends, as chapter 05 teaches it, for the chapters behind it: one block of
// columns; in small kernels of 128 threads also one mbarrier for commits. And how a ring is walked, as chapter 01 does.
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

/// For a kernel that has made its barriers itself, in thread 0: the same without one.
__device__ inline uint32_t begin(uint32_t* slot, uint32_t columns) {
  if (threadIdx.x < 32) {
    gen5::ptx::tcgen05_alloc(gen5::ptx::shared_address(slot), columns);
    gen5::ptx::tcgen05_relinquish_alloc_permit();
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

/// A place in a ring of stages. A stage's barrier is waited for with the parity of the round that shall be over;
/// whoever empties waits for `parity`, whoever fills for the opposite one, so that in the first round nothing has to be
/// emptied.
template <uint32_t Stages>
struct Ring {
  uint32_t stage = 0, parity = 0;
  __device__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace tensor_kernel
