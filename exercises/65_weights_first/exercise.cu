// Weights do not wait
//
// A task needs 64 KiB of weights, which are there from the beginning, and a scale, which another CTA makes. One thread
// waits for the scale's counter and then asks for the weights: it loads when it could have loaded long ago. Move the
// wait to where it belongs. The budget is what the task takes if its weights are there when the scale is.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/counter.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kWeights = 16384, kPieces = 64;

__device__ void work(long long cycles) {
  for (const long long start = clock64(); clock64() - start < cycles;) {
  }
}

__global__ void scaled(const uint32_t* weights, uint32_t* scale, uint32_t* counter, uint32_t* out) {
  extern __shared__ __align__(128) uint32_t page[];
  __shared__ uint64_t bar;
  const uint32_t i = threadIdx.x;
  if (blockIdx.x == 0) {  // makes the scale
    work(6000);
    if (i == 0) {
      *scale = 3;
      counter_raise(counter);
    }
    return;
  }
  if (i == 0) {
    mbarrier_init(shared_address(&bar), 1);
    fence_mbarrier_init();
    while (counter_read(counter) == 0) {
    }
    mbarrier_arrive_expect_tx(shared_address(&bar), kWeights * 4);
    for (uint32_t p = 0; p < kPieces; ++p)
      bulk_load(shared_address(page + p * kWeights / kPieces), weights + p * kWeights / kPieces, kWeights / kPieces * 4,
                shared_address(&bar));
  }
  __syncthreads();
  mbarrier_wait_parity(shared_address(&bar), 0);
  uint32_t sum = 0;
  for (uint32_t k = i; k < kWeights; k += 256) sum += page[k] * *scale;
  out[i] = sum;
}

void judge() {
  const exercise::Words weights = exercise::counted(kWeights);
  exercise::DeviceBuffer<uint32_t> device_weights(weights), scale(1), counter(1), out(256);
  scale.fill(0);
  counter.fill(0);
  GEN5_CUDA(cudaFuncSetAttribute(scaled, cudaFuncAttributeMaxDynamicSharedMemorySize, kWeights * 4));
  scaled<<<2, 256, kWeights * 4>>>(device_weights.get(), scale.get(), counter.get(), out.get());
  exercise::finish();
  exercise::Words want(256);
  for (uint32_t k = 0; k < kWeights; ++k) want[k % 256] += weights[k] * 3;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
