// How the twin's kernel is launched: its tensor maps, how many CTAs there are, and which heads are worked on together.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "chapters/14_attention/hopper/kernel.cuh"
#include "common/harness/cuda_check.h"
#include "common/harness/stack_map.h"

namespace attention::hopper {
namespace {

/// Keys and values of so many heads are used at about the same time; they should find room in an L2 cache of 50 MiB.
uint32_t heads_of_a_section(const Problem& p) {
  const double bytes_of_a_head = 4.0 * p.keys * p.dim;
  return std::clamp(uint32_t(24e6 / bytes_of_a_head), 1u, p.heads);
}

template <uint32_t Dim>
void launch_as(const Problem& p, cudaStream_t stream) {
  const auto map = [&](uint16_t* data, uint32_t rows, uint32_t box_rows) {
    return gen5::harness::stack_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, p.heads, rows, p.dim, box_rows, 64,
                                    CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const Arguments args{map(p.q, p.queries, kTile), map(p.k, p.keys, kBlock), map(p.v, p.keys, kBlock),
                       map(p.o, p.queries, kBand), p.heads, p.queries, p.keys, p.causal,
                       // Without masks all tiles are equally long: those of one head follow each other.
                       p.causal ? heads_of_a_section(p) : 1, float(1 / (std::sqrt(double(p.dim)) * std::log(2.0)))};
  static const uint32_t sms = [] {
    int n = 0;
    GEN5_CUDA(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
    GEN5_CUDA(cudaFuncSetAttribute(twin<Dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Shared<Dim>))));
    return uint32_t(n);
  }();
  const uint32_t tiles = layout::ceil_div(p.queries, kTile) * p.heads;
  twin<Dim><<<std::min(tiles, sms), kThreads, sizeof(Shared<Dim>), stream>>>(args);
  GEN5_CUDA(cudaGetLastError());
}

}  // namespace

void launch(const Problem& p, cudaStream_t stream) {
  if (p.dim == 64)
    launch_as<64>(p, stream);
  else if (p.dim == 128)
    launch_as<128>(p, stream);
  else
    throw std::invalid_argument("heads have 64 or 128 dimensions");
}

}  // namespace attention::hopper
