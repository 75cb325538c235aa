// Two fences around a barrier
//
// Again warp 0 writes cells for warp 4, and waits for its stores. But a barrier of threads alone does not order the
// tcgen05 work of different threads: it needs a fence on either side. Add both.
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
    uint32_t r[2] = {lane, lane * lane};
    tcgen05_st_32x32b(address, r);
    tcgen05_wait_st();
  }
  __syncthreads();  // your lines around this one
  if (warp == 4) {
    uint32_t r[2];
    tcgen05_ld_32x32b(r, address);
    tcgen05_wait_ld();
    out[lane] = r[0] + r[1];
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp == 0) tcgen05_dealloc(address, 32);
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(32);
  pass_on<<<1, 160>>>(out.get());
  exercise::finish();
  exercise::Words want(32);
  for (uint32_t i = 0; i < 32; ++i) want[i] = i + i * i;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
