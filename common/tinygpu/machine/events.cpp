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
  if (order_.mode == CompletionOrder::Mode::timed) {
    stop_before(time);
    heap_.push_back(std::move(e));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  } else {
    queues_[channel].push_back(std::move(e));
  }
}

uint64_t EventQueue::next_time() const {
  if (size_ == 0) return ~0ull;
  if (order_.mode == CompletionOrder::Mode::timed) return heap_.front().time;
  uint64_t t = ~0ull;
  for (const auto& [channel, q] : queues_) t = std::min(t, q.front().time);
  return t;
}

EventQueue::Event EventQueue::take_timed() {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  Event e = std::move(heap_.back());
  heap_.pop_back();
  return e;
}

EventQueue::Event EventQueue::take_channel() {
  auto pick = queues_.begin();
  if (order_.mode == CompletionOrder::Mode::seeded) {
    std::advance(pick, (*random_)() % queues_.size());
  } else {
    for (auto it = queues_.begin(); it != queues_.end(); ++it)
      if (it->second.front().time > pick->second.front().time) pick = it;
  }
  Event e = std::move(pick->second.front());
  pick->second.pop_front();
  if (pick->second.empty()) queues_.erase(pick);
  return e;
}

void EventQueue::run_one() {
  Event e = order_.mode == CompletionOrder::Mode::timed ? take_timed() : take_channel();
  --size_;
  e.action(e.time);
}

}  // namespace tinygpu
