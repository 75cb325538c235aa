// Why tensor cores were idle: for every cycle in which an SM's tensor core took no MMA, what the warps that feed it
// were doing or waiting for.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/machine/per_partition.h"
#include "common/tinygpu/observe/wording.h"

namespace tinygpu::observe {

/// In the order in which they are named where several CTAs of an SM differ: what is nearest to the next MMA comes
/// first.
enum class IdleCause : uint8_t {
  loads,         // an mbarrier whose phase a copy ended
  threads,       // an mbarrier whose phase threads ended, a barrier of threads
  mmas,          // a commit, wgmma.wait_group: the MMAs before are under way still, or their news is
  instructions,  // nothing: the warp executes
  epilogue,      // what comes behind a CTA's last MMA; accumulators that warps with tcgen05.ld have not given back
  set_up,        // what comes before a CTA's first MMA, but for its loads
  no_cta,        // there is no CTA on the SM: launch, ends of the grid
};
const char* name_of(IdleCause cause);

/// Told of what happens in a launch, by the Observer that owns it.
class IdleCauses {
 public:
  void on_launch(const Launch& launch) { parts_.clear(launch); }
  void on_cta(const Cta&, bool starts, uint64_t time);
  void on_issue(const AsyncOperation&);
  void on_complete(const AsyncOperation&);
  void on_sync(const Sync&);
  void on_wait(const Wait&, MbarrierNames&);

  /// SM cycles from a launch's begin on, of the tensor cores that got an MMA; and what the warps that feed them waited
  /// for in states of each cause, in cycles of those warps.
  struct Sum {
    uint64_t all = 0, busy = 0;
    std::map<IdleCause, uint64_t> idle;
    std::map<IdleCause, std::map<WaitPlace, uint64_t>> waits;
    void add(const Sum& other);
  };
  Sum sum(const Launch& launch, uint64_t cycles) const;

 private:
  struct Interval {
    uint64_t begin, end;
  };
  /// An instruction at which a warp waited, and what for.
  struct Site {
    const Function* function;
    const Op* op;
    uint32_t mbarrier;  // its place in shared memory; none: ~0
    auto operator<=>(const Site&) const = default;
  };
  struct SiteCost {
    std::string what;
    std::map<IdleCause, uint64_t> cycles;
  };
  struct Blocked : Interval {
    IdleCause cause;
    SiteCost* site = nullptr;  // of a warp
  };
  struct WarpRecord {
    Role role;
    bool feeds = false;
    uint32_t tensor_core = 0;  // that it feeds, by its SM
    std::vector<Blocked> blocked;
    bool open = false;  // the last of `blocked` waits for an mbarrier at `offset`, and has not seen its phase end
    uint32_t offset = 0;
  };
  struct CtaRecord {
    uint64_t start = 0, first_mma = ~0ull, last_mma = 0;  // issued; complete
    std::map<int, WarpRecord> warps;
  };
  struct SmRecord {
    std::vector<Interval> busy;
    std::vector<Blocked> states;  // of the CTAs that feed it, from each one's start to its end
  };
  struct Barrier {
    IdleCause signalled = IdleCause::threads, ended = IdleCause::threads;
  };
  /// What one host thread writes: the SMs that one cluster may span.
  struct Part {
    std::map<CtaKey, CtaRecord> ctas;  // resident
    std::map<uint32_t, SmRecord> sms;
    std::map<std::pair<CtaKey, uint32_t>, Barrier> barriers;
    std::vector<AsyncOperation::Kind> operations;  // by their number in the partition
    std::map<Site, SiteCost> sites;                // of warps that feed a tensor core, and of others
  };
  static IdleCause cause_of(Part& part, const Origin& who);
  static void fold(Part& part, const CtaRecord& cta, uint64_t end);

  PerPartition<Part> parts_;
};

}  // namespace tinygpu::observe
