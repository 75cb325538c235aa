#include "common/tinygpu/machine/memory/device_memory.h"

#include <algorithm>
#include <utility>

#include "common/tinygpu/machine/memory/l2.h"
#include "common/tinygpu/machine/memory/mixed.h"

namespace tinygpu {
namespace {

constexpr double kLine = L2Cache::kLine;
// Device memory gives no less at a time.
constexpr double kBurst = 64;
constexpr size_t kTurns = 16;
// Of its rate, what reads get at most: 2,313 of 2,398 bytes a cycle on an H200, 3,690 of 4,071 on a B200 (published).
constexpr double kReach = 0.95;

}  // namespace

DeviceMemory::DeviceMemory(const MemoryTiming& timing)
    : byte_(std::max(1u, timing.dram_channels) / (kReach * timing.dram_bytes)),
      least_(timing.dram_least),
      elsewhere_(timing.dram_elsewhere),
      write_(kLine * byte_ * timing.dram_write),
      turn_(timing.dram_turn),
      patience_(timing.dram_patience),
      batch_(std::max(1u, timing.dram_write_batch)),
      groups_(std::max(1u, timing.dram_channels)) {
  for (size_t i = 0; i < kTurns * groups_.size(); ++i) shuffled_.push_back(uint16_t(i % groups_.size()));
  for (size_t i = shuffled_.size() - 1; i > 0; --i) std::swap(shuffled_[i], shuffled_[mixed(i) % (i + 1)]);
}

/// Which line lies where is not published. Here a group has sixteen of each so many pieces that all groups have
/// sixteen, in an order that looks like chance: groups are unevenly busy for a while, never for long. Lines that are
/// read lie together in stretches of 512 bytes; those that are written need not, as copies in any order cost the same
/// (an H200).
DeviceMemory::Group& DeviceMemory::group_of(uint64_t piece) {
  const uint64_t row = piece / shuffled_.size();
  return groups_[(shuffled_[piece % shuffled_.size()] + place_of(row, uint32_t(groups_.size()))) % groups_.size()];
}

double DeviceMemory::write_waiting(Group& group, double time) {
  const double turns = std::exchange(group.reads, false) ? turn_ : 0;
  return group.take(time, std::exchange(group.waiting, 0) * write_ + turns);
}

void DeviceMemory::settle(Group& group, double time) {
  if (!group.waiting) return;
  const double idle = std::max(group.free, group.oldest + (group.reads ? patience_ : 0));
  if (idle < time) write_waiting(group, idle);
}

double DeviceMemory::read(double time, uint64_t line, double bytes, uint64_t copy) {
  moved_ += uint64_t(std::max(kBurst, bytes));
  const uint64_t stretch = line >> 2;
  Group& group = group_of(stretch);
  settle(group, time);
  group.reads = true;
  const bool follows = std::exchange(group.stretch, stretch) == stretch;
  const double least = follows ? least_ : least_ + elsewhere_;
  const double begin = group.take(time, std::min(kLine, std::max(bytes, least)) * byte_);
  if (std::exchange(group.copy, copy) != copy) group.begun = begin;
  return copy ? group.begun : begin;
}

double DeviceMemory::write(double time, uint64_t line) {
  moved_ += L2Cache::kLine;
  Group& group = group_of(line);
  settle(group, time);
  if (!group.waiting) group.oldest = time;
  return ++group.waiting < batch_ ? time : write_waiting(group, time);
}

}  // namespace tinygpu
