// A kernel that starts early
//
// Two kernels in a stream are launched so that the second may start while the first still runs. The second reads what
// the first writes, but does not wait for it: on a chip it may read old data. Add the line that waits, behind the
// setup, which does not depend on the first kernel.
#include "common/ptx/launch_control.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kBlocks = 8, kThreads = 128, kWords = kBlocks * kThreads;

__device__ void work(long long cycles) {
  for (const long long start = clock64(); clock64() - start < cycles;) {
  }
}

__global__ void produce(uint32_t* data) {
  griddepcontrol_launch_dependents();  // the next kernel may begin; this promises nothing about memory
  work(3000);
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  data[i] = i * 3;
}

__global__ void consume(const uint32_t* data, uint32_t* out) {
  work(3000);  // the setup
  // Your line here.
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = data[i ^ 1] + 1;
}

void judge() {
  exercise::DeviceBuffer<uint32_t> data(kWords), out(kWords);
  data.fill(0);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kThreads);
  config.attrs = &early;
  config.numAttrs = 1;
  produce<<<kBlocks, kThreads>>>(data.get());
  GEN5_CUDA(cudaLaunchKernelEx(&config, consume, static_cast<const uint32_t*>(data.get()), out.get()));
  exercise::finish();
  exercise::Words want(kWords);
  for (uint32_t i = 0; i < kWords; ++i) want[i] = (i ^ 1) * 3 + 1;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
