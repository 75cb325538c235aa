// What happened on some SMs during a launch, in spans of time: what each unit worked on, what each warp waited for, the
// phases of each mbarrier, and which operation ended which wait.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/tinygpu/machine/per_partition.h"
#include "common/tinygpu/observe/wording.h"

namespace tinygpu::observe {

/// How much of a run is kept.
struct TimelineLimits {
  uint32_t sms = 4;            // those with the smallest numbers
  uint32_t kernels = 8;        // the first ones
  uint64_t spans = 1'000'000;  // a kernel's on the SMs of one cluster; later ones are counted and left out
};

/// What a span is shown under. Spans of one track that overlap get rows of their own.
struct Track {
  enum class Kind : uint8_t { kernel, tma, tensor_core, commit, tmem, other, warp, mbarrier } kind = Kind::warp;
  uint32_t sm = 0, slot = 0;  // slot: of the CTA on its SM
  uint32_t index = 0;         // of the warp; offset of the mbarrier
  auto operator<=>(const Track&) const = default;
  /// "TMA", "CTA slot 0 warp 1: MMA", "CTA slot 0 mbarrier full[1]" … `what`: the warp's role, the mbarrier's name.
  std::string name(const std::string& what) const;
};

/// Its name with what is known of it: the role of a warp, the name of an mbarrier.
std::string name_of(const Track& track, const std::map<Track, Role>& roles,
                    const std::map<Track, std::string>& mbarriers);

struct Span {
  Track track;
  uint32_t row = 0;  // within the track
  std::string name;
  Origin who;  // launch null: none in particular
  uint64_t begin = 0, end = 0, bytes = 0, issued = 0;
  uint64_t busy = 0;                // cycles from `begin` on in which an operation's unit takes nothing else
  uint64_t operation = 0;           // that it shows
  std::vector<uint64_t> caused_by;  // operations whose end it waited for
};

/// One launch, on the SMs that are shown.
struct KernelTimeline {
  /// What is in flight on an SM changes.
  struct Change {
    uint32_t sm;
    uint64_t time;
    int64_t bytes, mmas;
  };
  /// Bytes that went to and from L2, and came from device memory, from `time` on for kTrafficCycles.
  struct Traffic {
    uint32_t sm;
    uint64_t time, l2, device;
  };
  static constexpr uint64_t kTrafficCycles = 256;
  /// From an operation to the wait that it ends, or from an MMA to its commit: places in `spans`.
  struct Arrow {
    size_t from, to;
  };
  /// When a CTA was on its SM.
  struct Stay {
    uint32_t sm, slot;
    CtaKey cta;
    uint64_t begin, end;
  };
  uint64_t begin = 0, end = 0;  // of the launch
  std::vector<Span> spans;      // by track, then by time
  std::vector<Arrow> arrows;
  std::vector<Change> changes;   // by SM, then by time
  std::vector<Traffic> traffic;  // by SM, then by time, those that had some
  std::vector<Stay> stays;
  std::map<Track, Role> roles;             // of warps
  std::map<Track, std::string> mbarriers;  // "mbarrier full[1]"
  uint64_t left_out = 0;                   // spans
};

/// Collects, and hands over each launch as it ends.
class Timeline : public Observer {
 public:
  explicit Timeline(TimelineLimits limits);

  /// One that hands its launches over to this one.
  std::unique_ptr<Observer> another() override;
  void on_launch(const Launch&) override;
  void on_end(const Launch&, const LaunchStats*) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_issue(const AsyncOperation&) override;
  void on_complete(const AsyncOperation&) override;
  void on_sync(const Sync&) override;
  void on_wait(const Wait&) override;
  void on_traffic(const MemoryTraffic&) override;

 protected:
  /// A launch that is shown has ended. What its spans name lives as long as this call.
  virtual void take(const Launch& launch, const KernelTimeline& timeline) = 0;

 private:
  class Another;
  struct Barrier {
    uint64_t begin = 0;                // of the present phase
    std::vector<uint64_t> operations;  // that have signalled it in this phase
    uint64_t last_phase = ~0ull;
    std::vector<uint64_t> ended_by;  // of the phase before
  };
  struct Place {
    uint32_t sm, slot;
    uint64_t begin;
    bool ended;
  };
  struct OpenWait {
    size_t span;
    uint32_t offset;  // of the mbarrier
  };
  /// What one host thread writes: the SMs that one cluster may span.
  struct Part {
    std::vector<Span> spans;
    std::vector<KernelTimeline::Change> changes;
    std::vector<KernelTimeline::Stay> stays;
    std::map<std::pair<uint32_t, uint64_t>, KernelTimeline::Traffic> traffic;  // by SM and time
    std::map<std::pair<const Cta*, uint32_t>, Barrier> barriers;
    std::map<CtaKey, Place> places;
    std::map<uint32_t, std::vector<bool>> taken;  // SM → slots
    std::map<Track, Role> roles;
    std::map<Track, std::string> mbarriers;
    std::map<std::pair<CtaKey, int>, OpenWait> waits;  // the last one of a warp
    uint64_t left_out = 0;
  };

  bool shown(uint32_t sm) const { return active_ && sm < limits_.sms; }
  void add(Part& part, Span span);
  KernelTimeline whole(const Launch& launch);

  const TimelineLimits limits_;
  bool active_ = false;
  uint32_t kernels_ = 0, beside_ = 0;
  Timeline* main_ = nullptr;  // that counts the kernels; null: this one
  uint32_t first_slot_ = 0;   // of the CTAs on an SM: those of grids that run beside each other are told apart
  MbarrierNames mbarriers_;
  PerPartition<Part> parts_;
};

}  // namespace tinygpu::observe
