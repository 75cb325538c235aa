// Wait for the load
//
// tcgen05.ld is asynchronous: after the instruction the registers do not hold the cells' values yet. This kernel uses
// them at once. Add the line that waits.
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void __launch_bounds__(32) sums(uint32_t* out) {
  __shared__ uint32_t slot;
  tcgen05_alloc(shared_address(&slot), 32);
  __syncwarp();
  const uint32_t address = slot;
  uint32_t put[8], got[8];
  for (uint32_t i = 0; i < 8; ++i) put[i] = threadIdx.x << i;
  tcgen05_st_32x32b(address, put);
  tcgen05_wait_st();
  tcgen05_ld_32x32b(got, address);
  // Your line here.
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 8; ++i) sum += got[i];
  out[threadIdx.x] = sum;
  tcgen05_dealloc(address, 32);
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(32);
  sums<<<1, 32>>>(out.get());
  exercise::finish();
  exercise::expect("out", out.download(), exercise::counted(32, 255));
}
EXERCISE(judge);
