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
constexpr int kReaderBits = 16;

/// Neighbouring lines lie in different slices and channels, and so do those a power of two apart.
uint64_t spread(uint64_t line) { return line ^ line >> 5 ^ line >> 11 ^ line >> 17; }
/// Rows of a matrix lie a power of two apart too, thousands of them: here any two lines may meet, but no pattern does.
size_t reader_of(uint32_t line) { return size_t(line * 0x9e3779b9u >> (32 - kReaderBits)); }

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
      slices_each_(std::max(2u, timing.l2_slices) / 2),
      channel_bytes_(timing.dram_bytes / std::max(1u, timing.dram_channels)),
      slices_(2 * slices_each_),
      atomics_(slices_each_),
      channels_(std::max(1u, timing.dram_channels)) {
  for (auto& readers : readers_) readers.resize(size_t(1) << kReaderBits);
}

size_t ChipMemory::slice_of(uint32_t half, uint64_t line) const {
  return half * slices_each_ + uint32_t(spread(line)) % slices_each_;
}

/// Two slices have a unit between them, and so have four lines that lie side by side (inferred: on an H200 sixteen
/// lines side by side, each of an SM of its own, take four times as long as one; 32 of them 10 times as many requests
/// at once as one).
size_t ChipMemory::atomic_unit_of(uint64_t line) const {
  return uint32_t(spread(line >> 2)) % uint32_t(atomics_.size());
}

size_t ChipMemory::channel_of(uint64_t line) const { return uint32_t(spread(line >> 2)) % uint32_t(channels_.size()); }

double ChipMemory::pass_slice(double time, uint32_t half, const LineUse& use, double moved, double bytes,
                              double slice_bytes) {
  const double slice = slices_[slice_of(half, use.line)].take(time, moved / slice_bytes);
  return std::max(slice, halves_[half].take(time, moved / (bytes / 2)));
}

bool ChipMemory::read_by_others(double time, uint32_t half, uint32_t sm, uint32_t line) {
  Reader& last = readers_[half][reader_of(line)];
  const bool others = last.line == line && last.sm != sm && std::abs(time - last.time) < kTogether;
  last = {line, sm, time};
  return others;
}

double ChipMemory::fetch(double time, const LineUse& use) {
  const double moved = std::max(kBurst, kSector * use.sectors);
  device_bytes_ += uint64_t(moved);
  return channels_[channel_of(use.line)].take(time, moved / channel_bytes_);
}

double ChipMemory::write_back(double time) {
  const double cycles = double(L2Cache::kLine) * timing_.dram_write / channel_bytes_;
  double last = time;
  for (uint64_t line; l2_.next_written_back(line);) {
    device_bytes_ += L2Cache::kLine;
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
    l2_sectors_ += use.sectors;
    double start = pass_slice(at, half, use, kSector * use.sectors, shared ? timing_.l2_shared_bytes : timing_.l2_bytes,
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
    // A whole line is what the rate was measured with.
    const double moved = timing_.l2_write_line + (4 * kSector - timing_.l2_write_line) / 4 * use.sectors;
    double start = pass_slice(at, half_of(sm), use, moved, timing_.l2_write_bytes, timing_.slice_bytes);
    l2_.write(use.line);
    // What it drives out leaves first.
    start = write_back(start);
    end = std::max(end, start);
  }
  reply.delay = waited(end, time, lines);
  return reply;
}

MemoryReply ChipMemory::update(uint64_t time, uint32_t, std::span<const LineUse> lines, bool floating) {
  MemoryReply reply;
  const double word = floating ? timing_.atomic_float_word : timing_.atomic_word;
  double end = double(time);
  for (const LineUse& use : lines) {
    // There is one place where a word is changed, whoever asks.
    const uint32_t half = uint32_t(spread(use.line) >> 3 & 1);
    const double at = double(time + use.at);
    double start = pass_slice(at, half, use, kSector * use.sectors, timing_.l2_write_bytes, timing_.slice_bytes);
    const double cycles = timing_.atomic_line + timing_.atomic_sector * use.sectors + word * use.repeated;
    start = std::max(start, atomics_[atomic_unit_of(use.line)].take(start, cycles));
    if (!l2_.read(use.line)) {
      ++reply.missed;
      start = fetch(start, use);
    }
    l2_.write(use.line);
    write_back(start);
    end = std::max(end, start + word * use.repeated);
  }
  reply.delay = waited(end, time, lines);
  return reply;
}

}  // namespace tinygpu
