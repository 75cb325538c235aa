// When the MMAs of a launch completed: gen5 search puts times together from them (search/stretch.h).
#pragma once
#include <cstdint>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include "common/tinygpu/machine/observe.h"
#include "common/tinygpu/machine/per_partition.h"

namespace tinygpu::observe {

/// Of tcgen05.mma and wgmma. A line for each warpgroup of an SM that issued some, "SM WARPGROUP TIME TIME …": SM cycles
/// of the GPU's clock, in the order in which they completed. Launches follow one another.
class MmaEnds final : public Observer {
 public:
  /// Writes to `out`, which outlives this.
  explicit MmaEnds(std::ostream& out) : Observer(operations), out_(out) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<MmaEnds>(out_); }
  void on_launch(const Launch& launch) override { parts_.clear(launch); }
  void on_complete(const AsyncOperation& o) override;
  void on_end(const Launch&, const LaunchStats*) override;

 private:
  using Part = std::map<std::pair<uint32_t, int>, std::vector<uint64_t>>;  // by %smid and warpgroup
  PerPartition<Part> parts_;
  std::ostream& out_;
};

}  // namespace tinygpu::observe
