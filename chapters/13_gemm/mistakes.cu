// The ladder's kernels with a line or two wrong: mistakes.txt says which, and the build copies the functions of the
// steps, changes those lines, and includes them here. All compute the product of bf16 matrices in f32.
#include "chapters/13_gemm/mistakes.h"

#include "chapters/13_gemm/persistent.cuh"
#include "common/harness/fused_sum.h"
#include "common/harness/inputs.h"
#include "common/ptx/cluster.h"

namespace gemm {
namespace {

constexpr layout::Element kIn = layout::Element::bf16;
using Bf16 = F16<kIn>;

/// Is every bit of the product right? Two size × k matrices.
template <class Launch>
gen5::harness::Verdict product_right(uint32_t size, uint32_t k, const Launch& launch) {
  using namespace gen5::harness;
  const auto a = make_inputs(Format::bf16, Pattern::uniform, size_t(size) * k, 1);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, size_t(size) * k, 2);
  DeviceBuffer<uint16_t> device_a(a), device_b(b);
  DeviceBuffer<uint32_t> d(size_t(size) * size);
  d.fill(0xff);  // NaN wherever nothing is written
  launch(Problem{.m = size, .n = size, .k = k, .a = device_a.get(), .b = device_b.get(), .d = d.get()});
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return difference("d", d.download(), fused_gemm({Format::bf16, size, size, k, a.data(), b.data()}), size,
                    Shown::floats);
}

/// A kernel of steps 1 to 4, on a product with several rounds of the ring, a CTA for each tile.
gen5::harness::Verdict step_right(void (*kernel)(Arguments), uint32_t threads, uint32_t tile_n, uint32_t bytes) {
  return product_right(256, 768, [&](const Problem& p) {
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    kernel<<<grid_of_tiles(p, tile_n), threads, bytes>>>(make_arguments(p, tile_n));
  });
}

/// A kernel of steps 5 to 8: two CTAs share several tiles.
template <uint32_t TileN>
gen5::harness::Verdict persistent_right(void (*kernel)(ScaledArguments), uint32_t bytes, uint32_t b_rows = TileN) {
  return product_right(512, 192, [&](const Problem& p) {
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    kernel<<<2, 192, bytes>>>(make_arguments<Bf16, TileN>(p, b_rows));
  });
}

/// The step as it is.
gen5::harness::Verdict right(void (*launch)(const Problem&)) { return product_right(256, 192, launch); }

#include "mistakes.inc"

}  // namespace

std::span<const gen5::harness::Mistake> mistakes() { return kMistakes; }

}  // namespace gemm
