#include "common/harness/pipeline_run.h"

#include "common/harness/cuda_check.h"
#include "common/harness/stamps.h"
#include "common/harness/watch.h"

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

Pipeline run_pipeline(const PipelineShape& shape, bool stamps, const StampedLaunch& launch,
                      std::optional<uint64_t>* l2_bytes) {
  if (stamps) return stamped_pipeline(shape, launch);
  Watch watch;
  run(launch, nullptr);
  const std::optional<Watched> watched = watch.stop();
  if (!watched) return stamped_pipeline(shape, launch);
  if (l2_bytes) *l2_bytes = watched->profile.at(0).at("memory").at("l2_bytes").get<uint64_t>();
  return pipeline_of(*watched, shape);
}

}  // namespace gen5::harness
