// What all SMs share on the way to memory: the slices of L2, its two halves, device memory. Each is a
// server with a rate, so who comes when it is busy waits. Requests, with what is written, and what is read have ways of
// their own. It is asked by one host thread, in the order of simulated
// time (Launch's exchange between windows, or a partition that runs alone): what it answers depends on nothing else.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/tinygpu/machine/memory/device_memory.h"
#include "common/tinygpu/machine/memory/l2.h"
#include "common/tinygpu/machine/memory/mixed.h"
#include "common/tinygpu/machine/memory/sector.h"
#include "common/tinygpu/machine/memory/server.h"
#include "common/tinygpu/timing/chip_places.h"
#include "common/tinygpu/timing/memory.h"

namespace tinygpu {

/// What a request wants of one line of 128 bytes.
struct LineUse {
  uint32_t line;     // L2Cache::lines_of
  uint8_t sectors;   // of 32 bytes, 1 to 4; one more for a store that writes parts of them: which bytes
  uint8_t repeated;  // atomics: lanes that name a word which an earlier lane of the instruction names
  uint16_t at;       // cycles from the request's time until it asks for this line
};

/// How a request fared.
struct MemoryReply {
  uint64_t delay = 0;   // cycles that its last bytes come later than they would on an idle chip
  uint64_t late = 0;    // and more, for what its lines take in device memory beyond the least
  uint32_t missed = 0;  // lines that device memory gave
};

class ChipMemory {
 public:
  /// For a chip of so many SMs; who asks names one of them.
  ChipMemory(L2Cache& l2, const MemoryTiming& timing, uint32_t sms);
  /// Lines that SM `sm` (%smid) asks for, in the order of LineUse::at, from `time` on.
  /// `loads`: of a warp's loads and cp.async, not of bulk copies.
  MemoryReply read(uint64_t time, uint32_t sm, std::span<const LineUse> lines, bool loads = false) {
    return read(time, sm, lines, loads, loads ? BulkCopy{} : BulkCopy{new_copy(), 1});
  }
  /// A bulk copy, whose lines may come by several requests: its number, and how many CTAs get what it reads.
  struct BulkCopy {
    uint64_t number = 0;
    uint32_t receivers = 0;
  };
  MemoryReply read(uint64_t time, uint32_t sm, std::span<const LineUse> lines, BulkCopy copy) {
    return read(time, sm, lines, false, copy);
  }
  /// A number for a bulk copy.
  uint64_t new_copy() { return ++copies_; }
  MemoryReply write(uint64_t time, uint32_t sm, std::span<const LineUse> lines);
  /// Atomics and reductions: carried out in the line's slice. `floating`: sums of f16, f32 or f64.
  MemoryReply update(uint64_t time, uint32_t sm, std::span<const LineUse> lines, bool floating = false);
  /// Bytes that L2 has read out to SMs, and that device memory has given and taken, since the machine was made.
  uint64_t l2_read() const { return kSectorBytes * l2_sectors_; }
  uint64_t device_bytes() const { return device_.moved(); }
  /// Where its SMs lie, by %smid.
  const std::vector<ChipPlace>& places() const { return places_; }

 private:
  /// Which line lies where is not published. On an H200 slices get shares of a copy that lie up to 1.7 % from their
  /// mean (ncu), which is what chance would do. So a slice is behind the others at times, and a chip that is nearly
  /// full waits for it.
  size_t slice_of(uint32_t half, uint64_t line) const { return half * slices_each_ + place_of(line, slices_each_); }
  size_t atomic_unit_of(uint64_t line) const;
  /// What a piece keeps the servers of a way busy for, in cycles: a half's; a CPC's or GPC's alone, and in turns with
  /// others; a slice's.
  struct Busy {
    double half, part, in_turns, slice;
  };
  // While L2 is behind, it serves GPCs, or the CPCs that write, in turns, so that each has its share and its SMs share
  // that (an H200: all SMs writing, six of a CPC get 18.0 bytes a cycle each and four 23.6; reading, the 18 SMs of a
  // GPC get 34.2 and the 16 of another one 37.6).

  /// One of the two ways, of requests or of what is read: that of each half, of each CPC or GPC, of each slice, and
  /// their rates in bytes a cycle.
  struct Way {
    Way(size_t parts, size_t slices, double all_rate, double part_rate, double slice_rate)
        : parts(parts),
          slices(slices),
          half_rate(all_rate / 2),
          part_rate(part_rate),
          part_share(std::min(part_rate, all_rate / double(parts))),
          slice_rate(slice_rate) {}
    Server halves[2];
    std::vector<Server> parts, slices;
    double half_rate, part_rate, part_share, slice_rate;
    /// Of what takes as long as `bytes`, and as `of_slice` in its slice.
    Busy busy(double bytes, double of_slice) const {
      return {bytes / half_rate, bytes / part_rate, bytes / part_share, of_slice / slice_rate};
    }
    /// When it has its turn.
    double pass(double time, uint32_t half, size_t part, size_t slice, const Busy& busy) {
      Server& all = halves[half];
      const double own = parts[part].take(time, all.free > time + Server::kDisorder ? busy.in_turns : busy.part);
      const double at_slice = slices[slice].take(time, busy.slice);
      return std::max({own, at_slice, all.take(time, busy.half)});
    }
  };
  /// So many sectors a use of a line has at most (LineUse::sectors).
  static constexpr size_t kMostSectors = kSectorsOfALine + 1;
  using BySectors = std::array<Busy, kMostSectors + 1>;
  /// A line that an SM of a GPC has asked for: others of the GPC that ask for it a short time before or behind share
  /// the answer. GPCs do not (an H200, notes/evidence.md: 8 SMs that read the same, each of another GPC, get no more
  /// than 8 that read their own).
  struct alignas(64) Asked {
    uint32_t line = ~0u, sm = 0;
    double at = 0;           // when the SM asked
    double served = 0;       // when L2 begins with it
    double there = 0;        // and when it is there, if it is late,
    double from_memory = 0;  // with what device memory takes at least
    bool multicast = false;  // by a copy to several CTAs, whose answer nobody else shares
  };
  static constexpr int kAskedBits = 13;
  Asked& asked_by(uint32_t gpc, uint32_t line) {
    return asked_[size_t(gpc) << kAskedBits | size_t(line * 0x9e3779b9u >> (32 - kAskedBits))];
  }
  /// Whether an SM that asks at `at` has the answer of `asked`, another SM's for the same line. Of loads most have it
  /// until it arrives; of bulk copies those that ask within a short time, all for whole lines, fewer for parts of them.
  bool shares(const Asked& asked, const LineUse& use, uint32_t sm, double at, bool loads) const;
  MemoryReply read(uint64_t time, uint32_t sm, std::span<const LineUse> lines, bool loads, BulkCopy copy);
  /// What device memory takes for a line beyond the least, for an SM of `half`.
  double late(uint32_t half, uint64_t line) const;
  /// What has been driven out leaves from `time` on; when the last of it begins to.
  double write_back(double time);

  L2Cache& l2_;
  const MemoryTiming timing_;
  const std::vector<ChipPlace> places_;  // by SM
  const uint32_t slices_each_;           // of a half
  uint64_t l2_sectors_ = 0;
  uint64_t copies_ = 0;  // so many requests of bulk copies have come
  DeviceMemory device_;
  Way in_, out_;                                 // of CPCs, of GPCs
  Busy request_;                                 // of a line that is asked for, on the way in
  BySectors answer_, write_, update_;            // on the way out; on the way in
  std::array<double, kMostSectors + 1> shared_;  // cycles for what SMs of a GPC share
  std::vector<Server> gpcs_shared_, atomics_;
  std::vector<Asked> asked_;  // of each GPC, by a hash of the line
};

}  // namespace tinygpu
