// The tiny machine: one SM and what a product needs of it, at the grain of tiles. Each role of a kernel is a list of
// instructions; each instruction takes its time at the units that it needs. Nothing is multiplied: the machine only
// says when things happen. It has ten instructions:
//
//   begin_cta, end_cta  a CTA's first and last instruction; the next CTA begins when one has ended
//   wait, arrive        at an mbarrier. Here one arrival ends a phase
//   load_tile           TMA loads a block of A and of B; an mbarrier receives an arrival when they have landed
//   mma_tile, commit    the tensor core multiplies a block; an mbarrier receives an arrival when it has
//   load_accumulator    threads load a box of D from Tensor Memory into registers
//   stage_tile          they store it to shared memory
//   store_tile          TMA stores it to D; an mbarrier receives an arrival when TMA has read it
//
// The other SMs do the same at the same time, so a load also takes its SM's share of L2.
#pragma once
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "chapters/15_search/numbers.h"

namespace tiny {

enum Unit { tma, l2, tensor_core, tensor_memory, shared_memory, stores, kUnits };

/// What the tensor core stands still for.
enum Cause { loads, epilogue, begins, kCauses, other = kCauses };

struct Barrier {
  std::vector<Cycles> ended = {};  // when each of its phases ends, as far as that is known
};

struct Instruction {
  struct Use {
    Unit unit;
    Cycles takes;
  };
  Cycles issue = 0;               // until the role goes on
  std::vector<Use> uses = {};     // side by side; a unit serves one instruction after the other
  bool follows = false;           // the role goes on only when the units are done
  Barrier* to = nullptr;          // receives an arrival when the units are done, and
  Cycles latency = 0;             //   so much later
  const Barrier* from = nullptr;  // a wait: until it has ended
  size_t phases = 0;              //   so many phases
  Cause cause = other;            //   and why the tensor core stands still meanwhile
};

/// A role: its instructions, and how far it has come.
struct Role {
  std::vector<Instruction> list = {};
  size_t at = 0;
  Cycles time = 0;

  void begin_cta() { list.push_back({.issue = kAllocate}); }
  void end_cta(Barrier& next) { list.push_back({.to = &next, .latency = kNextCta}); }
  void wait(const Barrier& b, size_t phases, Cause cause = other) {
    list.push_back({.issue = kWaitPasses, .from = &b, .phases = phases, .cause = cause});
  }
  void arrive(Barrier& b) { list.push_back({.to = &b, .latency = kArrive}); }
  void load_tile(double bytes, double boxes, Cycles share_of_l2, Barrier& landed) {
    const Cycles issue = kExpect + boxes * kLoadIssue;
    list.push_back({issue, {{tma, bytes / kLoadBytes}, {l2, share_of_l2}}, false, &landed, kLoadLatency + kFarther});
  }
  void mma_tile(Cycles takes) { list.push_back({.issue = 1, .uses = {{tensor_core, takes}}}); }
  void commit(Barrier& done, Cycles latency) { list.push_back({0, {{tensor_core, 0}}, false, &done, latency}); }
  void load_accumulator(double columns) {
    list.push_back({.issue = kReadLatency, .uses = {{tensor_memory, columns * kReadColumn}}, .follows = true});
  }
  void stage_tile(double bytes) {
    list.push_back({.issue = kFence, .uses = {{shared_memory, bytes / kSharedBytes}}, .follows = true});
  }
  void store_tile(double bytes, Cycles share_of_l2, Barrier& read) {
    const Cycles takes = std::max(bytes / kStoreBytes, share_of_l2);
    list.push_back({kStoreIssue, {{stores, takes}}, false, &read, kStoreLatency});
  }

  bool ended() const { return at == list.size(); }
  /// When its next instruction begins. Never, as far as is known, while the phase that it waits for has no end.
  Cycles next() const {
    const Instruction& i = list[at];
    if (!i.from || i.phases == 0) return time;
    if (i.from->ended.size() < i.phases) return std::numeric_limits<Cycles>::infinity();
    const Cycles end = i.from->ended[i.phases - 1];
    return end <= time ? time : end + kWake;
  }
};

/// What a run was like: its length, how long each unit worked, and what the tensor core stood still for.
struct Result {
  Cycles cycles = 0, busy[kUnits] = {}, lost[kCauses] = {};
  struct Span {
    Unit unit;
    Cycles from, to;
  };
  std::vector<Span> spans = {};  // when which unit worked
};

/// Runs all roles to their ends: again and again the instruction that can begin first.
inline Result run(std::vector<Role>& roles) {
  Result r;
  Cycles free[kUnits] = {};  // from when on a unit is free
  for (;;) {
    Role* role = nullptr;
    for (Role& one : roles)
      if (!one.ended() && (!role || one.next() < role->next())) role = &one;
    if (!role) return r;
    const Cycles now = role->next();
    if (now == std::numeric_limits<Cycles>::infinity()) throw std::runtime_error("the roles wait for each other");
    const Instruction& i = role->list[role->at++];
    if (i.cause != other) r.lost[i.cause] += std::max(0.0, now - std::max(role->time, free[tensor_core]));
    Cycles done = now;
    for (const auto [unit, takes] : i.uses) {
      const Cycles from = std::max(free[unit], now);
      free[unit] = from + takes;
      done = std::max(done, free[unit]);
      r.busy[unit] += takes;
      if (takes > 0) r.spans.push_back({unit, from, free[unit]});
    }
    if (i.to) i.to->ended.push_back(done + i.latency);
    role->time = (i.follows ? done : now) + i.issue;
    r.cycles = std::max({r.cycles, role->time, done});
  }
}

}  // namespace tiny
