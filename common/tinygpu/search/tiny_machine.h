// The tiny machine: one SM with the units that matter to a product or to attention, at the grain of tiles. A kernel is
// written as roles, coroutines that give twelve instructions, two more for attention and one for parts of K that meet;
// each takes its time at the units that it needs, in the order of events:
//
//   begin_cta            the CTA is there, with its barriers and its Tensor Memory
//   load_tile            TMA brings a block; its barrier hears of it
//   wait, arrive         at barriers
//   mma_tile, commit     the tensor core takes a block; a barrier hears when it is done
//   load_accumulator     registers take a box of D from Tensor Memory
//   stage_tile           it goes to shared memory
//   store_tile           to D, by TMA or by the threads
//   wait_stored          until a store's source may be overwritten
//   claim                launch control's answer
//   end_cta
//   work                 a warpgroup's exponentials and other instructions
//   store_accumulator    registers go to Tensor Memory
//   gather               registers take what other SMs have left in L2
//
// The other SMs do the same at the same time: what they take of L2 and of device memory is part of a load's time
// (Shares). All numbers are the profile's.
#pragma once
#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <vector>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu::search {

using Cycles = double;

/// The profile's numbers that the machine uses, looked up once.
struct Numbers {
  explicit Numbers(const MachineSpec& spec);
  Cycles tma_latency, tma_issue_load, tma_issue_first, tma_issue_store, tma_store_latency, tma_commit, tma_multicast,
      tma_outside;
  double tma_bytes, tma_rows, tma_store_bytes, tma_reduce_bytes, sm_bytes, shared_bytes, sm_store_bytes;
  Cycles dram_added, wait_ready, wake, arrive, remote, expect, fence, barrier, barrier_warp, cluster_barrier;
  Cycles l2_latency, handover;  // of a thread's load; from a consumer's last store until others know that it is in L2
  Cycles launch, launch_cta, launch_refill, launch_end, first_access, map_fetch, claim;
  double l2_bytes, l2_tile_bytes, l2_read_least, l2_outside_bytes, l2_atomic_sector, l2_write_bytes, l2_write_least,
      fill_bytes, dram_bytes, dram_least, l2_keeps, l2_lines;
  // The tensor core.
  double columns, operand_bytes;
  Cycles mma_m64 = 0, mma_m128 = 0, mma_pair = 0, pair_interval = 0, wgmma_wait = 0, wgmma_batch = 0;
  double mma_queue = 16;
  Cycles alloc = 0, load_fixed = 0, load_register = 0, load_latency = 0, mma_tmem = 0;
  Cycles store_fixed = 0, store_register = 0, store_latency = 0;
  double copy_bytes = 1;  // a cycle, from shared to Tensor Memory
  // An instruction of a warp: of the special-function unit, an integer or comparing one, a conversion.
  Cycles special, alu, convert;
  Cycles row;  // from the last score to the first exponential: what waits for what, the row's four threads as well
  double beside = 1;  // so many times as long do they take while wgmma works on registers
  int sms;
};

/// A unit that serves one request after the other.
struct Unit {
  Cycles free = 0, busy = 0;
  Cycles serve(Cycles now, Cycles takes) {
    busy += takes;
    return free = std::max(free, now) + takes;
  }
};

class TinyMachine;

/// A role of the kernel: a coroutine that the machine resumes.
struct Role {
  struct promise_type {
    Role get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

/// An mbarrier: a phase is over after `count` arrivals.
struct Barrier {
  uint32_t count = 1, pending = 1, phases = 0;
  std::vector<std::coroutine_handle<>> waiting = {};
  std::vector<uint32_t> wanted = {};
};

/// What a load of a block costs beside the SM's own units: of L2 and of device memory, all SMs together.
struct Shares {
  Cycles l2 = 0, dram = 0, outside = 0;  // rows outside the matrix
  bool from_dram = false;
};

/// What a load of a block is.
struct Load {
  double bytes;       // that this SM takes in, by its own TMA and by others' multicasts
  double pieces;      // in which they come: rows of boxes, cut at lines
  double filled;      // pieces of up to 64 bytes outside the matrix that are multicast, as zeros
  Cycles asked;       // of its own TMA
  uint32_t requests;  // instructions
  bool multicast;
};

class TinyMachine {
 public:
  explicit TinyMachine(const Numbers& n) : n_(n) { events_.reserve(64); }
  ~TinyMachine();
  TinyMachine(const TinyMachine&) = delete;

  void add(Role role) {
    roles_.push_back(role.handle);
    at(0, role.handle);
  }
  /// Until all roles have ended; what has passed then.
  Cycles run();

  // ---- The instructions. Those that a role waits for are awaited.
  struct Until {
    TinyMachine& m;
    Cycles time;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { m.at(time, h); }
    void await_resume() const {}
  };
  struct Phase {
    TinyMachine& m;
    Barrier& b;
    uint32_t phases;
    Cycles& waited;
    Cycles since = 0;
    bool slept = false;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h);
    void await_resume() const { waited += m.now_ - since; }
  };
  Until begin_cta(Cycles launched, bool pair);
  Until load_tile(const Load& load, const Shares& shares, Barrier& full);
  /// Until `phases` phases of the barrier are over; the time goes to `waited`.
  Phase wait(Barrier& b, uint32_t phases, Cycles& waited) { return {*this, b, phases, waited}; }
  void arrive(Barrier& b, Cycles later = 0) { at(now_ + n_.arrive + later, b); }
  /// `instructions` of `interval` each behind a pause of `batch`.
  Until mma_tile(double instructions, Cycles interval, Cycles batch = 0);
  /// `b` hears when all so far is done, `latency` after the tensor core has gone on.
  void commit(Barrier& b, Cycles latency) { at(std::max(now_, tensor_.free) + latency, b); }
  /// The tensor core is done with what was issued before `free`.
  Until done(Cycles free) { return {*this, std::max(now_, free + n_.wgmma_wait)}; }
  Until load_accumulator(double registers);
  Until store_accumulator(double registers);
  /// Each thread of a warpgroup, one warp of each sub-partition: cycles that its instructions keep the issue port, and
  /// exponentials, which keep it for half of their time. Both take longer beside the tensor core's work.
  Until work(Cycles instructions, double exponentials);
  Until pause(Cycles takes) { return {*this, now_ + takes}; }
  Until stage_tile(double bytes, double threads_instructions);
  /// `share`: of L2, all SMs together. Threads store in pieces of `piece` bytes of a row.
  Until store_tile(double bytes, double piece, bool reduces, Cycles share);
  Until wait_stored(double left);
  Until gather(double bytes, Cycles share);
  Until claim() { return {*this, now_ + n_.wait_ready + n_.arrive}; }
  Until end_cta() { return {*this, now_ + n_.barrier}; }

  Cycles now() const { return now_; }
  /// Since the beginning, with what was not walked (Steady).
  Cycles passed() const { return now_ + skipped_; }
  Cycles tensor_free() const { return tensor_.free; }
  const Numbers& numbers() const { return n_; }

  /// All that what comes next depends on, beside the barriers: times from now, and whom they belong to.
  struct State {
    std::vector<Cycles> times;
    std::vector<uintptr_t> marks;
  };
  State state() const;
  /// The time, and what the units have worked; and more of it, which is not walked. `more` may be longer.
  std::vector<Cycles> sums() const;
  void add(const std::vector<Cycles>& more);

  struct Busy {
    Cycles tensor, tma, l2, outside, dram, issue, special, threads;
  };
  Busy busy() const {
    return {
        tensor_.busy, std::max(tma_.busy, ingress_.busy), l2_.busy, outside_.busy, dram_.busy, issue_, special_.busy,
        threads_.busy};
  }

 private:
  /// What `takes` so long by itself, from a time on at which the tensor core may still be at work.
  Cycles beside(Cycles from, Cycles takes) const;

  struct Event {
    Cycles time;
    uint64_t number;
    std::coroutine_handle<> role;  // or
    Barrier* barrier;
    friend bool operator<(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };
  void push(Event e) {
    events_.push_back(e);
    std::push_heap(events_.begin(), events_.end());
  }
  void at(Cycles t, std::coroutine_handle<> role) { push({t, number_++, role, nullptr}); }
  void at(Cycles t, Barrier& b) { push({t, number_++, {}, &b}); }

  const Numbers& n_;
  Cycles now_ = 0, skipped_ = 0, issue_ = 0;
  uint64_t number_ = 0;
  std::vector<Event> events_;
  std::vector<std::coroutine_handle<>> roles_;
  Unit tma_, ingress_, l2_, outside_, dram_, tensor_, tensor_memory_, shared_, store_, l2_write_, special_, threads_;
};

}  // namespace tinygpu::search
