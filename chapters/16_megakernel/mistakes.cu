// The layer's kernels with a line or two wrong: mistakes.txt says which, and the build copies the functions of the
// sources, changes those lines, and includes them here.
#include "chapters/16_megakernel/mistakes.h"

#include "chapters/16_megakernel/launch.cuh"
#include "chapters/16_megakernel/model.h"
#include "chapters/16_megakernel/reference.h"

namespace megakernel {
namespace kernels {
namespace {

/// Is everything within its bound? One layer, whose tasks are dealt out in order to `ctas` CTAs.
template <class Launch>
bool layer_right(uint32_t ctas, const Launch& launch) {
  const Sizes sizes{256, 4, 2, 64, 512, 2, 200, 1};
  Machine machine = current_machine();
  machine.sms = 8;
  const Plan plan =
      compile(decoder(sizes, kTarget.tiling(sizes.batch).norms_apart), sizes, kTarget.tiling(sizes.batch), machine);
  const Weights weights = make_weights(sizes, 1);
  DeviceModel model(sizes, plan, in_order(plan, ctas), in_order(plan, 2 * ctas), &weights);
  launch(model);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  for (const Checked& c : check_float64(sizes, plan, weights, model.results()))
    if (c.bound.outside) return false;
  return true;
}

/// A kernel in place of step 4's.
bool kernel_right(void (*kernel)(Arguments, uint32_t), uint32_t bytes, uint32_t ctas = 4) {
  return layer_right(ctas, [&](const DeviceModel& model) {
    const Work work = model.work(kSteps[3]);
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    kernel<<<work.ctas, kThreads, bytes>>>(work.args, 0);
  });
}

/// The step as it is.
bool step4_right(uint32_t ctas = 4) {
  return layer_right(ctas, [&](DeviceModel& model) { model.launch(kSteps[3]); });
}

#include "mistakes.inc"

}  // namespace
}  // namespace kernels

std::span<const gen5::harness::Mistake> mistakes() { return kernels::kMistakes; }

}  // namespace megakernel
