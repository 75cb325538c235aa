// What the SMs of a partition ask of the chip's memory. While partitions run side by side no answer comes before the
// window is over: a load's scoreboard says so meanwhile (Scoreboard::kUnknown). Then Launch has the requests of all
// partitions answered in order of time, partition and number. A partition that runs alone, or whose turn in the
// exchange it is, is answered at once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/tinygpu/machine/memory/chip_memory.h"
#include "common/tinygpu/machine/memory/l1.h"
#include "common/tinygpu/machine/memory/sector.h"
#include "common/tinygpu/machine/memory/stores_on_their_way.h"
#include "common/tinygpu/machine/origin.h"
#include "common/tinygpu/timing/timing.h"

namespace tinygpu {

class SmPartition;
class Warp;
struct Op;
struct Sm;

class MemoryRequests {
 public:
  /// `load`: by a warp's loads and cp.async; `read`: by anything else.
  enum class Kind : uint8_t { load, read, write, update, float_update };
  using Then = std::function<void(const MemoryReply&)>;
  /// `grid`: see L1Cache::Arrival.
  MemoryRequests(const SmPartition& partition, ChipMemory& chip, L2Cache& l2, const Timing& timing, uint32_t grid)
      : partition_(partition), chip_(chip), l2_(l2), timing_(timing), grid_(grid) {}

  // ---- Who asks
  /// Names a line of the request that is made next.
  void add_line(const LineUse& use) { lines_.push_back(use); }
  /// The lines of [address, address + bytes); `at`: see LineUse.
  void add_lines(uint64_t address, uint64_t bytes, uint16_t at = 0) {
    const auto [first, last] = l2_.lines_of(address, bytes);
    if (first == last) return;
    if (last - first > 1 || (lines_.size() > first_ && lines_.back().line == first))
      return add_lines(first, last, address, bytes, at);
    // Mostly a row of a box is a part of one line, or all of it.
    const uint64_t sector = address / kSectorBytes, end = (address + bytes - 1) / kSectorBytes + 1;
    lines_.push_back({uint32_t(first), uint8_t(std::min(end, behind_line(sector)) - sector), 0, at});
  }
  /// Observers hear in this name how many lines of the next request device memory had to give.
  void tell_missed(const Origin& who) { told_.push_back(who); }
  /// Spreads the lines of the next request evenly over `cycles`.
  void spread_over(double cycles);
  /// What the next request's lines wait for in L1, if they are part of it.
  L1Cache::Arrival next_arrival() const { return L1Cache::Arrival::asked(uint32_t(requests_.size()), grid_); }
  /// A load of a warp, on its way at `time`: values are there at `ready` if L2 has them and nothing is in the way, and
  /// not before `follows`. `op` releases its scoreboard then. `cached`: its lines come into L1.
  void load(Warp& w, const Op& op, uint64_t time, uint64_t ready, L1Cache::Arrival follows, bool cached);
  /// A store of a warp: its SM waits if stores lag behind too far.
  void store(Sm& sm, uint64_t time, Kind kind);
  /// Anything else; `then`, if there is one, hears of the answer. `ready`: of what a bulk copy reads, when that would
  /// be in shared memory if L2 had it and nothing was in the way; `receivers`: how many CTAs get it.
  void ask(Kind kind, Sm& sm, uint64_t time, Then then, uint64_t ready = 0, uint32_t receivers = 1);
  /// The answer now, for who runs alone or in its turn.
  MemoryReply answer_now(Kind kind, Sm& sm, uint64_t time);
  /// What all SMs of the partition have written.
  const StoresOnTheirWay& stores() const { return stores_; }

  // ---- Who answers
  void at_once(bool on) { at_once_ = on; }
  size_t size() const { return requests_.size(); }
  /// A bulk copy is served in parts, between those of other SMs.
  size_t parts(size_t request) const;
  uint64_t time(size_t request, size_t part) const;
  /// In order of parts.
  void serve(size_t request, size_t part);
  /// All have been served: who asked hears of it.
  void finish();

 private:
  static constexpr uint8_t kNoBoard = 0xff;
  struct Request {
    uint64_t time, ready = 0;
    Sm* sm;
    Warp* warp = nullptr;  // of a load
    bool holds = false;    // of a store: its SM waits if it lags behind
    L1Cache::Arrival follows;
    uint32_t first, behind;        // lines
    int32_t then = -1, told = -1;  // in their vectors
    Kind kind;
    uint8_t board = kNoBoard;
    bool cached = false;
    ChipMemory::BulkCopy copy{0, 1};
    uint64_t end = 0, last = 0;  // when what was served of a bulk copy has left L2, and is there
    MemoryReply reply;
  };
  /// Sectors by the address, whose line begins at a multiple of 128 as the memory's first does.
  static uint64_t behind_line(uint64_t sector) { return (sector / kSectorsOfALine + 1) * kSectorsOfALine; }
  void add_lines(uint64_t first, uint64_t last, uint64_t address, uint64_t bytes, uint16_t at);
  Request& make(Kind kind, Sm& sm, uint64_t time);
  /// What a load's lines take at least where L2 does not have them.
  uint64_t miss_of(const Request& r) const { return r.reply.missed ? timing_.memory.miss_least : 0; }
  std::span<const LineUse> lines_of(const Request& r) const { return {lines_.data() + r.first, r.behind - r.first}; }
  void serve_part(Request& r, std::span<const LineUse> part, std::span<const LineUse> all);
  void finish(Request& request, uint32_t number);
  void forget();

  const SmPartition& partition_;
  ChipMemory& chip_;
  L2Cache& l2_;
  const Timing& timing_;
  const uint32_t grid_;
  StoresOnTheirWay stores_;
  bool at_once_ = false;
  uint32_t first_ = 0;  // line of the next request
  std::vector<LineUse> lines_;
  std::vector<Request> requests_;
  std::vector<Then> then_;
  std::vector<Origin> told_;
  size_t told_of_ = 0;  // of told_, requests made
};

}  // namespace tinygpu
