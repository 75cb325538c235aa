// What an observer keeps of a launch, by partition: the host threads that advance partitions do not meet.
#pragma once
#include <vector>

#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu {

template <class Part>
class PerPartition {
 public:
  /// A launch begins: nothing is kept.
  void clear(const Launch& launch) {
    parts_.clear();
    parts_.resize(launch.partitions().size());
  }
  Part& of(const SmPartition& partition) { return parts_[partition.index]; }
  const Part& of(const SmPartition& partition) const { return parts_[partition.index]; }
  Part& of(const Cta& cta) { return of(cta.cluster.partition); }
  const Part& of(const Cta& cta) const { return of(cta.cluster.partition); }
  Part& of(const AsyncOperation& operation) { return parts_[operation.partition()]; }
  auto begin() { return parts_.begin(); }
  auto end() { return parts_.end(); }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

 private:
  std::vector<Part> parts_;
};

}  // namespace tinygpu
