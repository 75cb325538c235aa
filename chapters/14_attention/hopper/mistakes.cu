// The twin's kernel with a line or two wrong: mistakes.txt says which, and the build copies its functions, changes
// those lines, and includes them here.
#include "chapters/14_attention/hopper/mistakes.h"

#include <cmath>

#include "chapters/14_attention/hopper/kernel.cuh"
#include "chapters/14_attention/reference.h"
#include "common/harness/cuda_check.h"
#include "common/harness/stack_map.h"

namespace attention::hopper {
namespace {

/// Is O within its bound? Two heads of 128 queries and 512 keys of 64 dimensions whose scores rise along the keys.
template <class Launch>
bool attention_right(const Launch& launch) {
  using gen5::harness::DeviceBuffer;
  const Inputs in = make_inputs(2, 128, 512, 64, false, "rising");
  DeviceBuffer<uint16_t> q(in.q), k(in.k), v(in.v), o(in.q.size());
  o.fill(0xff);  // NaN wherever nothing is written
  launch(Problem{in.heads, in.queries, in.keys, in.dim, in.causal, q.get(), k.get(), v.get(), o.get()});
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return check_float64(in, o.download(), {.slack = 8}).outside == 0;
}

/// A changed kernel, with the Arguments that were copied with it: one CTA for both heads.
template <class Arguments, class Shared>
bool twin_right(void (*kernel)(Arguments)) {
  return attention_right([&](const Problem& p) {
    const auto map = [&](uint16_t* data, uint32_t rows, uint32_t box_rows) {
      return gen5::harness::stack_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, p.heads, rows, p.dim, box_rows, 64,
                                      CU_TENSOR_MAP_SWIZZLE_128B);
    };
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Shared))));
    kernel<<<1, 384, sizeof(Shared)>>>({map(p.q, p.queries, 128), map(p.k, p.keys, 128), map(p.v, p.keys, 128),
                                        map(p.o, p.queries, 64), p.heads, p.queries, p.keys, p.causal, 1,
                                        float(1 / (std::sqrt(double(p.dim)) * std::log(2.0)))});
  });
}

bool right() {
  return attention_right([](const Problem& p) { launch(p, nullptr); });
}

#include "mistakes.inc"

}  // namespace

std::span<const gen5::harness::Mistake> mistakes() { return kMistakes; }

}  // namespace attention::hopper
