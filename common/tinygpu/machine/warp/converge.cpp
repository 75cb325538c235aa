// How a warp's lanes part and meet: branches, exits, and what groups wait for.
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {
namespace {

// A group that spins this often while others of its warp could run lets them run: independent lanes make progress.
constexpr uint32_t kSpinLimit = 64;

}  // namespace

bool Warp::converged(uint32_t members) {
  members &= live_;
  if ((exec_ & members) == members) return true;
  Group& g = groups_.current();
  g.pc = uint32_t(op_ - g.function->ops.data());
  stop_ = again_ = true;
  // Lanes that already wait here join, and the op is tried again with all of them.
  if (groups_.gather()) return false;
  // Alone: wait, unless every member is here but switched off by the guard, which no arrival can mend.
  block({BlockReason::Kind::converge, "the other lanes of the warp", nullptr, 0, members, 0}, true);
  return false;
}

void Warp::block(const BlockReason& why, bool retry, uint64_t timeout) {
  again_ |= retry;
  const uint32_t op_pc = uint32_t(op_ - groups_.current().function->ops.data());
  Group* waiting = &groups_.current();
  if (exec_ != waiting->mask && exec_ != 0) {
    // Only the executing lanes wait; the guard keeps the others out, they go on.
    split(exec_, retry ? op_pc : waiting->pc);
    if (retry) groups_.current().pc = op_pc + 1;
    waiting = &groups_.all().back();
  } else if (retry) {
    waiting->pc = op_pc;
  }
  waiting->state = Group::State::blocked;
  waiting->reason = why;
  waiting->retry = retry;
  waiting->timeout = timeout;
  waiting->since = time_;
  waiting->blocked_at = op_;
  stop_ = true;
}

bool Warp::take_timeout() {
  const bool t = groups_.current().timed_out;
  groups_.current().timed_out = false;
  return t;
}

void Warp::woken(uint64_t when) {
  set_ready(std::min(ready_, std::max(time_, when)));
  // The warp that runs now got its limit when this one could not run: it may be ahead of this one by the dial, no
  // further.
  SmPartition& d = partition();
  d.events.stop_before(ready_ + d.launch.options.run_ahead);
  d.made_progress();
}

void Warp::branch(uint32_t taken, uint32_t target) {
  Group& g = groups_.current();
  if (watch_ && taken && target <= uint32_t(op_ - g.function->ops.data())) watch_->branches_back(*this, taken);
  if (target <= uint32_t(op_ - g.function->ops.data()) && groups_.size() > 1 && ++g.spins > kSpinLimit) {
    g.spins = 0;
    ++g.penalty;
    stop_ = true;
  }
  if (taken == g.mask) {
    g.pc = target;
  } else if (taken) {
    split(taken, target);
  }
}

void Warp::branch_each(const uint32_t* target_per_lane) {
  uint32_t left = exec_;
  while (left) {
    const uint32_t target = target_per_lane[__builtin_ctz(left)];
    uint32_t lanes = 0;
    for (uint32_t m = left; m; m &= m - 1)
      if (target_per_lane[__builtin_ctz(m)] == target) lanes |= m & -m;
    left &= ~lanes;
    if (watch_ && target <= uint32_t(op_ - groups_.current().function->ops.data())) watch_->branches_back(*this, lanes);
    if (lanes == groups_.current().mask)
      groups_.current().pc = target;
    else
      split(lanes, target);
  }
}

void Warp::exit(uint32_t lanes) {
  live_ &= ~lanes;
  groups_.current().mask &= ~lanes;
  stop_ = true;
  groups_.drop_empty();
  // Fewer lanes are expected now wherever lanes of this warp wait for each other.
  wake(time_, [](const Group& g) { return g.reason.kind == BlockReason::Kind::converge; });
  release_warp_barriers();
  partition().on_exit(*this, lanes);
}

void Warp::warp_barrier(uint32_t members) {
  block({BlockReason::Kind::warp_barrier, "bar.warp.sync", nullptr, 0, members, 0}, false);
  release_warp_barriers();
}

void Warp::release_warp_barriers() {
  for (bool again = true; again;) {
    again = false;
    for (const Group& g : groups_.all()) {
      if (g.state != Group::State::blocked || g.reason.kind != BlockReason::Kind::warp_barrier) continue;
      const uint32_t members = g.reason.id;
      uint32_t arrived = 0;
      for (const Group& o : groups_.all())
        if (o.state == Group::State::blocked && o.reason.kind == BlockReason::Kind::warp_barrier &&
            o.reason.id == members)
          arrived |= o.mask;
      if ((arrived & members & live_) != (members & live_)) continue;
      if (told(Observer::synchronisation)) {
        const Origin who{&partition().launch, g.function, g.blocked_at, cta_.key, int(index_), -1, 0, arrived};
        tell(cta_, Sync::Kind::warp_sync, 0, 0, time_, &who);
      }
      wake(time_,
           [&](const Group& o) { return o.reason.kind == BlockReason::Kind::warp_barrier && o.reason.id == members; });
      again = true;
      break;
    }
  }
}

}  // namespace tinygpu
