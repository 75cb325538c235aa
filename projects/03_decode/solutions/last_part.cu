// The same stretches, two CTAs to an SM, in one kernel: the CTA that comes last for a sequence and head brings its
// parts together. A counter in global memory says which one that is.
#include "common/ptx/counter.h"
#include "projects/03_decode/solutions/keys.cuh"

using namespace decode;

__global__ void __launch_bounds__(256) stretch(project::Decode p, Part* scratch, uint32_t* counters) {
  __shared__ Part parts[kWarps];
  __shared__ uint32_t before;
  const uint32_t head = blockIdx.x, warp = threadIdx.x / 32, length = p.lengths[head / p.heads], count = gridDim.y;
  const uint32_t share = (length + count - 1) / count, from = min(blockIdx.y * share, length);
  keep(parts[warp], attend(p, head, from + warp, kWarps, min(from + share, length)));
  __syncthreads();
  combine<false>(parts, kWarps, scratch + head * count + blockIdx.y, nullptr);
  __syncthreads();
  if (threadIdx.x == 0) before = gen5::ptx::counter_meet(counters + head);
  __syncthreads();
  if (before == count - 1) combine<true>(scratch + head * count, count, nullptr, p.o + head * kGroup * kDim);
}

void launch(const project::Decode& p) {
  const uint32_t rows = p.sequences * p.heads, count = parts_for(p, 2 * multiprocessors());
  gen5::harness::DeviceBuffer<Part> scratch(size_t(rows) * count);
  gen5::harness::DeviceBuffer<uint32_t> counters(rows);
  counters.fill(0);
  stretch<<<dim3(rows, count), 256>>>(p, scratch.get(), counters.get());
  GEN5_CUDA(cudaDeviceSynchronize());  // the scratch memory goes
}
PROJECT(launch);
