// What tinygpu saw of a program's own launches. On other hardware nothing is seen.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gen5::harness {

/// A run as those saw it who watched. Times are SM cycles since the last launch began.
struct Watched {
  struct Cta {
    uint64_t begin = 0, end = 0;
  };
  /// An asynchronous operation of a thread.
  struct Operation {
    std::string kind;  // "cp.async.bulk.tensor load", "tcgen05.mma" …
    uint32_t cta = 0;  // place in `ctas`
    int warp = 0;
    uint64_t issued = 0;
    uint64_t begin = 0, busy = 0;  // when its unit took it up, and for how long that took nothing else
    uint64_t end = 0;              // its effect is there
  };
  /// Threads of a warp at an mbarrier.
  struct Signal {
    uint32_t cta = 0;
    int warp = 0;
    uint64_t at = 0;
  };
  std::vector<Cta> ctas;              // of the SM that had the first CTA
  std::vector<Operation> operations;  // of their threads, in the order of issue
  std::vector<Signal> waited;         // their waits have seen a phase end
  std::vector<Signal> arrived;
  nlohmann::json profile;  // where the time went, a kernel each: GEN5_PROFILE_JSON's document
};
/// Documents of tinygpu's session.h. Throws nlohmann::json::exception for what is none.
Watched read_watched(const std::string& profile, const std::string& timeline);

/// Watches the launches between its construction and stop().
class Watch {
 public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  /// tinygpu watches.
  bool active() const { return active_; }
  /// Nothing where tinygpu does not watch.
  std::optional<Watched> stop();

 private:
  bool active_ = false;
};

/// While it lives, tinygpu's clock runs alone: nothing is multiplied and no copy moves bytes, so that a large launch
/// takes little time, and its results are not to be used. Effects come in time, whatever the order of the program is.
/// On other hardware nothing changes.
class ClockAlone {
 public:
  ClockAlone();
  ~ClockAlone();
  ClockAlone(const ClockAlone&) = delete;
  ClockAlone& operator=(const ClockAlone&) = delete;

 private:
  bool active_ = false;
};

}  // namespace gen5::harness
