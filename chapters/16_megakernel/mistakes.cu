// The layer's kernels with a line or two wrong: mistakes.txt says which, and the build copies the functions of the
// sources, changes those lines, and includes them here.
#include "chapters/16_megakernel/mistakes.h"

#include <fmt/format.h>

#include "chapters/16_megakernel/launch.cuh"
#include "chapters/16_megakernel/model.h"
#include "chapters/16_megakernel/reference.h"
#include "chapters/16_megakernel/task_places.h"

namespace megakernel {
namespace kernels {
namespace {

constexpr Sizes kSizes{256, 4, 2, 64, 512, 2, 200, 1};

/// Is everything within its bound? One layer, whose tasks are dealt out in order to `ctas` CTAs: launch(model, plan,
/// tasks dealt out).
template <class Launch>
bool layer_right(uint32_t ctas, const Launch& launch) {
  const Sizes& sizes = kSizes;
  Machine machine = current_machine();
  machine.sms = 8;
  const Plan plan = compile(decoder(sizes, kTarget.tiling(sizes).norms_apart), sizes, kTarget.tiling(sizes), machine);
  const Weights weights = make_weights(sizes, 1);
  const Schedule dealt = in_order(plan, ctas);
  DeviceModel model(sizes, plan, dealt, in_order(plan, 2 * ctas), &weights);
  launch(model, plan, dealt);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  for (const Checked& c : check_float64(sizes, plan, weights, model.results()))
    if (c.bound.outside) return false;
  return true;
}

/// A kernel in place of step 4's, which logs what its warps take: a diagnosis is told with its tasks.
bool kernel_right(void (*kernel)(Arguments, uint32_t), uint32_t bytes, uint32_t ctas = 4) {
  return layer_right(ctas, [&](const DeviceModel& model, const Plan& plan, const Schedule& dealt) {
    Work work = model.work(kSteps[3]);
    const gen5::harness::DeviceBuffer<Taken> taken(std::vector<Taken>(plan.tasks.size()));
    work.args.taken = taken.get();
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    gen5::harness::Diagnoses diagnoses;
    kernel<<<work.ctas, kThreads, bytes>>>(work.args, 0);
    GEN5_CUDA(cudaGetLastError());
    const cudaError_t ended = cudaDeviceSynchronize();
    if (const auto all = diagnoses.take(); !all.empty()) {
      std::vector<uint32_t> counters(plan.counters);
      GEN5_CUDA(cudaMemcpy(counters.data(), work.args.counters, counters.size() * 4, cudaMemcpyDeviceToHost));
      const TaskLog log{plan, kSizes, dealt, taken.download(), counters};
      const gen5::harness::Diagnosed* fatal = nullptr;  // the last error, where one has ended the kernel
      for (const auto& d : all)
        if (ended && d.error) fatal = &d;
      for (const auto& d : all) fmt::print(stderr, "{}{}", d.text, tasks_of(d, log, &d == fatal));
    }
    GEN5_CUDA(ended);
  });
}

/// The step as it is.
bool step4_right(uint32_t ctas = 4) {
  return layer_right(ctas, [&](DeviceModel& model, const Plan&, const Schedule&) { model.launch(kSteps[3]); });
}

#include "mistakes.inc"

}  // namespace
}  // namespace kernels

std::span<const gen5::harness::Mistake> mistakes() { return kernels::kMistakes; }

}  // namespace megakernel
