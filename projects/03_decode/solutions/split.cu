// Several CTAs for each sequence and head, each with a stretch of the keys. They leave their sums in global memory, and
// a second kernel brings them together.
#include "projects/03_decode/solutions/keys.cuh"

using namespace decode;

__global__ void __launch_bounds__(256) stretch(project::Decode p, Part* scratch) {
  __shared__ Part parts[kWarps];
  const uint32_t head = blockIdx.x, warp = threadIdx.x / 32, length = p.lengths[head / p.heads];
  const uint32_t share = (length + gridDim.y - 1) / gridDim.y, from = min(blockIdx.y * share, length);
  keep(parts[warp], attend(p, head, from + warp, kWarps, min(from + share, length)));
  __syncthreads();
  combine<false>(parts, kWarps, scratch + head * gridDim.y + blockIdx.y, nullptr);
}

__global__ void __launch_bounds__(256) together(project::Decode p, const Part* scratch, uint32_t count) {
  combine<true>(scratch + blockIdx.x * count, count, nullptr, p.o + blockIdx.x * kGroup * kDim);
}

void launch(const project::Decode& p) {
  const uint32_t rows = p.sequences * p.heads, count = parts_for(p, multiprocessors());
  gen5::harness::DeviceBuffer<Part> scratch(size_t(rows) * count);
  stretch<<<dim3(rows, count), 256>>>(p, scratch.get());
  together<<<rows, 256>>>(p, scratch.get(), count);
  GEN5_CUDA(cudaDeviceSynchronize());  // the scratch memory goes
}
PROJECT(launch);
