// Finds out that grids in flight go nowhere: all wait for what none of them will do, loops that can't end, or mere
// polling.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu {

class GridScheduler;
class Launch;
class WaitGraph;

class StuckWatch {
 public:
  explicit StuckWatch(GridScheduler& grids);
  /// A grid joins those in flight.
  void grid_added();
  /// Between windows, of which the last ended at `time`: throws KernelFault "deadlock", or warns of "polling".
  void check(uint64_t time);
  /// Nothing can happen any more, but there are warps.
  [[noreturn]] void waits_forever() const;
  /// Everybody waits, and nothing is in flight that could end that: it takes a while longer to be sure.
  bool hopeless() const;
  /// What every warp waits for, or where it spins: `how` begins the message. `of`: of this grid's alone.
  Diagnosis who_waits(std::string code, std::string how, const Launch* of = nullptr) const;

 private:
  [[noreturn]] void deadlock(const char* how) const;
  static Diagnosis who_waits(std::string code, std::string how, const WaitGraph& graph,
                             const std::vector<const Launch*>& launches);
  /// Looks for loops that cannot end, from time to time, and reports if there is nothing else.
  void check_loops(uint64_t time, uint64_t instructions);
  void watch_loops(bool on);

  GridScheduler& grids_;
  uint64_t polled_instructions_ = 0;
  bool polling_told_ = false;
  // The search for endless loops: how it stands, and when it goes on.
  enum class Watch : uint8_t { off, settling, looking } watch_ = Watch::off;
  uint64_t watch_at_, watch_progress_ = 0, watch_time_ = 0;
};

}  // namespace tinygpu
