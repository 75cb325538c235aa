#include "common/tinygpu/machine/events.h"

#include <algorithm>

namespace tinygpu {

void EventQueue::set_order(CompletionOrder o) {
  order_ = o;
  random_.reset();
  if (o.mode == CompletionOrder::Mode::seeded) random_.emplace(o.seed);
}

void EventQueue::schedule(uint64_t time, uint64_t channel, const Origin& who, Action action) {
  Event e{time, seq_++, channel, who, std::move(action)};
  ++size_;
  if (full()) stop_before(0);
  // Behind one of its channel that is held back it is, too.
  if (!queues_.contains(channel) && !delays(who)) {
    stop_before(time);
    heap_.push_back(std::move(e));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  } else {
    queues_[channel].push_back(std::move(e));
  }
}

bool EventQueue::delays(const Origin& who) {
  if (order_.mode == CompletionOrder::Mode::timed) return false;
  if (!order_.late_only) return true;
  if (!who.op) return false;
  const auto [known, fresh] = delayed_.try_emplace(who.op);
  if (fresh)
    known->second =
        std::ranges::any_of(*order_.late_only, [w = who.where()](const SourcePlace& p) { return p.names(w); });
  return known->second;
}

uint64_t EventQueue::next_held() const {
  uint64_t t = ~0ull;
  for (const auto& [channel, q] : queues_) t = std::min(t, q.front().time);
  return t;
}

void EventQueue::run_timed() {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const Event e = std::move(heap_.back());
  heap_.pop_back();
  --size_;
  e.action(e.time);
}

void EventQueue::run_held() {
  auto pick = queues_.begin();
  if (order_.mode == CompletionOrder::Mode::seeded) {
    std::advance(pick, (*random_)() % queues_.size());
  } else {
    for (auto it = queues_.begin(); it != queues_.end(); ++it)
      if (it->second.front().time > pick->second.front().time) pick = it;
  }
  const Event e = std::move(pick->second.front());
  pick->second.pop_front();
  if (pick->second.empty()) queues_.erase(pick);
  --size_;
  e.action(e.time);
}

}  // namespace tinygpu
