// Hands the clusters of a grid to the SMs that have room.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "common/tinygpu/machine/dim3.h"

namespace tinygpu {

class Domain;
struct LaunchConfig;

class Dispatcher {
 public:
  explicit Dispatcher(const LaunchConfig& config);
  uint32_t cluster_size() const { return cluster_size_; }
  /// Clusters that nobody has started yet.
  uint64_t left() const { return total_ - next_; }
  /// Starts clusters, in the order of their numbers, wherever there is room at time `now`.
  void fill(const std::vector<std::unique_ptr<Domain>>& domains, uint64_t now);
  /// Takes the next cluster out of the grid, for clusterlaunchcontrol; false when none is left.
  bool take(Dim3& first_cta);

 private:
  Dim3 id(uint64_t linear) const;
  const LaunchConfig& config_;
  const Dim3 clusters_;  // of the grid
  const uint32_t cluster_size_;
  const uint64_t total_;
  uint64_t next_ = 0;
};

}  // namespace tinygpu
