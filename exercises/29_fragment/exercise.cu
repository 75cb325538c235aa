// Where is my register?
//
// The kernel loads sixteen lanes of eight columns with the shape 16x256b, which spreads them over a warp like fragments
// of mma.sync: register i of thread t is lane t/4 + 8 (i/2), column 2 (t%4) + i%2. The kernel writes the tile row by
// row and exchanges i/2 and i%2. Put each register into its place.
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void __launch_bounds__(32) fragment(uint32_t* out) {
  __shared__ uint32_t slot;
  tcgen05_alloc(shared_address(&slot), 32);
  __syncwarp();
  const uint32_t address = slot, t = threadIdx.x;
  uint32_t row[8];
  for (uint32_t column = 0; column < 8; ++column) row[column] = 100 * t + column;  // lane t
  tcgen05_st_32x32b(address, row);
  tcgen05_wait_st();
  uint32_t r[4];
  tcgen05_ld_16x256b(r, address);
  tcgen05_wait_ld();
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t lane = t / 4 + 8 * (i % 2), column = 2 * (t % 4) + i / 2;  // your expressions
    out[lane * 8 + column] = r[i];
  }
  tcgen05_dealloc(address, 32);
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(16 * 8);
  fragment<<<1, 32>>>(out.get());
  exercise::finish();
  exercise::Words want(16 * 8);
  for (uint32_t i = 0; i < want.size(); ++i) want[i] = i / 8 * 100 + i % 8;
  exercise::expect("out", out.download(), want, 8);
}
EXERCISE(judge);
