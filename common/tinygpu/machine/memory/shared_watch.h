// What ordinary accesses to a CTA's shared memory must not meet: copies in flight, and, for a copy or an MMA that
// reads it, ordinary stores that no fence.proxy.async has handed to the async proxy (PTX ISA 8.6, 9.7.13.4). Everything
// found here is wrong in every schedule; not everything that is wrong is found.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/tinygpu/machine/memory/access.h"

namespace tinygpu {

class SharedWatch final : public Extension {
 public:
  /// The watch of a CTA, made on first use; find(): null if nothing has happened yet that it keeps.
  static SharedWatch& of(Cta& cta);
  static SharedWatch* find(Cta& cta) { return cta.extensions.find<SharedWatch>(); }

  /// The watch for a store, made on first use. Stores are followed if the program has copies or MMAs that read shared
  /// memory; programs without, the most, do not pay for it.
  static SharedWatch& for_store(Cta& cta) {
    SharedWatch* watch = find(cta);
    return watch ? *watch : make_for_store(cta);
  }

  /// Lanes `mask` of a warp access `bytes` each at `offset`, all within [low, high). Dense: 32 lanes, one behind the
  /// other.
  struct Access {
    const uint32_t* offset;
    uint32_t mask, bytes, low, high;
    bool dense;
  };

  /// No ordinary access need be told of: nothing is in flight, and stores are not followed.
  bool idle() const { return flights_.empty() && marks_.empty(); }

  // ---- Copies in flight
  /// A copy has been issued that will write, or read, [offset, offset + bytes). Returns a number for landed().
  uint32_t issued(uint32_t offset, uint32_t bytes, bool writes, const Origin& who);
  void landed(uint32_t number);
  /// An ordinary access may meet a copy in flight; check() reports the first that does.
  bool may_meet(const Access& a) const { return !flights_.empty() && a.low < high_ && a.high > low_; }
  void check(Warp& w, const Access& a, bool load, const char* verb) const;

  // ---- Proxies
  // Who is told of what is known per warp. Moments are numbered by the fences and acquisitions of this CTA's warps; a
  // store is told to the async proxy by a later fence of its own warp, or of one that has acquired something since.
  /// Warp `warp` has stored; -1: a warp of another CTA, of whose fences nothing is known.
  void stored(int warp, const Access& a) {
    if (marks_.empty()) return;
    const uint32_t mark = warp < 0 ? 0 : now_ << kWarpBits | uint32_t(warp);
    if (warp >= 0) last_store_[size_t(warp)] = now_;
    if (a.dense) return set(a.low, a.high - a.low, mark);
    for (uint32_t m = a.mask; m; m &= m - 1) {
      const uint32_t offset = a.offset[__builtin_ctz(m)];
      marks_[offset / kGrain] = mark;
      if (a.bytes > kGrain) marks_[offset / kGrain + 1] = mark;  // an access is aligned, and has up to 32 bytes
    }
  }
  /// The async proxy has written there: what was stored before is gone.
  void forget(uint32_t offset, uint32_t bytes) {
    if (bytes) set(offset, bytes, 0);
  }
  /// fence.proxy.async of shared memory; -1: by a warp of another CTA, which counts as if it covered everything.
  void fenced(int warp);
  /// The warp has synchronised with somebody (a wait, a strong load, an atomic); -1: all of the CTA (a barrier's
  /// round).
  void acquired(int warp) {
    if (warp < 0)
      all_acquired_ = tick();
    else
      acquired_[size_t(warp)] = tick();
  }
  static void note_acquired(Warp& w) {
    if (SharedWatch* s = find(w.cta())) s->acquired(int(w.index()));
  }
  /// Some store may not have been handed over; untold(): one in the 16 bytes at `offset` has not.
  bool any_untold() const;
  bool untold(uint32_t offset) const {
    const uint32_t mark = marks_[offset / kGrain];
    return mark && !told(mark >> kWarpBits, mark & (kWarps - 1));
  }
  /// Reports that `reader` ("this copy") finds the 16 bytes at `offset` untold.
  static void report_untold(const Origin& who, const char* reader, uint32_t offset,
                            Severity severity = Severity::error);

 private:
  static constexpr uint32_t kGrain = 16;  // what bulk copies move
  static constexpr uint32_t kWarpBits = 6, kWarps = 1u << kWarpBits;
  struct Flight {
    uint32_t number, low, high;
    bool writes;
    Origin who;
  };
  static SharedWatch& make_for_store(Cta& cta);
  void set(uint32_t offset, uint32_t bytes, uint32_t mark) {
    std::fill(marks_.begin() + offset / kGrain, marks_.begin() + (offset + bytes - 1) / kGrain + 1, mark);
  }
  uint32_t tick();
  bool told(uint32_t moment, uint32_t warp) const { return fenced_[warp] > moment || covered_ > moment; }
  void bound();

  std::deque<Flight> flights_;     // by number; they mostly land in that order
  uint32_t low_ = ~0u, high_ = 0;  // around all flights
  uint32_t next_ = 0;

  std::vector<uint32_t>
      marks_;  // per 16 bytes: moment and warp of the last store, 0 for none; empty: stores are not followed
  std::array<uint32_t, kWarps> last_store_{}, fenced_{}, acquired_{};
  uint32_t now_ = 1;
  uint32_t all_acquired_ = 0;
  uint32_t covered_ = 0;  // stores of all warps before this moment have been told by somebody who knew of them
};

}  // namespace tinygpu
