// Whose lanes?
//
// Warps 2 to 5 read a result out of Tensor Memory, as in many GEMM kernels, while warps 0 and 1 have other roles. Which
// 32 lanes a warp reaches depends on its index in the block. The kernel numbers the four warps from 0. Give each warp
// its own lanes.
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void store_tile(uint32_t* out) {
  __shared__ uint32_t slot;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) tcgen05_alloc(shared_address(&slot), 32);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t address = slot;
  if (warp >= 2) {
    const uint32_t quarter = warp - 2;  // your expression
    const uint32_t put[1] = {quarter * 32 + lane};
    uint32_t got[1];
    tcgen05_st_32x32b(address + (quarter * 32 << 16), put);
    tcgen05_wait_st();
    tcgen05_ld_32x32b(got, address + (quarter * 32 << 16));
    tcgen05_wait_ld();
    out[quarter * 32 + lane] = got[0];
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp == 0) tcgen05_dealloc(address, 32);
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(128);
  store_tile<<<1, 192>>>(out.get());
  exercise::finish();
  exercise::expect("out", out.download(), exercise::counted(128, 1));
}
EXERCISE(judge);
