// The narrow kinds' kernels with a line or two wrong: kinds_mistakes.txt says which, and the build copies the
// functions, changes those lines, and includes them here. All are products with block scales in f32.
#include "chapters/13_gemm/mistakes.h"

#include "chapters/13_gemm/persistent.cuh"
#include "common/harness/narrow_gemm.h"
#include "common/ptx/cluster.h"

namespace gemm::kinds {
namespace {

/// Is every bit of the product right? Two size × k matrices. Scales differ from block to block; those of mx numbers
/// that are uniform would hardly. Wide nv numbers are many times slower to add up here.
template <class Kind, class Launch>
gen5::harness::Verdict product_right(uint32_t size, uint32_t k, const Launch& launch) {
  using namespace gen5::harness;
  constexpr bool kMx = Kind::kKind == ScaledKind::mxf8f6f4;
  const auto make = [&](uint64_t seed) {
    return make_narrow(kMx ? Narrow::e4m3 : Narrow::e2m1, kMx ? Scaling::mx : Scaling::nv,
                       kMx ? Pattern::wide : Pattern::uniform, size, k, seed);
  };
  const NarrowMatrix a = make(1), b = make(2);
  DeviceBuffer<uint8_t> bytes_a(a.bytes()), bytes_b(b.bytes()), scales_a(a.chunks()), scales_b(b.chunks());
  DeviceBuffer<uint32_t> d(size_t(size) * size);
  d.fill(0xff);  // NaN wherever nothing is written
  launch(Problem{.m = size,
                 .n = size,
                 .k = k,
                 .a = bytes_a.get(),
                 .b = bytes_b.get(),
                 .d = d.get(),
                 .kind = kMx ? gemm::Kind::mxf8 : gemm::Kind::nvf4,
                 .a_scales = scales_a.get(),
                 .b_scales = scales_b.get()});
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return difference("d", d.download(), narrow_gemm(a, b, 0, 0, size, size), size, Shown::floats);
}

/// A kernel of a step, on a product of several rounds of the ring and several tiles: with `ctas` CTAs, which share
/// them; one for each if there is none.
template <class Kind, uint32_t TileN>
gen5::harness::Verdict step_right(void (*kernel)(ScaledArguments), uint32_t ctas, uint32_t bytes,
                                  uint32_t b_rows = TileN) {
  return product_right<Kind>(384, 6 * Kind::kBlockK, [&](const Problem& p) {
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    kernel<<<ctas ? dim3(ctas) : grid_of_tiles(p, TileN), 192, bytes>>>(make_arguments<Kind, TileN>(p, b_rows));
  });
}

/// The step as it is.
template <class Kind>
gen5::harness::Verdict right(void (*launch)(const Problem&)) {
  return product_right<Kind>(384, 6 * Kind::kBlockK, launch);
}

#include "kinds_mistakes.inc"

}  // namespace

std::span<const gen5::harness::Mistake> mistakes() { return kMistakes; }

}  // namespace gemm::kinds
