// How the twin's kernels are launched: which shape of tile a problem gets, how many clusters stay on the chip, and the
// tensor maps.
#include <algorithm>

#include "chapters/13_gemm/hopper/kernel.cuh"
#include "common/harness/cuda_check.h"

namespace gemm::hopper {
namespace {

int multiprocessors() {
  static const int count = [] {
    int n = 0;
    GEN5_CUDA(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
    return n;
  }();
  return count;
}

uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

template <Variant V>
uint32_t cluster_tiles(uint32_t m, uint32_t n) {
  return ceil_div(m, Shape<V>::kTileM * kClusterM) * ceil_div(n, Shape<V>::kTileN);
}

uint32_t most_clusters() { return uint32_t(multiprocessors()) / kClusterM; }

/// The part of the clusters' time that tiles fill: the last round may leave some without one.
template <Variant V>
double round_filling(uint32_t m, uint32_t n) {
  const uint32_t tiles = cluster_tiles<V>(m, n), most = most_clusters();
  return double(tiles) / (double(ceil_div(tiles, most)) * most);
}

template <Variant V, WgmmaType Type, bool kStamped>
void launch_as(const Problem& p, cudaStream_t stream) {
  using S = Shape<V>;
  const auto in = Type == WgmmaType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  using gen5::harness::matrix_map;
  const auto swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  const Arguments args{matrix_map(in, 2, p.a, p.m, p.k, p.k, S::kTileM, kBlockK, swizzle),
                       matrix_map(in, 2, p.b, p.n, p.k, p.k, S::kTileN / kClusterM, kBlockK, swizzle),
                       matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p.d, p.m, p.n, p.n, 64, 64, swizzle),
                       p.m,
                       p.n,
                       p.k,
                       p.stamps};
  const auto kernel = twin<V, Type, kStamped>;
  static const bool ready = [&] {
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Shared<V>))));
    return true;
  }();
  (void)ready;
  // As few clusters as finish in the same number of rounds: fewer CTAs beside each other share the L2 cache and the
  // power.
  const uint32_t tiles = cluster_tiles<V>(p.m, p.n);
  const uint32_t clusters = ceil_div(tiles, ceil_div(tiles, most_clusters()));
  kernel<<<clusters * kClusterM, kThreads, sizeof(Shared<V>), stream>>>(args);
  GEN5_CUDA(cudaGetLastError());
}

template <Variant V, WgmmaType Type>
void launch_stamped_or_not(const Problem& p, cudaStream_t stream) {
  if (p.stamps)
    launch_as<V, Type, true>(p, stream);
  else
    launch_as<V, Type, false>(p, stream);
}

template <Variant V>
void launch_typed(const Problem& p, cudaStream_t stream) {
  if (p.in == gen5::harness::Format::f16)
    launch_stamped_or_not<V, WgmmaType::f16>(p, stream);
  else
    launch_stamped_or_not<V, WgmmaType::bf16>(p, stream);
}

}  // namespace

void launch(const Problem& p, Variant variant, cudaStream_t stream) {
  if (variant == Variant::cooperative)
    launch_typed<Variant::cooperative>(p, stream);
  else
    launch_typed<Variant::ping_pong>(p, stream);
}

Variant best_variant(uint32_t m, uint32_t n, uint32_t k) {
  // A short K makes the epilogue weigh, which ping-pong hides. Large products run at the power limit, where it is ahead
  // by about 1 %. In between the wider tile wins by 1 to 2 %, unless its tiles fill their last round worse.
  if (k <= 2048 || uint64_t(m) * n >= 30'000'000) return Variant::ping_pong;
  const bool fills = round_filling<Variant::cooperative>(m, n) >= round_filling<Variant::ping_pong>(m, n);
  return fills ? Variant::cooperative : Variant::ping_pong;
}

}  // namespace gemm::hopper
