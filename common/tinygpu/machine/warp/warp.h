// One warp: 32 lanes with program counters of their own, run as convergence groups (group.h), whose calls stand in
// frames (frames.h). interpreter.cpp runs it, converge.cpp splits it and brings it together, calls.cpp calls.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/chip/reservation_table.h"
#include "common/tinygpu/machine/extension.h"
#include "common/tinygpu/machine/warp/frames.h"
#include "common/tinygpu/machine/warp/group.h"
#include "common/tinygpu/machine/warp/scoreboard.h"
#include "common/tinygpu/machine/warp/spin_watch.h"
#include "common/tinygpu/program/program.h"
#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

class Cta;
class Cluster;
class SmPartition;
class Gpu;
struct Timing;
struct Sm;

class Warp {
 public:
  /// `sub_partition`: of its SM, whose scheduler issues its instructions.
  Warp(Cta& cta, uint32_t index, uint32_t live_mask, uint32_t sub_partition);
  ~Warp();
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;

  // ---- What isa/ uses
  /// Register slot as an array of 32 values of T. Valid within the current op.
  template <class T>
  T* at(uint32_t slot) {
    return reinterpret_cast<T*>(regs_ + slot);
  }
  uint32_t& pred(uint32_t slot) { return *reinterpret_cast<uint32_t*>(regs_ + slot); }
  /// Lanes that execute the current op (guard applied).
  uint32_t exec() const { return exec_; }
  bool full() const { return exec_ == 0xffffffffu; }
  /// Lanes of the current group, guard not applied; lanes of the warp that have not exited.
  uint32_t group_mask() const { return groups_.current().mask; }
  uint32_t live() const { return live_; }

  Cta& cta() const { return cta_; }
  // Defined where what they give is: chip/cta.h, chip/launch.h, chip/gpu.h.
  Cluster& cluster() const;
  SmPartition& partition() const;
  Gpu& gpu() const;
  Sm& sm() const { return sm_; }
  const MachineSpec& spec() const;
  const Timing& timing() const;
  uint32_t index() const { return index_; }
  uint32_t sub_partition() const { return sub_partition_; }
  /// Among all warps that its SM has had, from 1 on.
  uint64_t number() const { return number_; }
  Group& group() { return groups_.current(); }
  const Group& group() const { return groups_.current(); }

  /// Simulated time of this warp in SM cycles: when the current op issues.
  uint64_t time() const { return time_; }
  /// Adds cycles to this op beyond its static cost (bank passes, serialisation).
  void charge(uint64_t cycles) { time_ += cycles; }
  /// Variable-latency result of `op` becomes available at `when`: releases its scoreboard then.
  void result_at(const Op& op, uint64_t when) { scoreboard_.result_at(op, when); }
  /// The same when the chip's memory has yet to say so (MemoryRequests).
  void result_asked(const Op& op) { scoreboard_.asked(op); }
  /// The chip has done `op` in an earlier turn of its loop.
  bool done_before(const Op& op) const { return op.loop_role == Op::LoopRole::load && past_first_turn_ >> op.loop & 1; }

  /// Collective ops (.sync / .aligned). True: every non-exited lane of `members` is in this group and the op may act
  /// for members. False: the group has been blocked until they arrive; return from the ExecFn at once, it will be
  /// re-run. A guard that excludes members counts as not arriving.
  bool converged(uint32_t members);
  /// Blocks the current group. retry: the op runs again when woken (it must not have had effects); else execution
  /// continues behind it. timeout: absolute time, ~0 for none; see timed_out().
  void block(const BlockReason& why, bool retry, uint64_t timeout = ~0ull);
  /// The same for some of the executing lanes; the others go on behind the op.
  void block_lanes(uint32_t lanes, const BlockReason& why, bool retry) {
    const uint32_t all = exec_;
    exec_ = lanes;
    block(why, retry);
    exec_ = all & ~lanes;
  }
  /// True on a retry after the timeout passed; clears the mark.
  bool take_timeout();
  /// Makes the blocked groups for which `match` holds runnable at `when`. Returns how many.
  template <class F>
  int wake(uint64_t when, F&& match);

  /// bar.warp.sync: blocks the executing lanes until every live lane of `members` has arrived at a barrier with that
  /// mask, at whatever instruction. Returns with the group blocked or, if it was the last, running.
  void warp_barrier(uint32_t members);

  // Control flow. Masks are subsets of exec().
  /// Lanes of `taken` continue at `target`, the rest of the group behind the op.
  void branch(uint32_t taken, uint32_t target);
  /// Every lane of group_mask() has its own target; used by brx.idx.
  void branch_each(const uint32_t* target_per_lane);
  void exit(uint32_t lanes);
  void call(const Op& op, const Function& callee);
  /// The same for some of the executing lanes; the others execute the op again, as a group of their own.
  void call_lanes(uint32_t lanes, const Op& op, const Function& callee);
  void ret(uint32_t lanes);
  /// Faults with "stack-overflow" where the frames of `g`, that of `callee` and `more` bytes don't fit a thread's
  /// stack.
  void check_stack(const Group& g, const Function* callee, uint64_t more, int lane);

  // Per-lane memory.
  /// Local memory of a lane, grown on demand. Throws stack_overflow past 512 KiB.
  uint8_t* local(uint32_t lane, uint32_t offset, uint32_t size) {
    return frames_.local(groups_.current(), lane, offset, size);
  }
  uint32_t local_base() const { return groups_.current().local_base; }

  // ---- Diagnosis
  /// Place of the current op; `lane` −1 for the warp.
  Where where(int lane = -1) const;
  Where where_of(const Op& op, const Function& f, int lane = -1) const;
  [[noreturn]] void fault(FaultKind kind, std::string code, std::string message, std::string help, int lane = -1) const;
  /// Reports and goes on (warnings, notes); the same code at the same instruction is reported once per launch.
  void report(Severity severity, std::string code, std::string message, std::string help, int lane = -1) const;
  const Op& current_op() const { return *op_; }
  /// Some observer wants to hear of one of these (Observer::Interest).
  bool told(uint32_t interests) const { return told_ & interests; }
  const Function& function() const { return *groups_.current().function; }

  // ---- What machine/ uses
  /// Runs until `deadline`, or until nothing here can run. An event that is scheduled meanwhile may bring the deadline
  /// forward (EventQueue::horizon).
  void run(uint64_t deadline);
  /// Serial phase: one op of a group that waits for it. Returns the op, null if no group waits.
  const Op* run_serial();
  /// The chip's memory has answered: a result of scoreboard `board` (0xff: of none) is there at `when`.
  void answered(uint8_t board, uint64_t when) {
    if (board == 0xff) return;
    scoreboard_.answered(board, when);
    if (!starved_) return;
    starved_ = false;
    update_ready();
  }
  void result_on_board(uint8_t board, uint64_t when) {
    if (board != 0xff) scoreboard_.result_at(board, when);
  }
  /// Does not run before `t`.
  void hold_until(uint64_t t) {
    advance_to(t);
    update_ready();
  }
  bool done() const { return live_ == 0; }
  /// Earliest time at which a group could run; ~0 if all are blocked without timeout.
  uint64_t ready_time() const { return ready_; }
  const std::vector<Group>& groups() const { return groups_.all(); }
  uint64_t instructions() const { return instructions_; }
  void advance_to(uint64_t t) {
    if (t > time_) time_ = t;
  }
  void set_entry(const Function& f);
  /// Its place in SmPartition::warps(), to which it says from now on when it is ready; kNoPlace: it has none.
  static constexpr uint32_t kNoPlace = ~0u;
  void take_place(uint32_t place) { place_ = place; }
  /// It has come to its first instruction.
  bool started() const { return op_ != nullptr; }
  /// All that decides what the current group does next, but memory: its place, its calls, the registers; hashed.
  uint64_t state() const;
  /// Set while the machine finds out whether this warp's loops end.
  bool watched() const { return watch_ != nullptr; }
  void watch(bool on);
  SpinWatch* spin_watch() { return watch_.get(); }

  /// Registers that an asynchronous load will write (op.reads_pending ops ask). Owned by isa/ of that load.
  struct Pending {
    int channel;
    uint32_t slot;   // absolute byte offset in the register file
    uint32_t bytes;  // of the slot
    uint32_t inst;   // who loads
  };
  std::vector<Pending> pending;
  /// Called before an op with Op::reads_pending while `pending` is not empty. May block (retry) the group.
  ExecFn pending_check = nullptr;
  /// Called while `pending` is not empty when the frame at bytes [begin, end) of the register file has no lanes left.
  void (*pending_leave)(Warp&, uint32_t begin, uint32_t end) = nullptr;
  uint8_t* register_file() { return frames_.registers(); }
  const AlignedBytes& registers() const { return frames_.file(); }
  uint32_t register_base() const { return groups_.current().register_base; }

  /// barrier.cluster: lanes that have arrived in the current round; lanes whose round is over and who have not waited
  /// yet.
  uint32_t cluster_arrived = 0, cluster_released = 0;
  /// Registers per thread that the last setmaxnreg asked for, 0 before the first.
  uint32_t register_limit = 0;

  /// Per-lane and per-warp bookkeeping of the families.
  Extensions extensions;

 private:
  void run_group();
  /// `watched`: for endless loops; `told`: observers hear of each instruction.
  template <bool watched, bool told>
  void run_ops();
  void take_turn(const Op& op, ReservationTable& port, ReservationTable* pipes);
  int64_t occupied(const Op& op, int64_t now) const;
  void resumed(Group& g);
  void note_turn(const Op& op);
  void split(uint32_t lanes, uint32_t pc) {
    groups_.split(lanes, pc);
    stop_ = true;
  }
  void release_warp_barriers();
  void update_ready() {
    const uint64_t earliest = groups_.next_time();
    set_ready(live_ && earliest != ~0ull && !starved_ ? std::max(earliest, time_) : ~0ull);
  }
  void set_ready(uint64_t t);
  void woken(uint64_t when);

  Cta& cta_;
  Sm& sm_;
  uint32_t index_, sub_partition_;
  uint64_t number_;
  uint32_t live_;
  uint32_t told_;  // what observers want to hear of
  uint64_t time_ = 0, deadline_ = 0;
  uint8_t* regs_ = nullptr;
  uint32_t exec_ = 0;
  const Op* op_ = nullptr;
  uint64_t ready_ = 0;
  uint32_t place_ = kNoPlace;
  bool single_ = false;           // run one op only (serial phase)
  bool stop_ = false;             // leave the inner loop: blocked, diverged or exited
  bool again_ = false;            // the op has had no effect yet and will be executed again
  bool starved_ = false;          // the next op needs a result whose time the chip's memory has yet to say
  uint64_t short_since_ = ~0ull;  // since when the next op lacks operands, if it could not be run for that
  Scoreboard scoreboard_;
  uint32_t past_first_turn_ = 0;  // bit: loop (Op::mark)
  uint64_t instructions_ = 0;
  Groups groups_;
  Frames frames_;
  std::unique_ptr<SpinWatch> watch_;
};

template <class F>
int Warp::wake(uint64_t when, F&& match) {
  int n = 0;
  for (Group& g : groups_.all())
    if (g.state == Group::State::blocked && match(g)) {
      g.release(when);
      ++n;
    }
  if (n) woken(when);
  return n;
}

}  // namespace tinygpu
