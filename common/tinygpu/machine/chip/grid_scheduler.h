// Grids that run at the same time, and share the chip: those of streams that do not wait for each other, and those that
// programmatic dependent launch starts beside the grid on which they depend.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/chip/stuck_watch.h"

namespace tinygpu {

class GridScheduler {
 public:
  explicit GridScheduler(Gpu& gpu);
  ~GridScheduler();
  /// A grid that begins at `start`, which is not before what has been run. Of those that wait for room, the one with
  /// the least `priority` comes first, and then the one that was added first. `has_dependent`: run() says when it lets
  /// dependents start.
  Launch& add(const LaunchConfig& config, uint64_t start, int priority = 0, bool has_dependent = false);
  /// One that depends on `primary`, which has just let dependents start. Its griddepcontrol.wait waits for the end of
  /// that one; it is over when both are.
  Launch& add_dependent(const LaunchConfig& config, const Launch& primary, int priority = 0,
                        bool has_dependent = false);
  struct Event {
    enum class Kind : uint8_t { over, lets_dependents_start } kind;
    Launch* launch;  // one that is over lives until the next run()
    LaunchStats stats;
  };
  /// Runs until something happens to a grid. There are some. Throws KernelFault: then all are over.
  Event run() { return *run_until(~0ull); }
  /// The same, or until nothing is left to happen before `cycle`: then nothing is returned. It stops between windows,
  /// so that it changes nothing.
  std::optional<Event> run_until(uint64_t cycle);
  /// Everything has been run up to here.
  uint64_t now() const { return now_; }
  bool empty() const { return launches_.empty(); }

  /// A grid's time has not come, so others may yet do what those that run wait for.
  bool more_to_come() const { return added_ || held_; }

  /// Those that are not over.
  const std::vector<std::unique_ptr<Launch>>& launches() const { return launches_; }
  /// SmPartitions that have work, since the window before at least.
  const std::vector<SmPartition*>& busy() const { return busy_; }
  /// Warp instructions of clusters that have ended on the others, and of grids that are over.
  uint64_t idle_instructions() const { return idle_instructions_ + past_instructions_; }

 private:
  /// SmPartitions run side by side for a window, then what they share is touched in order of simulated time: results of
  /// race-free kernels, and cycles, do not depend on how many host threads there are.
  void run_window(uint64_t next, uint64_t cycle);
  void advance(uint64_t until);
  /// Those on the same SMs, in order of time.
  void advance_together(const std::vector<SmPartition*>& partitions, uint64_t until) const;
  /// The chip's memory answers what the partitions have asked of it, and what touches memory that others see happens,
  /// in order of (time, grid, partition, number).
  void exchange();
  void throw_first_fault();
  void stop_long_ones(uint64_t next);
  void find_busy();
  /// SMs that clusters of some grid may span are advanced together.
  void find_sets();
  /// Starts CTAs wherever there is room.
  void fill();
  /// Clusters that have ended make room for others.
  void refill();
  Launch& add(const LaunchConfig& config, uint64_t start, uint64_t primary, int priority, bool has_dependent);

  Gpu& gpu_;
  StuckWatch stuck_;
  std::vector<std::unique_ptr<Sm>> sms_;  // by %smid
  std::vector<std::unique_ptr<Launch>> launches_;
  std::unique_ptr<Launch> ended_;  // of the last event
  /// What is known of each of launches_.
  struct Queued {
    int priority = 0;
    bool begun = false;          // it has CTAs
    bool has_dependent = false;  // of which run() has yet to say that it may start
  };
  std::vector<Queued> queue_;
  std::vector<SmPartition*> busy_, active_;      // those that have work, and those of them that are not done with it
  std::vector<uint32_t> set_of_;                 // by %smid
  std::vector<std::vector<SmPartition*>> sets_;  // of active_, those of the same set
  uint64_t now_ = 0;                             // everything has been run up to here
  double handed_out_ = 0;                        // when the next CTA can be,
  uint64_t next_grid_ = 0;                       // and the first one of another grid
  bool added_ = false, held_ = false;            // a grid whose CTAs have not been looked at; whose time has not come
  uint64_t idle_instructions_ = 0, past_instructions_ = 0;
};

}  // namespace tinygpu
