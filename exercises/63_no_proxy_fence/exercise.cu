// TMA reads what threads have written
//
// The first CTA's threads write 128 words with plain stores and raise a counter. In the second CTA one thread waits for
// the counter and then has TMA copy the words into shared memory. TMA reads through the async proxy, and nothing makes
// the plain stores visible to it. Add the fence, in the thread that issues the copy.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/counter.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void two_tasks(uint32_t* words, uint32_t* counter, uint32_t* out) {
  __shared__ __align__(16) uint32_t copy[128];
  __shared__ uint64_t bar;
  const uint32_t i = threadIdx.x;
  if (blockIdx.x == 0) {
    words[i] = i * 3;
    __syncthreads();
    if (i == 0) counter_raise(counter);
    return;
  }
  if (i == 0) {
    mbarrier_init(shared_address(&bar), 1);
    fence_mbarrier_init();
    while (counter_read(counter) == 0) {
    }
    // Your line here.
    mbarrier_arrive_expect_tx(shared_address(&bar), sizeof copy);
    bulk_load(shared_address(copy), words, sizeof copy, shared_address(&bar));
  }
  __syncthreads();
  mbarrier_wait_parity(shared_address(&bar), 0);
  out[i] = copy[i ^ 1] + 1;
}

void judge() {
  exercise::DeviceBuffer<uint32_t> words(128), counter(1), out(128);
  words.fill(0);
  counter.fill(0);
  two_tasks<<<2, 128>>>(words.get(), counter.get(), out.get());
  exercise::finish();
  exercise::Words want(128);
  for (uint32_t i = 0; i < 128; ++i) want[i] = (i ^ 1) * 3 + 1;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
