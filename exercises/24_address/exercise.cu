// A cell's address
//
// Four warps each store one word per lane, in a column of the warp's own, and read it back. A warp reaches only its own
// 32 lanes, and an address has the lane in its upper half. Give each warp the address of its first lane in its column.
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void diagonal(uint32_t* out) {
  __shared__ uint32_t slot;
  const uint32_t warp = threadIdx.x / 32;
  if (warp == 0) tcgen05_alloc(shared_address(&slot), 32);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t base = slot;
  const uint32_t column = 3 * warp;
  const uint32_t address = base + column;  // your expression
  const uint32_t put[1] = {1000 * warp + threadIdx.x};
  uint32_t got[1];
  tcgen05_st_32x32b(address, put);
  tcgen05_wait_st();
  tcgen05_ld_32x32b(got, address);
  tcgen05_wait_ld();
  out[threadIdx.x] = got[0];
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp == 0) tcgen05_dealloc(base, 32);
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(128);
  diagonal<<<1, 128>>>(out.get());
  exercise::finish();
  exercise::Words want(128);
  for (uint32_t t = 0; t < 128; ++t) want[t] = 1000 * (t / 32) + t;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
