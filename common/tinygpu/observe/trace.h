// A run as a timeline: a file in the trace-event format that ui.perfetto.dev and chrome://tracing open.
// Format: "Trace Event Format", the public description by the Catapult project.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "common/tinygpu/observe/wording.h"

namespace tinygpu::observe {

/// How much of a run is written down.
struct TraceLimits {
  uint32_t sms = 4;            // those with the smallest numbers
  uint32_t kernels = 8;        // the first ones
  uint64_t spans = 1'000'000;  // a kernel's on the SMs of one cluster; later ones are counted and left out
};

/// One process of the viewer is an SM, with rows for what its warps wait for, its TMA, tensor core and Tensor Memory,
/// and the phases of its mbarriers; arrows lead from an operation to the wait that it ends, and from an MMA to its
/// commit. A nanosecond on the viewer's ruler is an SM cycle of the GPU's clock.
class Trace final : public Observer {
 public:
  /// Writes to `out`, which outlives this; the document is complete when this is destroyed.
  Trace(std::ostream& out, TraceLimits limits);
  ~Trace() override;

  void on_launch(const Launch&) override;
  void on_end(const Launch&, const LaunchStats*) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_issue(const AsyncOperation&) override;
  void on_complete(const AsyncOperation&) override;
  void on_sync(const Sync&) override;
  void on_wait(const Wait&) override;

 private:
  /// What a span is shown under. Spans of one track that overlap get rows of their own.
  struct Track {
    enum class Kind : uint8_t { kernel, tma, tensor_core, commit, tmem, other, warp, mbarrier } kind = Kind::warp;
    uint32_t sm = 0, slot = 0;  // slot: of the CTA on its SM
    uint32_t index = 0;         // of the warp; offset of the mbarrier
    auto operator<=>(const Track&) const = default;
  };
  struct Span {
    Track track;
    std::string name;
    Origin who;  // launch null: nobody in particular
    uint64_t begin = 0, end = 0, bytes = 0, issued = 0;
    uint64_t operation = 0;           // that it shows
    std::vector<uint64_t> caused_by;  // operations whose end it waited for
  };
  /// What is in flight on an SM changes.
  struct Change {
    uint32_t sm;
    uint64_t time;
    int64_t bytes, mmas;
  };
  struct Barrier {
    uint64_t begin = 0;                // of the present phase
    std::vector<uint64_t> operations;  // that have signalled it in this phase
    uint64_t last_phase = ~0ull;
    std::vector<uint64_t> ended_by;  // of the phase before
  };
  using CtaId = std::array<uint32_t, 3>;
  struct Place {
    uint32_t sm, slot;
  };
  struct OpenWait {
    size_t span;
    uint32_t offset;  // of the mbarrier
  };
  /// What one host thread writes: the SMs that one cluster may span.
  struct Part {
    std::vector<Span> spans;
    std::vector<Change> changes;
    std::map<std::pair<const Cta*, uint32_t>, Barrier> barriers;
    std::map<CtaId, Place> places;
    std::map<uint32_t, std::vector<bool>> taken;  // SM → slots
    std::map<Track, Role> roles;
    std::map<std::pair<CtaId, int>, OpenWait> waits;  // the last one of a warp
    uint64_t left_out = 0;
  };

  bool shown(uint32_t sm) const { return active_ && sm < limits_.sms; }
  Part& part_of(const Cta& cta);
  void add(Part& part, Span span);
  void write(const nlohmann::json& event);
  void write_kernel(const Launch& launch);
  void write_rows();

  std::ostream& out_;
  const TraceLimits limits_;
  bool first_ = true;
  bool active_ = false;
  uint32_t kernels_ = 0;
  uint64_t arrows_ = 0;
  std::vector<Part> parts_;                              // by Domain::index
  std::map<std::pair<Track, uint32_t>, uint32_t> rows_;  // track and row → tid
  std::map<Track, Role> roles_;
};

}  // namespace tinygpu::observe
