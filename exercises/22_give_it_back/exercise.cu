// Give it back
//
// A warp allocates 64 columns of Tensor Memory, uses them, and exits. Each later block on this SM finds fewer free
// columns. Add the line that frees them, behind the last use.
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kColumns = 64;

__global__ void __launch_bounds__(32) borrow(uint32_t* out) {
  __shared__ uint32_t slot;
  tcgen05_alloc(shared_address(&slot), kColumns);
  tcgen05_relinquish_alloc_permit();
  __syncwarp();
  const uint32_t address = slot;
  const uint32_t put[1] = {threadIdx.x * 3};
  uint32_t got[1];
  tcgen05_st_32x32b(address, put);
  tcgen05_wait_st();
  tcgen05_ld_32x32b(got, address);
  tcgen05_wait_ld();
  out[threadIdx.x] = got[0];
  // Your line here.
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(32);
  borrow<<<1, 32>>>(out.get());
  exercise::finish();
  exercise::expect("out", out.download(), exercise::counted(32, 3));
}
EXERCISE(judge);
