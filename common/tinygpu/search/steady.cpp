#include "common/tinygpu/search/steady.h"

#include <cmath>

namespace tinygpu::search {

Steady::Moment Steady::moment(uint32_t round) const {
  Moment m{machine_.state(), machine_.sums()};
  const auto add = [&](const Barrier& b, uint32_t rounds) {
    m.state.marks.push_back(b.pending);
    m.state.marks.push_back(b.phases - rounds);
    for (size_t i = 0; i < b.waiting.size(); ++i) {
      m.state.marks.push_back(reinterpret_cast<uintptr_t>(b.waiting[i].address()));
      m.state.marks.push_back(b.wanted[i] - rounds);
    }
  };
  for (const Barrier* b : ring_) add(*b, round);
  for (const Barrier* b : others_) add(*b, 0);
  for (const uint32_t* at : blocks_) m.state.marks.push_back(*at - round * stages_);
  for (const Cycles* end : ends_) m.state.times.push_back(machine_.done(*end).time - machine_.now());
  for (const uint32_t* done : done_) m.state.marks.push_back(*done);
  for (const Cycles* waited : waited_) m.sums.push_back(*waited);
  return m;
}

bool Steady::same(const TinyMachine::State& a, const TinyMachine::State& b) {
  constexpr Cycles kRounding = 1e-5;
  return a.marks == b.marks && std::equal(a.times.begin(), a.times.end(), b.times.begin(), b.times.end(),
                                          [](Cycles x, Cycles y) { return std::abs(x - y) <= kRounding; });
}

uint32_t Steady::skip(uint32_t wave, uint32_t round, uint32_t left) {
  if (wave != wave_) past_.clear();
  wave_ = wave;
  const Moment now = moment(round);
  for (size_t rounds = 1; 2 * rounds <= past_.size(); ++rounds) {
    const Moment& before = past_[rounds - 1];
    if (!same(now.state, before.state) || !same(now.state, past_[2 * rounds - 1].state)) continue;
    const uint32_t period = uint32_t(rounds) * stages_;
    const uint32_t times = left / period;
    if (times < 2) break;
    // One period is walked all the same, so that the end of the wave is.
    std::vector<Cycles> sums = now.sums;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = (times - 1) * (sums[i] - before.sums[i]);
    machine_.add(sums);
    for (size_t i = 0; i < waited_.size(); ++i) *waited_[i] += sums[sums.size() - waited_.size() + i];
    past_.clear();
    return (times - 1) * period;
  }
  past_.push_front(now);
  if (past_.size() > 2 * kMostRounds) past_.pop_back();
  return 0;
}

}  // namespace tinygpu::search
