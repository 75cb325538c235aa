// How many columns?
//
// A tile needs 48 columns, and the kernel allocates 48. The instruction accepts only certain numbers. Allocate the
// smallest legal number that is enough.
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kNeeded = 48;
constexpr uint32_t kColumns = 48;  // your number

__global__ void __launch_bounds__(32) columns(uint32_t* out) {
  __shared__ uint32_t slot;
  tcgen05_alloc(shared_address(&slot), kColumns);
  tcgen05_relinquish_alloc_permit();
  __syncwarp();
  const uint32_t address = slot;
  for (uint32_t c = 0; c < kNeeded; c += 16) {
    uint32_t r[16];
    for (uint32_t i = 0; i < 16; ++i) r[i] = (c + i) * 100 + threadIdx.x;
    tcgen05_st_32x32b(address + c, r);
  }
  tcgen05_wait_st();
  for (uint32_t c = 0; c < kNeeded; c += 16) {
    uint32_t r[16];
    tcgen05_ld_32x32b(r, address + c);
    tcgen05_wait_ld();
    for (uint32_t i = 0; i < 16; ++i) out[(c + i) * 32 + threadIdx.x] = r[i];
  }
  tcgen05_dealloc(address, kColumns);
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(kNeeded * 32);
  columns<<<1, 32>>>(out.get());
  exercise::finish();
  exercise::Words want;
  for (uint32_t c = 0; c < kNeeded; ++c)
    for (uint32_t lane = 0; lane < 32; ++lane) want.push_back(c * 100 + lane);
  exercise::expect("out", out.download(), want, 32);
  exercise::expect(kColumns < 2 * kNeeded, "right, but there is a smaller number of columns that is enough");
}
EXERCISE(judge);
