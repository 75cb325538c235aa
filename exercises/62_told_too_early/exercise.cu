// Told too early
//
// Two CTAs stay on the chip. The first makes 128 words and then raises a counter in global memory; the second waits for
// the counter and reads the words. Thread 0 raises the counter, but the words are 128 threads' work. Add the line
// without which it may raise the counter ahead of another thread's store.
#include "common/ptx/counter.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void two_tasks(uint32_t* words, uint32_t* counter, uint32_t* out) {
  const uint32_t i = threadIdx.x;
  if (blockIdx.x == 0) {
    words[i] = i * 3;
    // Your line here.
    if (i == 0) counter_raise(counter);
  } else {
    if (i == 0)
      while (counter_read(counter) == 0) {
      }
    __syncthreads();
    out[i] = words[i ^ 1] + 1;
  }
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
