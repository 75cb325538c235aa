#include "common/harness/pipeline_run.h"

#include "common/harness/cuda_check.h"
#include "common/harness/stamps.h"

namespace gen5::harness {
namespace {

void run(const StampedLaunch& launch, uint64_t* stamps) {
  launch(stamps);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
}

}  // namespace

Pipeline stamped_pipeline(const PipelineShape& shape, const StampedLaunch& launch) {
  DeviceBuffer<uint64_t> stamps(kStampWords);
  stamps.fill(0);
  run(launch, stamps.get());
  return pipeline_of(stamps.download(), shape);
}

Pipeline run_pipeline(const PipelineShape& shape, bool stamps, const StampedLaunch& launch) {
  if (stamps) return stamped_pipeline(shape, launch);
  Watch watch;
  run(launch, nullptr);
  const std::optional<Watched> watched = watch.stop();
  return watched ? pipeline_of(*watched, shape) : stamped_pipeline(shape, launch);
}

}  // namespace gen5::harness
