// Device memory as those who read it feel it: many slow groups of banks. Each serves one line after the other, so a
// line waits for others long before all groups are busy. What has to be written waits, for a batch of it or for an idle
// moment, since turning from reads to writes and back costs a group time; who reads meanwhile waits for all of that. On
// an H200 a load takes 180 cycles longer beside copies at a third of memory's rate, and 20 beside reads or writes alone
// (notes/evidence.md).
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/machine/memory/server.h"
#include "common/tinygpu/timing/memory.h"

namespace tinygpu {

class DeviceMemory {
 public:
  explicit DeviceMemory(const MemoryTiming& timing);
  /// When the group of `line` begins with `bytes` of it that are asked for at `time`. Lines of one `copy` wait for
  /// others', not for its own: what those take is in the times of bulk copies by size (tma.dram.*). 0: of no copy.
  double read(double time, uint64_t line, double bytes, uint64_t copy = 0);
  /// `line` leaves L2 at `time`: when it begins to be written; at once if it waits for its batch.
  double write(double time, uint64_t line);
  /// Bytes that it has given and taken.
  uint64_t moved() const { return moved_; }

 private:
  struct Group : Server {
    uint64_t stretch = ~0ull;  // read last
    uint32_t waiting = 0;      // lines to write,
    double oldest = 0;         // the first of them since then
    bool reads = false;        // since it wrote
    uint64_t copy = 0;         // that has read last,
    double begun = 0;          // and when its first line here began
  };
  Group& group_of(uint64_t piece);
  /// What waits is written, from `time` on; when that begins.
  double write_waiting(Group& group, double time);
  /// Before something comes at `time`: what waits has been written if the group was idle long enough.
  void settle(Group& group, double time);

  const double byte_;               // cycles that a group takes for one,
  const double least_, elsewhere_;  // bytes of that for anything, and more for a part of a line of another stretch,
  const double write_, turn_;       // cycles for a line written, for turning to a batch and back,
  const double patience_;           // and for which lines wait in an idle group that has read
  const uint32_t batch_;            // lines
  std::vector<uint16_t> shuffled_;  // groups, each as often as any
  std::vector<Group> groups_;
  uint64_t moved_ = 0;
};

}  // namespace tinygpu
