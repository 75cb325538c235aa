// The ladder's kernels with a line or two wrong: mistakes.txt says which, and the build copies the functions of the
// steps, changes those lines, and includes them here.
#include "chapters/14_attention/mistakes.h"

#include <fmt/format.h>

#include "chapters/14_attention/pingpong.cuh"
#include "chapters/14_attention/reference.h"

namespace attention {
namespace {

using gen5::harness::Verdict;

/// Is O within its bound? One head of 256 queries and 512 keys of 64 dimensions whose scores rise from block to block.
template <class Launch>
Verdict attention_right(const Launch& launch) {
  using gen5::harness::DeviceBuffer;
  const Inputs in = make_inputs(1, 256, 512, 64, false, "rising");
  DeviceBuffer<uint16_t> q(in.q), k(in.k), v(in.v), o(in.q.size());
  o.fill(0xff);  // NaN wherever nothing is written
  launch(Problem{in.heads, in.queries, in.keys, in.dim, in.causal, q.get(), k.get(), v.get(), o.get()});
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const gen5::harness::Bound bound = check_float64(in, o.download(), {.slack = 8});
  if (bound.outside == 0) return true;
  return gen5::harness::difference(fmt::format("o[{}][{}]", bound.row, bound.column), bound.got, bound.want) +
         fmt::format("; {} of {} numbers are too far from what they should be", bound.outside, bound.checked);
}

/// A kernel of a step; from step 4 on a CTA has two tiles.
Verdict step_right(void (*kernel)(Arguments), uint32_t tiles, uint32_t threads, uint32_t bytes) {
  return attention_right(
      [&](const Problem& p) { launch_with(kernel, dim3(p.queries / kTile / tiles), threads, bytes, p); });
}

/// The step as it is.
Verdict right(void (*launch)(const Problem&)) { return attention_right(launch); }

#include "mistakes.inc"

}  // namespace

std::span<const gen5::harness::Mistake> mistakes() { return kMistakes; }

}  // namespace attention
