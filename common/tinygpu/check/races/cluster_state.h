// What is known of a cluster while it runs: its threads, mbarriers and barriers, its shared memory.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/tinygpu/check/races/primary_grid.h"
#include "common/tinygpu/check/races/release_heads.h"
#include "common/tinygpu/check/races/shadow.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::races {

struct MbarrierState {
  Component component = 0;  // counts the phases that have ended, of all objects that lay here
  Epoch ended = 0;
  bool landed = false;  // operations have completed transactions in this phase
  // What its arrivals have released: those of its own CTA, and those of others; so far, and with the last phase.
  Views own, others, own_complete, others_complete;
  std::unique_ptr<Record> init;
  bool init_told = false;  // a commit that need not see it
  bool copy_told = false;  // and a copy
  bool live = false;       // between init and inval
  /// The last waits of each warp that have seen a phase end: inval has to come behind them.
  struct Waiter {
    Threads* threads;
    Origin who;
    Epoch epoch;
    uint32_t lanes;
  };
  std::vector<Waiter> waiters;
  void waited(Threads& t, const Origin& who) {
    for (Waiter& w : waiters)
      if (w.threads == &t) {
        w = {&t, who, t.now(), w.lanes | who.lanes};
        return;
      }
    waiters.push_back({&t, who, t.now(), who.lanes});
  }
  std::vector<Record> early;  // uses from elsewhere, of one that is not live
  void used_early(const Record& use) {
    if (early.size() < 64) early.push_back(use);
  }
  std::unordered_map<const Threads*, Record> remote;  // the last arrivals of other CTAs, by who made them
  /// Waits that have seen the last phase end. This phase must not end before each of them, or the thread would find
  /// the parity of the phase before the last.
  struct Pass {
    Record wait;
    bool covered = false;  // an arrival of this phase knows that it is over
  };
  std::vector<Pass> passes;
  uint64_t phase = 0;     // in progress
  Origin ender;           // its last arrival,
  uint64_t ended_at = 0;  // and when
};

/// A round of a barrier of a CTA's threads.
struct Round {
  Views gathered;
  std::vector<std::pair<Threads*, uint32_t>> waits;
};

struct CtaState {
  CtaState(Components& components, const Cta& cta);
  MbarrierState& mbarrier(Components& components, uint32_t offset);
  std::vector<uint32_t>& cells();

  const Cta& cta;
  std::deque<Threads> warps;
  std::unordered_map<uint32_t, MbarrierState> mbarriers;
  std::array<Round, 16> rounds;
  struct Channel {
    Component component = 0;
    Epoch count = 0;
    /// Of each warp, at its latest commits: how many operations it had issued, and what its lanes had done.
    static constexpr size_t kCommits = 16;
    std::array<std::deque<std::pair<Epoch, Views>>, 4> commits;
    void committed(uint32_t warp, Epoch issued, Views done) {
      commits[warp].emplace_back(issued, std::move(done));
      if (commits[warp].size() > kCommits) commits[warp].pop_front();
    }
    /// What the warp had done when it had issued no more than so many.
    const Views* done(uint32_t warp, Epoch issued) const {
      for (auto c = commits[warp].rbegin(); c != commits[warp].rend(); ++c)
        if (c->first <= issued) return &c->second;
      return nullptr;
    }
  };
  std::map<uint32_t, Channel> warpgroups;  // wgmma
  ReleaseHeads heads;                      // of strong writes to shared memory

 private:
  std::vector<uint32_t> cells_;
};

struct ClusterState {
  explicit ClusterState(const Cluster& cluster);
  CtaState* cta(const Cta& c) {
    return c.rank < ctas.size() && &ctas[c.rank]->cta == &c ? ctas[c.rank].get() : nullptr;
  }
  CtaState* cta(const CtaKey& key);
  /// The threads that `who` names; null: none of this cluster's.
  Threads* threads(const Origin& who);
  void collect();

  const uint64_t number;  // in the grid
  Components components;
  std::vector<std::unique_ptr<CtaState>> ctas;
  Histories histories;
  // Its barrier: what has been released in this round, and in the last one.
  Views gathered, complete;
  uint64_t rounds = 0;
  /// Arrivals on the way to other CTAs' mbarriers, by warp and object.
  std::map<std::tuple<const Threads*, const Cta*, uint32_t>, std::deque<Views>> sent;
};

}  // namespace tinygpu::races
