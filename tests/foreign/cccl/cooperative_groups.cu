// Cooperative groups: a grid barrier, a cluster that reads its neighbour's shared memory, tiled and coalesced groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void across_the_grid(int* values, int rounds) {
  cg::grid_group grid = cg::this_grid();
  const int n = int(grid.size()), me = int(grid.thread_rank());
  for (int r = 0; r < rounds; ++r) {
    const int left = values[(me + n - 1) % n];
    grid.sync();
    values[me] = left;
    grid.sync();
  }
}

__global__ void __cluster_dims__(4, 1, 1) in_a_cluster(int* out) {
  __shared__ int mine[32];
  cg::cluster_group cluster = cg::this_cluster();
  mine[threadIdx.x] = int(blockIdx.x * 100 + threadIdx.x);
  cluster.sync();
  const int* next = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % cluster.num_blocks());
  out[blockIdx.x * 32 + threadIdx.x] = next[threadIdx.x];
  cluster.sync();
}

__global__ void in_tiles(int* out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  const int sum = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
  int active = 0;
  if (threadIdx.x % 3 == 0) active = int(cg::coalesced_threads().size());
  out[threadIdx.x] = sum * 100 + active;
}

int main() {
  int *d, n = 16 * 64;
  std::vector<int> host(n);
  cudaMalloc(&d, n * 4);
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpy(d, host.data(), n * 4, cudaMemcpyHostToDevice);
  int rounds = 5;
  void* args[] = {&d, &rounds};
  if (cudaLaunchCooperativeKernel((void*)across_the_grid, dim3(16), dim3(64), args) != cudaSuccess) return 1;
  cudaMemcpy(host.data(), d, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    if (host[i] != (i + n - rounds) % n) return std::printf("grid: wrong at %d\n", i), 1;
  in_a_cluster<<<8, 32>>>(d);
  cudaMemcpy(host.data(), d, 8 * 32 * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 8 * 32; ++i) {
    const int block = i / 32, next = block / 4 * 4 + (block + 1) % 4;
    if (host[i] != next * 100 + i % 32) return std::printf("cluster: wrong at %d\n", i), 1;
  }
  in_tiles<<<1, 64>>>(d);
  cudaMemcpy(host.data(), d, 64 * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i) {
    const int first = i / 8 * 8, sum = 8 * first + 28;
    const int active = i % 3 ? 0 : 11;
    if (host[i] != sum * 100 + active) return std::printf("tiles: %d at %d\n", host[i], i), 1;
  }
  std::puts("cooperative groups: right");
}
