// Hands the clusters of a grid to the SMs that have room.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "common/tinygpu/machine/dim3.h"

namespace tinygpu {

class SmPartition;
struct LaunchConfig;

class Dispatcher {
 public:
  /// The first cluster is handed out at `first`, in cycles, others `interval` apart.
  Dispatcher(const LaunchConfig& config, uint64_t first, double interval);
  uint32_t cluster_size() const { return cluster_size_; }
  /// Clusters that have not started yet.
  uint64_t left() const { return total_ - next_; }
  /// Starts clusters, in the order of their numbers, wherever there is room: first where it has been for longest since
  /// the grid's turn came, then where there are fewest CTAs. `handed_out`: when the chip can hand out the next one, of
  /// whatever grid.
  void fill(const std::vector<std::unique_ptr<SmPartition>>& partitions, double& handed_out);
  /// When its first cluster can be handed out.
  uint64_t first() const { return first_; }
  /// Takes the next cluster out of the grid, for clusterlaunchcontrol; false when none is left.
  bool take(Dim3& first_cta);

 private:
  Dim3 id(uint64_t linear) const;
  const LaunchConfig& config_;
  const Dim3 clusters_;  // of the grid
  const uint32_t cluster_size_;
  const uint64_t total_;
  uint64_t next_ = 0;
  const uint64_t first_;
  uint64_t turn_ = 0;  // when that of the grid came
  const double interval_;
};

}  // namespace tinygpu
