// Convergence groups: the lanes of a warp that run together, and why those that do not run wait.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/tinygpu/program/program.h"

namespace tinygpu {

class Cta;

/// Why a group does not run. The fields are what a deadlock report prints.
struct BlockReason {
  enum class Kind : uint8_t {
    none,
    converge,      // waits for other lanes of the warp at this instruction
    warp_barrier,  // bar.warp.sync with `id` = mask
    cta_barrier,   // bar/barrier `id`
    cluster_barrier,
    mbarrier,  // at CTA `cta`, offset `address`, waiting for phase parity `id`
    sleep,
    async_group,  // wait::ld, wait_group …: `what` says which
    tmem_alloc,
    grid_dependency,
    serial,  // strong global access waiting for the serial phase
  } kind = Kind::none;
  const char* what = "";
  Cta* cta = nullptr;
  uint32_t address = 0;
  uint32_t id = 0;
  uint64_t phase = 0;
};

/// A function that waits for one that it has called.
struct CallFrame {
  const Function* function = nullptr;  // the caller
  uint32_t return_pc = 0;
  uint32_t register_base = 0, local_base = 0;
  uint32_t stack_base = 0;
  const uint32_t* list = nullptr;  // the call's Op::list
};

/// Lanes that run together.
struct Group {
  enum class State : uint8_t { runnable, blocked } state = State::runnable;
  uint32_t mask = 0;
  uint32_t pc = 0;
  const Function* function = nullptr;
  uint32_t register_base = 0, local_base = 0;
  uint32_t stack_base = 0;  // bytes of a thread's stack that the callers' frames take
  uint64_t wake = 0;        // not before this time
  const Op* blocked_at = nullptr;
  uint64_t since = ~0ull;    // when it was blocked; ~0: it was not since it ran last
  uint64_t timeout = ~0ull;  // a blocked group becomes runnable at this time with timed_out set
  bool timed_out = false;
  bool retry = false;  // blocked: re-executes the same op when woken
  uint32_t spins = 0;  // back edges taken while other groups wait
  uint32_t penalty = 0;
  BlockReason reason;
  std::vector<CallFrame> stack;

  bool waits_for_serial() const { return state == State::blocked && reason.kind == BlockReason::Kind::serial; }
  /// When it could run next; ~0: when it is woken.
  uint64_t next_time() const { return state == State::runnable ? wake : timeout; }
  void release(uint64_t when) {
    state = State::runnable;
    wake = when;
    timeout = ~0ull;
  }
};

/// The groups of a warp; one of them is the current one. Every lane that has not exited is in exactly one.
class Groups {
 public:
  explicit Groups(uint32_t live_mask);
  Group& current() { return all_[current_]; }
  const Group& current() const { return all_[current_]; }
  const std::vector<Group>& all() const { return all_; }
  std::vector<Group>& all() { return all_; }
  size_t size() const { return all_.size(); }

  /// Earliest time at which a group could run; ~0: all wait for others.
  uint64_t next_time() const;
  /// Makes the group that runs next at `time` the current one, after time limits that have passed and lanes that have
  /// come together. Those deepest in calls and furthest behind come first. False: none can run.
  bool pick(uint64_t time);
  void select(const Group& g) { current_ = size_t(&g - all_.data()); }
  /// Groups that can run and are at the same place become one. The current one may be another afterwards.
  void merge();
  /// Splits `lanes` off the current group into a new last one that continues at `pc`.
  Group& split(uint32_t lanes, uint32_t pc);
  /// Groups that wait for lanes to come together where the current one is can run, and become one with it; it is the
  /// current one. True: there were any.
  bool gather();
  void drop_empty();

 private:
  size_t current_ = 0;
  std::vector<Group> all_;
};

}  // namespace tinygpu
