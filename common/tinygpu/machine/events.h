// The event queue of a partition: things that happen later than the instruction that asked for them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/base/source_place.h"
#include "common/tinygpu/machine/origin.h"

namespace tinygpu {

/// How asynchronous effects are ordered (notes/tinygpu.md).
struct CompletionOrder {
  enum class Mode : uint8_t { timed, late, seeded } mode = Mode::timed;
  uint64_t seed = 0;
  /// Of order late: effects of these lines alone are late, the others land at their time. Null: all are late.
  std::shared_ptr<const std::vector<SourcePlace>> late_only = {};
};

/// Events of one channel happen in the order they were scheduled; channels are otherwise unordered, which `late` and
/// `seeded` exploit. A channel is any number the scheduler of the event picks: new_channel() for an independent effect,
/// an engine's own number for a queue of dependent ones.
class EventQueue {
 public:
  using Action = std::function<void(uint64_t now)>;

  void set_order(CompletionOrder o);
  uint64_t new_channel() { return next_channel_++; }
  /// `who`: in whose name it happens, a thread or the operation that it has issued.
  void schedule(uint64_t time, uint64_t channel, const Origin& who, Action action);
  bool empty() const { return size_ == 0; }
  /// So many effects are in flight that warps start no more before some have landed.
  bool full() const { return size_ > kMost; }
  /// Time of the earliest event that lands at its time; ~0: there is none.
  uint64_t next_timed() const { return heap_.empty() ? ~0ull : heap_.front().time; }
  /// Of the earliest head of those that are held back, only used to advance the clock.
  uint64_t next_held() const;
  uint64_t next_time() const { return std::min(next_timed(), next_held()); }
  /// Runs the earliest event that lands at its time (ties: first scheduled).
  void run_timed();
  /// Runs one that is held back. late: the head with the latest time. seeded: any head.
  void run_held();
  const CompletionOrder& order() const { return order_; }
  /// Whether effects of this instruction are held back: they land late, or at random.
  bool delays(const Origin& who);
  /// Calls f(time, who) for each event that is to come, in no particular order.
  template <class F>
  void each(F&& f) const {
    for (const Event& e : heap_) f(e.time, e.who);
    for (const auto& [channel, queue] : queues_)
      for (const Event& e : queue) f(e.time, e.who);
  }
  /// While it lives, `deadline` is that of the running warp. Timed: an effect scheduled before it cuts the warp's turn
  /// short, so that a warp that spins on a clock sees what it has started.
  class Horizon {
   public:
    Horizon(EventQueue& queue, uint64_t& deadline) : queue_(queue) { queue.horizon_ = &deadline; }
    ~Horizon() { queue_.horizon_ = nullptr; }
    Horizon(const Horizon&) = delete;
    Horizon& operator=(const Horizon&) = delete;

   private:
    EventQueue& queue_;
  };
  /// The running warp goes no further than `time`.
  void stop_before(uint64_t time) {
    if (horizon_) *horizon_ = std::min(*horizon_, time);
  }

 private:
  struct Event {
    uint64_t time, seq, channel;
    Origin who;
    Action action;
    bool operator>(const Event& o) const { return time != o.time ? time > o.time : seq > o.seq; }
  };
  static constexpr uint64_t kMost = 1 << 15;
  uint64_t* horizon_ = nullptr;
  CompletionOrder order_;
  std::optional<std::mt19937_64> random_;  // seeded
  uint64_t seq_ = 0, next_channel_ = 1, size_ = 0;
  std::unordered_map<const Op*, bool> delayed_;   // of instructions, under late_only
  std::vector<Event> heap_;                       // what lands at its time: a binary heap, earliest first
  std::map<uint64_t, std::deque<Event>> queues_;  // late, seeded: FIFO by channel
};

}  // namespace tinygpu
