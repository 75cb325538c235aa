#include "tests/cuda/stream_kernels.h"

namespace {

__device__ unsigned long long now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__device__ void stay_for(unsigned cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

__global__ void stay(Stamp* to, unsigned cycles) {
  const unsigned long long begin = now();
  unsigned sm;
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  stay_for(cycles);
  if (threadIdx.x == 0) to[blockIdx.x] = {begin, now(), sm, 0};
}
__global__ void stay_and_let(Stamp* to, unsigned cycles) {
  const unsigned long long begin = now();
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  stay_for(cycles);
  if (threadIdx.x == 0) to[blockIdx.x] = {begin, now(), 0, 0};
}
__global__ void wait(volatile unsigned* flag) {
  while (!*flag) {
  }
}
__global__ void set(volatile unsigned* to, unsigned value, unsigned cycles) {
  stay_for(cycles);
  *to = value;
}
__global__ void next(volatile unsigned* to, const volatile unsigned* from, unsigned cycles) {
  stay_for(cycles);
  *to = *from + 1;
}

}  // namespace

void launch_stay(Stamp* to, unsigned ctas, unsigned cycles, unsigned shared, cudaStream_t stream) {
  cudaFuncSetAttribute(stay, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
  stay<<<ctas, 128, shared, stream>>>(to, cycles);
}
void launch_dependent_stay(Stamp* to, unsigned ctas, unsigned cycles, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = ctas;
  config.blockDim = 128;
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, stay_and_let, to, cycles);
}
void launch_wait(volatile unsigned* flag, cudaStream_t stream) { wait<<<1, 32, 0, stream>>>(flag); }
void launch_set(volatile unsigned* to, unsigned value, unsigned cycles, cudaStream_t stream) {
  set<<<1, 1, 0, stream>>>(to, value, cycles);
}
void launch_next(volatile unsigned* to, const volatile unsigned* from, unsigned cycles, cudaStream_t stream) {
  next<<<1, 1, 0, stream>>>(to, from, cycles);
}
