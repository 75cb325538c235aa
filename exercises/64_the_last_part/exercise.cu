// The last part adds up
//
// Four CTAs share a row of 128 sums: each leaves its part in scratch memory, and the one that comes last adds the four
// up. Who is last? Each CTA's thread 0 adds 1 to a counter and looks at what was there. Mend the comparison: as it is,
// the first CTA adds up what the others have not written yet.
#include "common/ptx/counter.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kParts = 4;

__global__ void add_up(const uint32_t* in, uint32_t* scratch, uint32_t* meets, uint32_t* out) {
  __shared__ uint32_t before;
  const uint32_t i = threadIdx.x, part = blockIdx.x;
  scratch[part * 128 + i] = in[part * 128 + i] * (part + 1);
  __syncthreads();
  if (i == 0) before = counter_meet(meets);
  __syncthreads();
  if (before != 0) return;
  uint32_t sum = 0;
  for (uint32_t p = 0; p < kParts; ++p) sum += scratch[p * 128 + i];
  out[i] = sum;
}

void judge() {
  const exercise::Words in = exercise::counted(kParts * 128);
  exercise::DeviceBuffer<uint32_t> device_in(in), scratch(in.size()), meets(1), out(128);
  scratch.fill(0);
  meets.fill(0);
  add_up<<<kParts, 128>>>(device_in.get(), scratch.get(), meets.get(), out.get());
  exercise::finish();
  exercise::Words want(128);
  for (uint32_t i = 0; i < 128; ++i)
    for (uint32_t p = 0; p < kParts; ++p) want[i] += in[p * 128 + i] * (p + 1);
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
