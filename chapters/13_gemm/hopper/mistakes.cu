// The twin's kernel with a line or two wrong: mistakes.txt says which, and the build copies kernel.cuh, changes those
// lines, and includes it here.
#include "chapters/13_gemm/hopper/mistakes.h"

#include <cuda.h>
#include <cuda_bf16.h>

#include "chapters/13_gemm/hopper/hopper.h"
#include "common/harness/cuda_check.h"
#include "common/harness/inputs.h"
#include "common/harness/stamps.h"
#include "common/layout/swizzle.h"
#include "common/ptx/barrier.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/stmatrix.h"
#include "common/ptx/wgmma.h"

namespace gemm::hopper {

using namespace gen5::ptx;
using gen5::harness::Moment;
using gen5::harness::Stamps;
namespace layout = gen5::layout;

namespace {

constexpr uint32_t kSize = 512, kDepth = 768;

/// Is every bit of the product right? bf16 matrices of kSize × kDepth; D in bf16.
template <class Launch>
bool product_right(const Launch& launch) {
  using namespace gen5::harness;
  const auto a = make_inputs(Format::bf16, Pattern::uniform, size_t(kSize) * kDepth, 1);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, size_t(kSize) * kDepth, 2);
  DeviceBuffer<uint16_t> device_a(a), device_b(b), d(size_t(kSize) * kSize);
  d.fill(0xff);  // NaN wherever nothing is written
  launch(Problem{.out = Output::bf16,
                 .m = kSize,
                 .n = kSize,
                 .k = kDepth,
                 .a = device_a.get(),
                 .b = device_b.get(),
                 .d = d.get()});
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const std::vector<uint16_t> words = d.download();
  return compare_bits({Format::bf16, kSize, kSize, kDepth, a.data(), b.data()}, Output::bf16,
                      {words.begin(), words.end()}, 0, 0, kSize, kSize)
      .equal();
}

/// Of a copied kernel, with the Arguments and the Shape that were copied with it: two clusters for two tiles each.
template <class Arguments, class Shape, class Shared>
bool twin_right(void (*kernel)(Arguments)) {
  return product_right([&](const Problem& p) {
    using gen5::harness::matrix_map;
    const auto type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const auto swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Shared))));
    kernel<<<4, 384, sizeof(Shared)>>>({matrix_map(type, 2, p.a, p.m, p.k, p.k, Shape::kTileM, 64, swizzle),
                                        matrix_map(type, 2, p.b, p.n, p.k, p.k, Shape::kTileN / 2, 64, swizzle),
                                        matrix_map(type, 2, p.d, p.m, p.n, p.n, 64, 64, swizzle), p.m, p.n, p.k,
                                        nullptr});
  });
}

bool right() {
  return product_right([](const Problem& p) { launch(p, Variant::cooperative, nullptr); });
}

#include "mistakes.inc"

}  // namespace

std::span<const gen5::harness::Mistake> mistakes() { return kMistakes; }

}  // namespace gemm::hopper
