#include "common/tinygpu/machine/memory/chip_memory.h"

#include <cmath>
#include <cstdlib>

#include "common/tinygpu/machine/memory/sector.h"

namespace tinygpu {
namespace {

constexpr double kSector = kSectorBytes;
// Device memory gives no less at a time.
constexpr double kBurst = 64;
// SMs that ask for a line within so many cycles share it (inferred: the probe's SMs walk side by side).
constexpr double kTogether = 2000;
constexpr size_t kReaders = 1 << 14;

/// Neighbouring lines lie in different slices and channels, and so do those a power of two apart.
uint64_t spread(uint64_t line) { return line ^ line >> 5 ^ line >> 11 ^ line >> 17; }

/// Cycles from when the last of `lines` is asked for until `end`.
uint64_t waited(double end, uint64_t time, std::span<const LineUse> lines) {
  if (lines.empty()) return 0;
  const double late = end - double(time + lines.back().at);
  return late > 0 ? uint64_t(std::llround(late)) : 0;
}

}  // namespace

ChipMemory::ChipMemory(L2Cache& l2, const MemoryTiming& timing, uint32_t sms)
    : l2_(l2),
      timing_(timing),
      sms_(sms),
      slices_(std::max(2u, timing.l2_slices)),
      atomics_(slices_.size()),
      channels_(std::max(1u, timing.dram_channels)) {
  for (auto& readers : readers_) readers.resize(kReaders);
}

size_t ChipMemory::slice_of(uint32_t half, uint64_t line) const {
  const size_t each = slices_.size() / 2;
  return half * each + spread(line) % each;
}

size_t ChipMemory::channel_of(uint64_t line) const { return spread(line >> 2) % channels_.size(); }

double ChipMemory::pass_slice(double time, uint32_t half, const LineUse& use, double bytes, double slice_bytes) {
  const double moved = kSector * use.sectors;
  const double slice = slices_[slice_of(half, use.line)].take(time, moved / slice_bytes);
  return std::max(slice, halves_[half].take(time, moved / (bytes / 2)));
}

bool ChipMemory::read_by_others(double time, uint32_t half, uint32_t sm, uint64_t line) {
  Reader& last = readers_[half][line % kReaders];
  const bool others = last.line == line && last.sm != sm && std::abs(time - last.time) < kTogether;
  last = {line, time, sm};
  return others;
}

double ChipMemory::fetch(double time, const LineUse& use) {
  const double each = timing_.dram_bytes / double(channels_.size());
  return channels_[channel_of(use.line)].take(time, std::max(kBurst, kSector * use.sectors) / each);
}

double ChipMemory::write_back(double time) {
  const double each = timing_.dram_bytes / double(channels_.size());
  double last = time;
  for (uint64_t line; l2_.next_written_back(line);) {
    const double cycles = double(L2Cache::kLine) * timing_.dram_write / each;
    last = std::max(last, channels_[channel_of(line)].take(time, cycles));
  }
  return last;
}

MemoryReply ChipMemory::read(uint64_t time, uint32_t sm, std::span<const LineUse> lines) {
  MemoryReply reply;
  double end = double(time);
  // Each half of the chip keeps its own copy of what its SMs read.
  const uint32_t half = half_of(sm);
  for (const LineUse& use : lines) {
    const double at = double(time + use.at);
    const bool shared = read_by_others(at, half, sm, use.line);
    double start = pass_slice(at, half, use, shared ? timing_.l2_shared_bytes : timing_.l2_bytes,
                              shared ? timing_.line_bytes : timing_.slice_bytes);
    if (!l2_.read(use.line)) {
      ++reply.missed;
      start = fetch(start, use);
      write_back(start);
    }
    end = std::max(end, start);
  }
  reply.delay = waited(end, time, lines);
  return reply;
}

MemoryReply ChipMemory::write(uint64_t time, uint32_t sm, std::span<const LineUse> lines) {
  MemoryReply reply;
  double end = double(time);
  for (const LineUse& use : lines) {
    const double at = double(time + use.at);
    double start = pass_slice(at, half_of(sm), use, timing_.l2_write_bytes, timing_.slice_bytes);
    l2_.write(use.line);
    // What it drives out leaves first.
    start = write_back(start);
    end = std::max(end, start);
  }
  reply.delay = waited(end, time, lines);
  return reply;
}

MemoryReply ChipMemory::update(uint64_t time, uint32_t, std::span<const LineUse> lines) {
  MemoryReply reply;
  double end = double(time);
  for (const LineUse& use : lines) {
    // There is one place where a word is changed, whoever asks.
    const uint32_t half = uint32_t(spread(use.line) >> 3 & 1);
    const double at = double(time + use.at);
    double start = pass_slice(at, half, use, timing_.l2_write_bytes, timing_.slice_bytes);
    const double cycles =
        timing_.atomic_line + timing_.atomic_sector * use.sectors + timing_.atomic_word * use.repeated;
    start = std::max(start, atomics_[slice_of(half, use.line)].take(start, cycles));
    if (!l2_.read(use.line)) {
      ++reply.missed;
      start = fetch(start, use);
    }
    l2_.write(use.line);
    write_back(start);
    end = std::max(end, start + timing_.atomic_word * use.repeated);
  }
  reply.delay = waited(end, time, lines);
  return reply;
}

}  // namespace tinygpu
