// The loop that runs a warp's instructions.
#include <algorithm>
#include <cmath>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {
namespace {

/// The unit that takes `op`; of the two halves that multiply, the one that is free first.
[[gnu::always_inline]] inline ReservationTable& pipe_of(const Op& op, ReservationTable* pipes, int64_t now) {
  if (op.pipe != Pipe::fma) return pipes[size_t(op.pipe)];
  ReservationTable &heavy = pipes[size_t(Pipe::fma_heavy)], &lite = pipes[size_t(Pipe::fma_lite)];
  return lite.first(now) <= heavy.first(now) ? lite : heavy;
}

}  // namespace

void Warp::run(uint64_t deadline) {
  deadline_ = deadline;
  const EventQueue::Horizon horizon(partition().events, deadline_);
  while (live_ && time_ < deadline_) {
    const uint64_t next = groups_.next_time();
    if (next >= deadline_) break;
    time_ = std::max(time_, next);
    if (!groups_.pick(time_)) break;
    run_group();
    if (starved_) break;
  }
  update_ready();
}

const Op* Warp::run_serial() {
  const auto waiting = std::ranges::find_if(groups_.all(), &Group::waits_for_serial);
  const bool any = waiting != groups_.all().end();
  if (any) {
    waiting->release(0);
    groups_.select(*waiting);
    single_ = true;
    deadline_ = ~0ull;
    run_group();
    single_ = false;
  }
  update_ready();
  return any ? op_ : nullptr;
}

void Warp::run_group() {
  const bool told = this->told(Observer::instructions);
  if (watch_)
    told ? run_ops<true, true>() : run_ops<true, false>();
  else
    told ? run_ops<false, true>() : run_ops<false, false>();
}

/// The current group has been blocked and goes on.
void Warp::resumed(Group& g) {
  if (time_ > g.since)
    partition().launch.observers.tell(Observer::waits, [&](Observer& o) {
      o.on_wait({*this, g, *g.blocked_at, g.since, time_});
    });
  g.since = ~0ull;
}

void Warp::note_turn(const Op& op) {
  const uint32_t loop = 1u << op.loop;
  if (op.loop_role == Op::LoopRole::before) past_first_turn_ &= ~loop;
  if (op.loop_role == Op::LoopRole::end_of_turn) past_first_turn_ |= loop;
}

/// Cycles of its unit.
inline int64_t Warp::occupied(const Op& op, int64_t now) const {
  // What wgmma reads and writes of the registers is taken from others.
  const bool beside = now < int64_t(sm_.wgmma_until) && op.pipe != Pipe::lsu;
  return beside ? std::lround(op.occupies * timing().wgmma->beside) : op.occupies;
}

/// Waits for the issue port and the unit behind it. An mma.sync keeps the port for cycles in which it reads its
/// registers, and those are taken from what others have, but not at once: what follows it issues before they are over
/// (H200, probe_05_mma_sync: with one, two and four integers behind each, of one, two or four warps, an m16n8k16 takes
/// 6.8, 7.4 and 10.1 cycles, with two and four f32 multiplications 7.9 and 9.9, alone 6.1).
[[gnu::always_inline]] inline void Warp::take_turn(const Op& op, ReservationTable& port, ReservationTable* pipes) {
  int64_t now = int64_t(time_);
  ReservationTable* const pipe = op.pipe == Pipe::none ? nullptr : &pipe_of(op, pipes, now);
  if (pipe) now = pipe->first(now);
  if (op.issue) {
    int64_t& reads_until = sm_.reads_until[sub_partition_];
    const auto [turn, end] = port.take(now, op.issue);
    if (op.cost == CostClass::mma_sync) [[unlikely]] {
      now = turn;
      reads_until = end;
    } else if (turn > now) {
      now = reads_until > now ? std::max(now, turn - (reads_until - now)) : turn;
    }
  }
  if (pipe) now = pipe->take(now, occupied(op, now)).begin;
  time_ = uint64_t(now);
}

template <bool watched, bool told>
void Warp::run_ops() {
  stop_ = false;
  const bool multi = groups_.size() > 1;
  Group* g = &groups_.current();
  if (g->since != ~0ull) resumed(*g);
  const Function& function = *g->function;
  const Op* ops = function.ops.data();
  const uint32_t end = uint32_t(function.ops.size());
  regs_ = frames_.registers() + g->register_base;
  const uint32_t mask = g->mask;
  uint32_t pc = g->pc;
  ReservationTable& port = sm_.port[sub_partition_];
  ReservationTable* const pipes = sm_.pipes[sub_partition_];
  const bool serial_ok = partition().serial;
  bool first = true;
  while (time_ < deadline_) {
    if (pc >= end) {
      // Falling off the end of an entry is an exit, of a function a return (PTX ISA 9.7.12.7).
      exec_ = mask;
      op_ = end ? &ops[end - 1] : nullptr;  // a body may be empty
      if (g->stack.empty())
        exit(mask);
      else
        ret(mask);
      return;
    }
    const Op& op = ops[pc];
    const uint64_t ready = std::min(short_since_, time_);
    uint64_t operands = ready;
    uint32_t exec = mask;
    if (!op.plain) {
      if (multi && !first && (op.flags & Op::join)) break;
      if (op.guard != kNoSlot) {
        const uint32_t p = *reinterpret_cast<const uint32_t*>(regs_ + op.guard);
        exec &= (op.flags & Op::guard_negated) ? ~p : p;
      }
      if (op.wait_sb) operands = scoreboard_.operands_of(op, ready);
      uint64_t earliest = std::max(operands, time_);
      // A store that left its SM ahead of its time would stand in the way of others at L2.
      if (op.cost == CostClass::global_store) earliest = std::max(earliest, sm_.stores_held);
      if (earliest >= deadline_ && earliest > time_) [[unlikely]] {
        // Others come first, or how long this takes is not known yet.
        op_ = &op;
        exec_ = exec;
        short_since_ = ready;
        starved_ = operands == Scoreboard::kUnknown;
        if (!starved_) time_ = earliest;
        break;
      }
      if (op.loop_role != Op::LoopRole::none) [[unlikely]]
        note_turn(op);
      time_ = earliest;
    }
    first = false;
    op_ = &op;
    exec_ = exec;
    short_since_ = ~0ull;
    take_turn(op, port, pipes);
    [[maybe_unused]] const uint64_t issued = time_;
    const auto tell = [&] {
      if constexpr (told)
        partition().launch.observers.tell(Observer::instructions, [&](Observer& o) {
          o.on_instruction({*this, function, op, exec, ready, operands, issued, again_ ? issued : time_, again_});
        });
    };
    if (exec) {
      if (!op.plain && (op.flags & Op::serial) && !serial_ok) {
        block({BlockReason::Kind::serial, "the serial phase", nullptr, 0, 0, 0}, true);
        partition().defer(*this);
        return tell();
      }
      g->pc = pc + 1;
      if (!op.plain && (op.flags & Op::reads_pending) && !pending.empty() && pending_check) {
        pending_check(*this, op);
        if (stop_) return tell();
      }
      if constexpr (watched)
        if (SpinWatch::disturbs(op)) ++partition().progress;
      again_ = false;
      op.fn(*this, op);
      if (!op.plain && (op.flags & Op::serial) && !single_) partition().strong_access(op);
      ++instructions_;
      time_ += op.stall;
      tell();
      if (stop_ || single_) return;
      pc = g->pc;
    } else {
      ++instructions_;
      time_ += op.stall;
      again_ = false;
      tell();
      ++pc;
    }
  }
  g->pc = pc;
}

}  // namespace tinygpu
