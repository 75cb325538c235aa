#include "common/tinygpu/machine/sync/mbarrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/machine/chip/mbarrier_acts.h"
#include "common/tinygpu/machine/memory/access.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu {

namespace {

constexpr uint32_t kCounts = 1u << 20;  // counts live in 20 bits, stored negated
constexpr uint32_t kCountMask = kCounts - 1;
constexpr int64_t kTxLimit = kCounts - 1;  // PTX ISA 9.7.13.15.2: the range of the tx-count
constexpr uint64_t kTxMask = (1u << 21) - 1;

std::string name_of(const Cta& owner, uint32_t offset) {
  return fmt::format("{} of CTA rank {}", mbarrier_name(owner, offset), owner.rank);
}

std::string state_of(const MBarrier& b) {
  return fmt::format("phase {}, {} of {} arrivals pending, tx-count {}", b.phase, b.pending, b.expected, b.tx);
}

/// The phase ends when nothing is missing: the next one starts at once with `expected` arrivals.
void complete_if_done(Cta& owner, uint32_t offset, MBarrier& b, uint64_t when) {
  ++owner.cluster.partition.progress;
  if (b.pending != 0 || b.tx != 0) return;
  ++b.phase;
  b.pending = b.expected;
  b.completed_at = when;
  tell(owner, Sync::Kind::phase, offset, b.phase - 1, when, nullptr);
  owner.cluster.partition.made_progress();
  owner.wake_mbarrier_waiters(owner, offset, when);
}

}  // namespace

uint64_t MBarrier::word() const {
  return (phase & 1) << 63 | uint64_t((kCounts - pending) & kCountMask) << 43 | (uint64_t(-tx) & kTxMask) << 21 |
         uint64_t((kCounts - expected) & kCountMask) << 1;
}

MBarrier MBarrier::from_word(uint64_t word) {
  MBarrier b;
  b.phase = word >> 63;
  b.pending = (kCounts - uint32_t(word >> 43 & kCountMask)) & kCountMask;
  b.expected = (kCounts - uint32_t(word >> 1 & kCountMask)) & kCountMask;
  const int64_t field = int64_t(word >> 21 & kTxMask);
  b.tx = -(field >= int64_t(1) << 20 ? field - (int64_t(1) << 21) : field);
  return b;
}

MBarrier* MBarrierTable::find(uint32_t offset) {
  const auto it = live_.find(offset);
  return it == live_.end() ? nullptr : &it->second;
}

MBarrier& MBarrierTable::create(uint32_t offset) {
  invalidated_.erase(offset);
  low_ = std::min(low_, offset);
  high_ = std::max(high_, offset + 8);
  return live_[offset] = MBarrier{};
}

void MBarrierTable::erase(uint32_t offset) {
  live_.erase(offset);
  if (live_.empty()) low_ = ~0u, high_ = 0;
}

bool MBarrierTable::some_overlaps(uint32_t offset, uint32_t size) const {
  // Objects are 8-byte aligned, so the candidates can be counted off.
  const uint32_t first = std::max(offset & ~7u, low_ & ~7u), last = std::min(offset + size, high_);
  if ((last - first) / 8 > live_.size())
    return std::any_of(live_.begin(), live_.end(),
                       [&](const auto& e) { return e.first < offset + size && e.first + 8 > offset; });
  for (uint32_t at = first; at < last; at += 8)
    if (live_.count(at)) return true;
  return false;
}

MBarrier& mbarrier_at(Cta& owner, uint32_t offset, const Origin& who, const char* operation) {
  if (MBarrier* b = owner.mbarriers.find(offset)) return *b;
  if (offset % 8)
    who.fault(FaultKind::misaligned_address, "mbarrier-misaligned",
              fmt::format("{} on shared offset {:#x}, which is not a multiple of 8", operation, offset),
              "an mbarrier is 8 bytes, aligned to 8: declare it as uint64_t");
  const uint8_t* bytes = owner.shared_at(offset, 8);
  if (!bytes)
    who.fault(FaultKind::illegal_address, "shared-out-of-bounds",
              fmt::format("{} on shared offset {:#x} of CTA rank {}, outside its {} bytes", operation, offset,
                          owner.rank, owner.shared.size()),
              "pass the shared-memory address of the mbarrier");
  // Hardware keeps no list of objects: it goes on with the 8 bytes that lie there (measured on an H200), whatever they
  // are.
  const bool ended = owner.mbarriers.invalidated(offset);
  const std::string message = fmt::format("{} on {}, {}", operation, name_of(owner, offset),
                                          ended ? "after its mbarrier.inval" : "which is not initialised");
  const char* help =
      "execute mbarrier.init in one thread, make it visible (fence.mbarrier_init or a barrier), then "
      "use the mbarrier";
  if (!ended && std::strncmp(operation, "an arrive", 9) == 0)
    who.fault(FaultKind::launch_failure, "mbarrier-not-initialised", message, help);
  // Behind inval everything still works there: Triton's kernels for two CTAs let commits arrive so.
  if (ended)
    who.report(Severity::warning, "mbarrier-not-initialised", message, help);
  else
    who.report(Severity::error, "mbarrier-not-initialised", message, help);
  uint64_t word;
  std::memcpy(&word, bytes, 8);
  return owner.mbarriers.create(offset) = MBarrier::from_word(word);
}

void mbarrier_arrive(Cta& owner, uint32_t offset, uint32_t count, uint64_t when, const Origin& who) {
  MBarrier& b = mbarrier_at(owner, offset, who, "an arrive");
  if (count > kCountMask)
    who.fault(FaultKind::launch_failure, "mbarrier-count-range",
              fmt::format("an arrive of {} on {}: counts end at {}", count, name_of(owner, offset), kCountMask),
              "arrive with a count from 1 to 1048575");
  if (count > b.pending) {
    Diagnosis d;
    d.code = "mbarrier-over-arrival";
    d.message = fmt::format("{} arrivals at once on {}, which waits for fewer ({})", count, name_of(owner, offset),
                            state_of(b));
    d.help =
        "count the arrivals of a phase (each lane of a warp counts, and so does each tcgen05.commit) and initialise "
        "with that number; or wait for the phase before arriving for the next";
    d.where = who.where();
    for (const MbarrierAct& a : acts_on(*who.launch, owner, offset))
      if (a.kind == MbarrierAct::Kind::arrive && a.phase == b.phase) d.others.push_back(place_of(a));
    throw KernelFault(std::move(d));
  }
  b.pending -= count;
  tell(owner, Sync::Kind::arrive, offset, count, when, &who);
  complete_if_done(owner, offset, b, when);
}

void mbarrier_expect_tx(Cta& owner, uint32_t offset, uint64_t bytes, uint64_t when, const Origin& who) {
  MBarrier& b = mbarrier_at(owner, offset, who, "an expect_tx");
  // The field holds one more than the manual's limit on this side.
  if (bytes > uint64_t(kTxLimit) || b.tx + int64_t(bytes) > kTxLimit + 1)
    who.fault(FaultKind::launch_failure, "mbarrier-tx-mismatch",
              fmt::format("expect_tx of {} bytes takes {} past {} bytes ({})", bytes, name_of(owner, offset), kTxLimit,
                          state_of(b)),
              "a phase can expect at most 1048575 bytes, one warp's lanes taken together: split the transfer over "
              "phases or barriers");
  b.tx += int64_t(bytes);
  tell(owner, Sync::Kind::expect_tx, offset, bytes, when, &who);
  complete_if_done(owner, offset, b, when);
}

void mbarrier_complete_tx(Cta& owner, uint32_t offset, uint64_t bytes, uint64_t when, const Origin& who) {
  MBarrier& b = mbarrier_at(owner, offset, who, "a complete_tx");
  if (bytes > uint64_t(kTxLimit) || b.tx - int64_t(bytes) < -kTxLimit)
    who.fault(
        FaultKind::launch_failure, "mbarrier-tx-mismatch",
        fmt::format("complete_tx of {} bytes takes {} below -{} bytes ({})", bytes, name_of(owner, offset), kTxLimit,
                    state_of(b)),
        "more bytes have landed than were ever expected: name them with expect_tx, in the phase in which they land");
  b.tx -= int64_t(bytes);
  tell(owner, Sync::Kind::complete_tx, offset, bytes, when, &who);
  complete_if_done(owner, offset, b, when);
}

void mbarrier_arrive_drop(Cta& owner, uint32_t offset, uint32_t count, uint64_t when, const Origin& who) {
  MBarrier& b = mbarrier_at(owner, offset, who, "an arrive_drop");
  if (count > b.pending || count > b.expected)
    who.fault(FaultKind::launch_failure, "mbarrier-over-arrival",
              fmt::format("an arrive_drop of {} on {} ({})", count, name_of(owner, offset), state_of(b)),
              "a thread can drop out only once, in a phase in which it has not arrived yet");
  b.expected -= count;
  if (count && b.expected == 0)
    who.report(Severity::note, "mbarrier-drop-to-zero",
               fmt::format("{} expects no arrivals after this arrive_drop", name_of(owner, offset)),
               "any later arrive on it is a fault; invalidate it or initialise it again");
  mbarrier_arrive(owner, offset, count, when, who);
}

}  // namespace tinygpu
