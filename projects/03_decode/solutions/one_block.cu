// A CTA for each sequence and head: eight warps share the keys, and their sums meet in shared memory.
#include "projects/03_decode/solutions/keys.cuh"

using namespace decode;

__global__ void __launch_bounds__(256) one_block(project::Decode p) {
  __shared__ Part parts[kWarps];
  const uint32_t head = blockIdx.x, warp = threadIdx.x / 32;
  keep(parts[warp], attend(p, head, warp, kWarps, p.lengths[head / p.heads]));
  __syncthreads();
  combine<true>(parts, kWarps, nullptr, p.o + head * kGroup * kDim);
}

void launch(const project::Decode& p) { one_block<<<p.sequences * p.heads, 256>>>(p); }
PROJECT(launch);
