#include "common/tinygpu/machine/memory/chip_memory.h"

#include <cmath>
#include <cstdlib>

#include "common/tinygpu/machine/memory/mixed.h"
#include "common/tinygpu/machine/memory/sector.h"

namespace tinygpu {
namespace {

constexpr double kSector = kSectorBytes;
// The tables are larger than what is near the host's processor, and who asked for a line last can lie anywhere in them:
// the host hears so many lines ahead what it will need.
constexpr size_t kAhead = 16;

/// Neighbouring lines lie in different atomic units, and so do those a power of two apart.
uint64_t spread(uint64_t line) { return line ^ line >> 5 ^ line >> 11 ^ line >> 17; }

/// From 0 to 1, the same for the same number.
double chance_of(uint64_t n) { return double(mixed(n) >> 32) * 0x1p-32; }

/// Of GPCs or CPCs, those that have SMs: a small chip does not fill all.
size_t count_of(const std::vector<ChipPlace>& places, uint32_t ChipPlace::*part) {
  uint32_t last = 0;
  for (const ChipPlace& p : places) last = std::max(last, p.*part);
  return last + 1;
}

// Each server takes a request at the time at which it left its SM, though it waits for another one first: a server that
// has stood empty meanwhile cannot be given back what it missed, and where all queues are long it would have been busy.

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
      places_(chip_places(sms, timing.gpcs, timing.cpcs_of_gpc)),
      slices_each_(std::max(2u, timing.l2_slices) / 2),
      device_(timing),
      in_(count_of(places_, &ChipPlace::cpc), 2 * slices_each_, timing.l2_write_bytes, timing.cpc_write_bytes,
          timing.slice_write_bytes),
      out_(count_of(places_, &ChipPlace::gpc), 2 * slices_each_, timing.l2_bytes, timing.gpc_bytes, timing.slice_bytes),
      request_(in_.busy(timing.l2_request, timing.l2_request)),
      gpcs_shared_(out_.parts.size()),
      atomics_(slices_each_),
      asked_(gpcs_shared_.size() << kAskedBits) {
  for (size_t sectors = 0; sectors <= kMostSectors; ++sectors) {
    const double bytes = kSector * double(sectors), least = timing.l2_read_least;
    // A slice gives so much at least.
    answer_[sectors] = out_.busy(bytes, std::ceil(bytes / least) * least);
    const double written = std::max(timing.l2_write_least, bytes);
    write_[sectors] = in_.busy(written, written);
    update_[sectors] = in_.busy(bytes, bytes);
    shared_[sectors] = bytes / timing.gpc_shared_bytes;
  }
}

/// Two slices have a unit between them, and so have four lines that lie side by side (inferred: on an H200 sixteen
/// lines side by side, each of an SM of its own, take four times as long as one; 32 of them 10 times as many requests
/// at once as one).
size_t ChipMemory::atomic_unit_of(uint64_t line) const {
  return uint32_t(spread(line >> 2)) % uint32_t(atomics_.size());
}

/// The other half's lines are as far as in L2. One stretch of 512 bytes in so many is late, by anything up to a most
/// (an H200: of all lines read one by one a tenth takes more than 840 cycles, a twentieth 1,020, a hundredth 1,220;
/// twice the same ones; lines side by side are late together).
double ChipMemory::late(uint32_t half, uint64_t line) const {
  const double far = half == L2Cache::home(line) ? 0 : timing_.l2_far;
  const double chance = chance_of(~(line >> 2));
  return far + (chance < timing_.dram_late_share ? chance / timing_.dram_late_share * timing_.dram_late : 0);
}

double ChipMemory::write_back(double time) {
  double last = time;
  for (uint64_t line; l2_.next_written_back(line);) last = std::max(last, device_.write(time, line));
  return last;
}

bool ChipMemory::shares(const Asked& asked, const LineUse& use, uint32_t sm, double at, bool loads) const {
  if (asked.multicast) return false;
  const bool in_time = loads ? at < asked.from_memory + double(timing_.least_latency)
                             : std::abs(at - asked.at) < timing_.gpc_shares_within;
  if (!in_time) return false;
  if (!loads && use.sectors >= kSectorsOfALine) return true;
  return chance_of(uint64_t(use.line) << 16 ^ sm ^ uint64_t(at) << 40) <
         (loads ? timing_.gpc_share_of_loads : timing_.gpc_share_of_parts);
}

MemoryReply ChipMemory::read(uint64_t time, uint32_t sm, std::span<const LineUse> lines, bool loads, BulkCopy copy) {
  MemoryReply reply;
  double end = double(time), last = end, from_memory = end;
  const bool multicast = copy.receivers > 1;
  // Each half of the chip keeps its own copy of what its SMs read.
  const ChipPlace& place = places_[sm];
  const auto ahead = [&](const LineUse& use) {
    __builtin_prefetch(&asked_by(place.gpc, use.line), 1);
    l2_.prefetch(use.line);
  };
  for (const LineUse& use : lines.first(std::min(kAhead, lines.size()))) ahead(use);
  for (size_t i = 0; i < lines.size(); ++i) {
    const LineUse& use = lines[i];
    if (i + kAhead < lines.size()) ahead(lines[i + kAhead]);
    const double at = double(time + use.at);
    Asked& asked = asked_by(place.gpc, use.line);
    if (!multicast && asked.line == use.line && asked.sm != sm && shares(asked, use, sm, at, loads)) {
      // It comes with what another SM of the GPC has asked for.
      end = std::max({end, asked.served, gpcs_shared_[place.gpc].take(at, shared_[use.sectors])});
      last = std::max({last, end, asked.there});
      from_memory = std::max(from_memory, asked.from_memory);
      continue;
    }
    l2_sectors_ += use.sectors;
    const size_t slice = slice_of(place.half, use.line);
    const double asks = in_.pass(at, place.half, place.cpc, slice, request_);
    double start = std::max(asks, out_.pass(at, place.half, place.gpc, slice, answer_[use.sectors]));
    const L2Cache::Found found = l2_.read(use.line, place.half);
    if (found == L2Cache::Found::in_other_half) start += timing_.l2_far;
    // A copy to several SMs takes up as much of its GPC's way as if they shared it.
    if (multicast) start = std::max(start, gpcs_shared_[place.gpc].take(at, copy.receivers * shared_[use.sectors]));
    // What device memory has yet to bring is not there for who asks again: often a neighbour, for its part of the line.
    const bool on_its_way = asked.line == use.line && asked.from_memory > start;
    const double there = on_its_way ? std::max(start, asked.there) : start;
    asked = {use.line, sm, at, start, there, on_its_way ? asked.from_memory : start, multicast};
    from_memory = std::max(from_memory, asked.from_memory);
    if (found == L2Cache::Found::nowhere) {
      ++reply.missed;
      asked.served = std::max(start, device_.read(at, use.line, kSector * use.sectors, copy.number));
      asked.there = asked.served + late(place.half, use.line);
      asked.from_memory = asked.there + timing_.miss_least;
      write_back(at);
    }
    end = std::max(end, asked.served);
    last = std::max(last, asked.there);
  }
  // Who has asked device memory itself adds what that takes at least.
  if (!reply.missed) last = std::max(last, from_memory);
  reply.delay = waited(end, time, lines);
  reply.late = waited(last, time, lines) - reply.delay;
  return reply;
}

MemoryReply ChipMemory::write(uint64_t time, uint32_t sm, std::span<const LineUse> lines) {
  MemoryReply reply;
  double end = double(time);
  for (const LineUse& use : lines.first(std::min(kAhead, lines.size()))) l2_.prefetch(use.line);
  for (size_t i = 0; i < lines.size(); ++i) {
    const LineUse& use = lines[i];
    if (i + kAhead < lines.size()) l2_.prefetch(lines[i + kAhead].line);
    const double at = double(time + use.at);
    const uint32_t half = places_[sm].half;
    double start = in_.pass(at, half, places_[sm].cpc, slice_of(half, use.line), write_[use.sectors]);
    l2_.write(use.line);
    l2_.read(use.line, half);  // who writes finds it near (probe_00_global_memory reads what the same SM wrote)
    // What it drives out leaves first.
    start = std::max(start, write_back(at));
    end = std::max(end, start);
  }
  reply.delay = waited(end, time, lines);
  return reply;
}

MemoryReply ChipMemory::update(uint64_t time, uint32_t sm, std::span<const LineUse> lines, bool floating) {
  MemoryReply reply;
  const double word = floating ? timing_.atomic_float_word : timing_.atomic_word;
  double end = double(time);
  for (const LineUse& use : lines) {
    // All SMs change a word at one place.
    const uint32_t half = uint32_t(spread(use.line) >> 3 & 1);
    const double at = double(time + use.at);
    double start = in_.pass(at, half, places_[sm].cpc, slice_of(half, use.line), update_[use.sectors]);
    const double cycles = timing_.atomic_line + timing_.atomic_sector * use.sectors + word * use.repeated;
    start = std::max(start, atomics_[atomic_unit_of(use.line)].take(start, cycles));
    if (l2_.read(use.line, half) == L2Cache::Found::nowhere) {
      ++reply.missed;
      start = device_.read(start, use.line, kSector * use.sectors);
    }
    l2_.write(use.line);
    write_back(start);
    end = std::max(end, start + word * use.repeated);
  }
  reply.delay = waited(end, time, lines);
  return reply;
}

}  // namespace tinygpu
