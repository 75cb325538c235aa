// A run as a timeline: a file in the trace-event format that ui.perfetto.dev and chrome://tracing open.
// Format: "Trace Event Format", the public description by the Catapult project.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <utility>

#include "common/tinygpu/observe/timeline.h"

namespace tinygpu::observe {

/// One process of the viewer is an SM, with rows for what its warps wait for, its TMA, tensor core and Tensor Memory,
/// and the phases of its mbarriers; counters of what is in flight and of bytes to L2 and from device memory; arrows
/// lead from an operation to the wait that it ends, and from an MMA to its commit. A nanosecond on the viewer's ruler
/// is an SM cycle of the GPU's clock.
class Trace final : public Timeline {
 public:
  /// Writes to `out`, which outlives this; the document is complete when this is destroyed.
  Trace(std::ostream& out, TimelineLimits limits);
  ~Trace() override;
  /// The launches to come are called so.
  void name_launches(std::string name) { launches_name_ = std::move(name); }

 private:
  void take(const Launch& launch, const KernelTimeline& timeline) override;
  void write(const nlohmann::json& event);
  void write_rows();
  uint32_t row_of(const Track& track, uint32_t row);

  std::ostream& out_;
  std::string launches_name_;
  bool first_ = true;
  uint64_t arrows_ = 0;
  std::map<std::pair<Track, uint32_t>, uint32_t> rows_;  // track and row → tid
  std::map<Track, Role> roles_;
  std::map<Track, std::string> mbarriers_;
};

}  // namespace tinygpu::observe
