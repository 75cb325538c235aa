// libcu++: cuda::barrier with asynchronous copies, cuda::pipeline, cuda::atomic_ref, against loops.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <cooperative_groups.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void with_barrier(const int* in, int* out) {
  __shared__ alignas(16) int tile[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  for (int step = 0; step < 4; ++step) {
    const int* from = in + (blockIdx.x * 4 + step) * 256;
    cuda::memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], sizeof(int), barrier);
    barrier.arrive_and_wait();
    out[(blockIdx.x * 4 + step) * 256 + threadIdx.x] = tile[255 - threadIdx.x];
    barrier.arrive_and_wait();
  }
}

__global__ void with_pipeline(const int* in, int* sums, int steps) {
  __shared__ int buffer[2][128];
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  auto load = [&](int step) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, buffer[step % 2], in + step * 128, sizeof(int) * 128, pipeline);
    pipeline.producer_commit();
  };
  load(0);
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) load(step + 1);
    pipeline.consumer_wait();
    sum += buffer[step % 2][threadIdx.x];
    pipeline.consumer_release();
  }
  sums[threadIdx.x] = sum;
}

__global__ void with_atomics(unsigned* counters) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(counters[threadIdx.x % 4]);
  counter.fetch_add(1, cuda::memory_order_relaxed);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> largest(counters[4]);
  largest.fetch_max(blockIdx.x * blockDim.x + threadIdx.x);
}

int main() {
  const int n = 8 * 4 * 256;
  std::vector<int> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i * 31 % 1000;
  int *d_in, *d_out;
  cudaMalloc(&d_in, n * 4);
  cudaMalloc(&d_out, n * 4);
  cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice);
  with_barrier<<<8, 256>>>(d_in, d_out);
  cudaMemcpy(out.data(), d_out, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    if (out[i] != in[i / 256 * 256 + 255 - i % 256]) return std::printf("barrier: wrong at %d\n", i), 1;
  with_pipeline<<<1, 128>>>(d_in, d_out, 20);
  cudaMemcpy(out.data(), d_out, 128 * 4, cudaMemcpyDeviceToHost);
  for (int t = 0; t < 128; ++t) {
    int sum = 0;
    for (int s = 0; s < 20; ++s) sum += in[s * 128 + t];
    if (out[t] != sum) return std::printf("pipeline: wrong at %d\n", t), 1;
  }
  unsigned *counters, got[5];
  cudaMalloc(&counters, 20);
  cudaMemset(counters, 0, 20);
  with_atomics<<<10, 96>>>(counters);
  cudaMemcpy(got, counters, 20, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 4; ++i)
    if (got[i] != 240) return std::printf("atomic_ref: counter %d is %u\n", i, got[i]), 1;
  if (got[4] != 959) return std::printf("atomic_ref: largest is %u\n", got[4]), 1;
  std::puts("cuda::barrier, pipeline, atomic_ref: right");
}
