// The walk over blocks of K, where it repeats itself. What the machine does next depends on the state it is in: when
// each unit is free and each event comes, from now, and where the barriers of the ring are, from the round that it is
// in. Once a state has come again twice, after the same number of rounds, the blocks between come again too, as long as
// all roles have some left: they need not be walked, only counted.
#pragma once
#include <array>
#include <deque>
#include <vector>

#include "common/tinygpu/search/tiny_machine.h"

namespace tinygpu::search {

class Steady {
 public:
  Steady(TinyMachine& machine, uint32_t stages) : machine_(machine), stages_(stages) {}

  /// A barrier of the ring, of which every round is a phase.
  void watch_ring(const Barrier& b) { ring_.push_back(&b); }
  void watch(const Barrier& b) { others_.push_back(&b); }
  /// The block of a role, of all waves.
  void watch_block(const uint32_t& at) { blocks_.push_back(&at); }
  /// When the tensor core is done with what a role waits for next.
  void watch_done(const Cycles& end) { ends_.push_back(&end); }
  /// What a role has done that is no part of the walk: the state is another one while it goes on.
  void watch(const uint32_t& done) { done_.push_back(&done); }
  /// What a role has waited so far, which blocks that are not walked add to.
  void watch(Cycles& waited) { waited_.push_back(&waited); }

  /// At the beginning of each round of the ring; `left`: blocks of this wave that no role has asked for yet. The blocks
  /// that need not be walked: a whole number of rounds; their time is the machine's from now on.
  uint32_t skip(uint32_t wave, uint32_t round, uint32_t left);

 private:
  /// Periods of more rounds are walked.
  static constexpr size_t kMostRounds = 16;

  struct Moment {
    TinyMachine::State state;
    std::vector<Cycles> sums;  // in the machine's order, then the roles'
  };
  Moment moment(uint32_t round) const;
  static bool same(const TinyMachine::State& a, const TinyMachine::State& b);

  TinyMachine& machine_;
  const uint32_t stages_;
  std::vector<const Barrier*> ring_, others_;
  std::vector<const uint32_t*> blocks_, done_;
  std::vector<const Cycles*> ends_;
  std::vector<Cycles*> waited_;
  std::deque<Moment> past_;  // of this wave, the last one first
  uint32_t wave_ = 0;
};

}  // namespace tinygpu::search
