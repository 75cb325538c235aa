// Pass a tile on
//
// Warp 0 writes cells, and warp 4, which reaches the same lanes, reads them after a barrier. Stores to Tensor Memory
// are asynchronous, and a barrier of threads does not wait for them. Make warp 0 wait for its stores before the
// barrier.
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void pass_on(uint32_t* out) {
  __shared__ uint32_t slot;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) tcgen05_alloc(shared_address(&slot), 32);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t address = slot;
  if (warp == 0) {
    uint32_t r[4];
    for (uint32_t i = 0; i < 4; ++i) r[i] = 10 * lane + i;
    tcgen05_st_32x32b(address, r);
    // Your line here.
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp == 4) {
    uint32_t r[4];
    tcgen05_ld_32x32b(r, address);
    tcgen05_wait_ld();
    for (uint32_t i = 0; i < 4; ++i) out[4 * lane + i] = r[i];
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp == 0) tcgen05_dealloc(address, 32);
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(128);
  pass_on<<<1, 160>>>(out.get());
  exercise::finish();
  exercise::Words want(128);
  for (uint32_t i = 0; i < 128; ++i) want[i] = 10 * (i / 4) + i % 4;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
