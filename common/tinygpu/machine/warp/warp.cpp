#include "common/tinygpu/machine/warp/warp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"
#include "common/tinygpu/machine/warp/special.h"

namespace tinygpu {
namespace {

// A group that spins this often while others of its warp could run lets them run: independent lanes make progress.
constexpr uint32_t kSpinLimit = 64;
constexpr uint32_t kLocalLimit = 512 * 1024;  // bytes per thread (CUDA: at most 512 KiB of local memory)
constexpr uint32_t kFrameBytes = 16;          // that a call takes of it at least: the return address, aligned

bool same_place(const Group& a, const Group& b) {
  if (a.pc != b.pc || a.function != b.function || a.register_base != b.register_base || a.local_base != b.local_base ||
      a.stack.size() != b.stack.size())
    return false;
  for (size_t i = 0; i < a.stack.size(); ++i)
    if (a.stack[i].function != b.stack[i].function || a.stack[i].return_pc != b.stack[i].return_pc) return false;
  return true;
}

/// Where the frame of a function that group `g` calls begins.
uint32_t frame_of(const Function& callee, const Group& g, const std::vector<Group>& groups) {
  const uint32_t end = g.register_base + g.function->register_bytes;
  // Lanes that have come to the callee before and are still in it may meet these at its collectives: one frame for all.
  const size_t depth = g.stack.size() + 1;
  for (const Group& o : groups) {
    if (o.stack.size() < depth) continue;
    const bool there = o.stack.size() == depth;
    const uint32_t base = there ? o.register_base : o.stack[depth].register_base;
    if ((there ? o.function : o.stack[depth].function) == &callee && base >= end) return base;
  }
  // Frames of different functions cut the register file into lanes differently, so a group's new frame must not overlap
  // one that lanes elsewhere in their calls are using.
  uint32_t base = end;
  for (const Group& o : groups) base = std::max(base, o.register_base + o.function->register_bytes);
  return base;
}

}  // namespace

Warp::Warp(Cta& cta, uint32_t index, uint32_t live_mask) : cta_(cta), index_(index), live_(live_mask), local_(32) {
  groups_.reserve(4);
  groups_.push_back({});
  groups_[0].mask = live_mask;
}

Warp::~Warp() { domain().launch.give_memory(taken_); }

Cluster& Warp::cluster() const { return cta_.cluster; }
Domain& Warp::domain() const { return cta_.cluster.domain; }
Gpu& Warp::gpu() const { return domain().launch.gpu; }
Sm& Warp::sm() const { return cta_.sm; }
const MachineSpec& Warp::spec() const { return gpu().spec; }

void Warp::set_entry(const Function& f) {
  groups_[0].function = &f;
  ensure_registers(f.register_bytes);
  write_constants(f, 0, 0, live_);
  update_ready();
}

void Warp::ensure_registers(size_t bytes) {
  if (file_.size() >= bytes) return;
  bytes = std::max(bytes, file_.size() * 2);
  take_memory(bytes - file_.size());
  file_.resize(bytes, 0xCD);
}

void Warp::take_memory(size_t bytes) {
  taken_ += bytes;
  if (domain().launch.take_memory(bytes)) return;
  const char* help = "end the recursion, launch fewer threads, or give each less local memory";
  const std::string message = fmt::format(
      "the registers and local memory of all threads in flight need more than the {} MiB that this host can give",
      domain().launch.memory_limit() >> 20);
  if (op_) fault(FaultKind::stack_overflow, "stack-overflow", message, help);
  Where where;
  where.kernel = domain().launch.config.kernel->name;
  throw KernelFault({"stack-overflow", Severity::error, FaultKind::stack_overflow, message, help, where});
}

void Warp::watch(bool on) {
  if (!on)
    watch_.reset();
  else if (!watch_)
    watch_ = std::make_unique<SpinWatch>();
}

uint64_t Warp::state() const {
  const Group& g = groups_[current_];
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  uint64_t h[4] = {uint64_t(op_ - g.function->ops.data()), g.function->index, g.stack.size(), g.mask};
  for (const CallFrame& f : g.stack) h[2] = (h[2] ^ f.return_pc ^ uint64_t(f.function->index) << 32) * kFactor;
  size_t end = 0;
  for (const Group& o : groups_) end = std::max<size_t>(end, size_t(o.register_base) + o.function->register_bytes);
  end = std::min(end, file_.size());
  for (size_t i = 0; i + 32 <= end; i += 32)
    for (size_t k = 0; k < 4; ++k) {
      uint64_t v;
      std::memcpy(&v, file_.data() + i + 8 * k, 8);
      h[k] = (h[k] ^ v) * kFactor;
      h[k] ^= h[k] >> 32;
    }
  for (size_t i = end & ~size_t(31); i < end; ++i) h[i & 3] = (h[i & 3] ^ file_[i]) * kFactor;
  uint64_t all = 0;
  for (const uint64_t k : h) all = (all ^ k ^ k >> 29) * kFactor;
  return all;
}

void Warp::write_constants(const Function& f, uint32_t base, uint32_t local_base, uint32_t mask) {
  uint64_t lanes[32];
  for (const FrameConstant& c : f.constants) {
    uint8_t* slot = file_.data() + base + c.slot;
    uint64_t bits = c.bits;
    if (c.kind == FrameConstant::Kind::special) {
      special_values(*this, Special(c.bits), lanes);
    } else {
      if (c.kind == FrameConstant::Kind::shared) bits += uint64_t(cta_.rank) << 24;
      if (c.kind == FrameConstant::Kind::dynamic_shared)
        bits += (uint64_t(cta_.rank) << 24) + kSharedBase + domain().launch.config.kernel->static_shared;
      if (c.kind == FrameConstant::Kind::local) bits += local_base;
      std::fill(lanes, lanes + 32, bits);
    }
    if (c.width == 0) {
      uint32_t m = 0;
      for (int i = 0; i < 32; ++i) m |= uint32_t(lanes[i] & 1) << i;
      uint32_t& p = *reinterpret_cast<uint32_t*>(slot);
      p = (p & ~mask) | (m & mask);
      continue;
    }
    for (int i = 0; i < 32; ++i) {
      if (!(mask >> i & 1)) continue;
      uint64_t value[2] = {lanes[i], 0};
      std::memcpy(slot + size_t(i) * c.width, value, c.width);
    }
  }
}

// ---- The interpreter

void Warp::run(uint64_t deadline) {
  deadline_ = deadline;
  while (live_ && time_ < deadline_) {
    if (!pick_group()) break;
    run_group();
    if (single_) break;
  }
  update_ready();
}

bool Warp::pick_group() {
  uint64_t earliest = ~0ull;
  for (const Group& g : groups_) earliest = std::min(earliest, g.state == Group::State::runnable ? g.wake : g.timeout);
  if (earliest >= deadline_) return false;
  if (earliest > time_) time_ = earliest;
  for (Group& g : groups_)
    if (g.state == Group::State::blocked && g.timeout <= time_) {
      g.state = Group::State::runnable;
      g.timed_out = true;
      g.wake = g.timeout;
      g.timeout = ~0ull;
    }
  if (groups_.size() > 1) merge_groups();
  size_t best = groups_.size();
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& g = groups_[i];
    if (g.state != Group::State::runnable || g.wake > time_) continue;
    if (best == groups_.size()) {
      best = i;
      continue;
    }
    const Group& b = groups_[best];
    const auto key = [](const Group& x) { return std::make_tuple(x.penalty, ~x.stack.size(), x.pc); };
    if (key(g) < key(b)) best = i;
  }
  if (best == groups_.size()) return false;
  current_ = best;
  return true;
}

void Warp::merge_groups() {
  for (size_t i = 0; i < groups_.size(); ++i)
    for (size_t k = i + 1; k < groups_.size();) {
      Group& a = groups_[i];
      Group& b = groups_[k];
      if (a.state == Group::State::runnable && b.state == Group::State::runnable && !a.timed_out && !b.timed_out &&
          same_place(a, b)) {
        a.mask |= b.mask;
        a.wake = std::max(a.wake, b.wake);
        a.spins = a.penalty = 0;
        groups_.erase(groups_.begin() + long(k));
      } else {
        ++k;
      }
    }
}

void Warp::run_group() {
  const bool told = domain().launch.observers.want(Observer::instructions);
  if (watch_)
    told ? run_ops<true, true>() : run_ops<true, false>();
  else
    told ? run_ops<false, true>() : run_ops<false, false>();
}

/// The current group has been blocked and goes on.
void Warp::resumed(Group& g) {
  if (time_ > g.since)
    domain().launch.observers.tell(Observer::waits, [&](Observer& o) {
      o.on_wait({*this, g, *g.blocked_at, g.since, time_});
    });
  g.since = ~0ull;
}

template <bool watched, bool told>
void Warp::run_ops() {
  stop_ = false;
  const bool multi = groups_.size() > 1;
  Group* g = &groups_[current_];
  if (g->since != ~0ull) resumed(*g);
  const Function& function = *g->function;
  const Op* ops = function.ops.data();
  const uint32_t end = uint32_t(function.ops.size());
  regs_ = file_.data() + g->register_base;
  const uint32_t mask = g->mask;
  uint32_t pc = g->pc;
  const int64_t ahead = int64_t(domain().launch.options.run_ahead);
  int64_t& port = cta_.sm.port[index_ & 3];
  const bool serial_ok = domain().serial;
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
    if (multi && !first && (op.flags & Op::join)) break;
    first = false;
    op_ = &op;
    exec_ = mask;
    if (op.guard != kNoSlot) {
      const uint32_t p = *reinterpret_cast<const uint32_t*>(regs_ + op.guard);
      exec_ &= (op.flags & Op::guard_negated) ? ~p : p;
    }
    [[maybe_unused]] const uint64_t ready = time_;
    if (op.wait_sb)
      for (uint32_t m = op.wait_sb; m; m &= m - 1) time_ = std::max(time_, scoreboard_[__builtin_ctz(m)]);
    [[maybe_unused]] const uint64_t operands = time_;
    // The issue port's queue: cycles of work committed, never more than `ahead` cycles in the past, so that warps that
    // run ahead of each other by the dial do not delay each other falsely.
    const int64_t now = int64_t(time_);
    port = std::max(port, now - ahead);
    if (port > now) time_ = uint64_t(port);
    port += op.issue;
    [[maybe_unused]] const uint64_t issued = time_;
    [[maybe_unused]] const uint32_t lanes = exec_;
    const auto tell = [&] {
      if constexpr (told)
        domain().launch.observers.tell(Observer::instructions, [&](Observer& o) {
          o.on_instruction({*this, function, op, lanes, ready, operands, issued, again_ ? issued : time_, again_});
        });
    };
    if (exec_) {
      if ((op.flags & Op::serial) && !serial_ok) {
        block({BlockReason::Kind::serial, "the serial phase", nullptr, 0, 0, 0}, true);
        domain().deferred.push_back(this);
        return tell();
      }
      g->pc = pc + 1;
      if ((op.flags & Op::reads_pending) && !pending.empty() && pending_check) {
        pending_check(*this, op);
        if (stop_) return tell();
      }
      if constexpr (watched)
        if (SpinWatch::disturbs(op)) ++domain().progress;
      again_ = false;
      op.fn(*this, op);
      if ((op.flags & Op::serial) && !single_) domain().strong_access(op);
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

// ---- Groups

bool Warp::converged(uint32_t members) {
  members &= live_;
  if ((exec_ & members) == members) return true;
  Group& g = groups_[current_];
  g.pc = uint32_t(op_ - g.function->ops.data());
  // Whoever already waits here joins, and the op is tried again with all of them.
  for (size_t i = 0; i < groups_.size(); ++i) {
    Group& o = groups_[i];
    if (i == current_ || o.state != Group::State::blocked || o.reason.kind != BlockReason::Kind::converge ||
        !same_place(g, o))
      continue;
    o.state = Group::State::runnable;
    o.wake = 0;
  }
  const uint32_t before = g.mask;
  merge_groups();
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].mask & before) current_ = i;
  Group& merged = groups_[current_];
  stop_ = again_ = true;
  if (merged.mask != before) return false;
  // Alone: wait, unless every member is here but switched off by the guard, which no arrival can mend.
  block({BlockReason::Kind::converge, "the other lanes of the warp", nullptr, 0, members, 0}, true);
  return false;
}

void Warp::block(const BlockReason& why, bool retry, uint64_t timeout) {
  again_ |= retry;
  const uint32_t op_pc = uint32_t(op_ - groups_[current_].function->ops.data());
  Group* waiting = &groups_[current_];
  if (exec_ != waiting->mask && exec_ != 0) {
    // Only the executing lanes wait; the guard keeps the others out, they go on.
    split(exec_, retry ? op_pc : waiting->pc);
    if (retry) groups_[current_].pc = op_pc + 1;
    waiting = &groups_.back();
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
  const bool t = groups_[current_].timed_out;
  groups_[current_].timed_out = false;
  return t;
}

void Warp::woken(uint64_t when) {
  ready_ = std::min(ready_, std::max(time_, when));
  // Whoever wakes this warp was told how far it may run when this one could not: no further than ahead of it by the
  // dial.
  Domain& d = domain();
  if (d.events.horizon) *d.events.horizon = std::min(*d.events.horizon, ready_ + d.launch.options.run_ahead);
  d.made_progress();
}

void Warp::update_ready() {
  uint64_t earliest = ~0ull;
  for (const Group& g : groups_) earliest = std::min(earliest, g.state == Group::State::runnable ? g.wake : g.timeout);
  ready_ = live_ && earliest != ~0ull ? std::max(earliest, time_) : ~0ull;
}

void Warp::split(uint32_t lanes, uint32_t pc) {
  Group other = groups_[current_];
  groups_[current_].mask &= ~lanes;
  other.mask = lanes;
  other.pc = pc;
  other.spins = 0;
  groups_.push_back(std::move(other));
  stop_ = true;
}

void Warp::drop_empty_groups() {
  groups_.erase(std::remove_if(groups_.begin(), groups_.end(), [](const Group& g) { return g.mask == 0; }),
                groups_.end());
  current_ = 0;
}

void Warp::branch(uint32_t taken, uint32_t target) {
  Group& g = groups_[current_];
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
    if (watch_ && target <= uint32_t(op_ - groups_[current_].function->ops.data())) watch_->branches_back(*this, lanes);
    if (lanes == groups_[current_].mask)
      groups_[current_].pc = target;
    else
      split(lanes, target);
  }
}

void Warp::exit(uint32_t lanes) {
  live_ &= ~lanes;
  groups_[current_].mask &= ~lanes;
  stop_ = true;
  drop_empty_groups();
  // Fewer lanes are expected now wherever lanes of this warp wait for each other.
  wake(time_, [](const Group& g) { return g.reason.kind == BlockReason::Kind::converge; });
  release_warp_barriers();
  domain().on_exit(*this, lanes);
}

void Warp::warp_barrier(uint32_t members) {
  block({BlockReason::Kind::warp_barrier, "bar.warp.sync", nullptr, 0, members, 0}, false);
  release_warp_barriers();
}

void Warp::release_warp_barriers() {
  for (bool again = true; again;) {
    again = false;
    for (const Group& g : groups_) {
      if (g.state != Group::State::blocked || g.reason.kind != BlockReason::Kind::warp_barrier) continue;
      const uint32_t members = g.reason.id;
      uint32_t arrived = 0;
      for (const Group& o : groups_)
        if (o.state == Group::State::blocked && o.reason.kind == BlockReason::Kind::warp_barrier &&
            o.reason.id == members)
          arrived |= o.mask;
      if ((arrived & members & live_) != (members & live_)) continue;
      wake(time_,
           [&](const Group& o) { return o.reason.kind == BlockReason::Kind::warp_barrier && o.reason.id == members; });
      again = true;
      break;
    }
  }
}

void Warp::call(const Op& op, const Function& callee) {
  const uint32_t lanes = exec_;
  if (lanes != groups_[current_].mask) {
    // Lanes that the guard switches off go on behind the call.
    const uint32_t rest = groups_[current_].mask & ~lanes;
    split(rest, groups_[current_].pc);
  }
  Group& g = groups_[current_];
  const Function& caller = *g.function;
  const uint32_t* list = op.list;
  const uint32_t arguments = list ? list[0] : 0;
  const uint32_t new_local = g.local_base + caller.local_bytes;
  const uint32_t new_registers = frame_of(callee, g, groups_);
  if (g.stack.size() * kFrameBytes + new_local > kLocalLimit)
    fault(FaultKind::stack_overflow, "stack-overflow",
          fmt::format("{} calls deep, with {} bytes of local memory: past the {} bytes that a thread's stack may have",
                      g.stack.size(), new_local, kLocalLimit),
          "recursion without end?", __builtin_ctz(lanes));
  ensure_registers(size_t(new_registers) + callee.register_bytes);
  if (arguments > callee.params.size())
    fault(FaultKind::launch_failure, "call-signature",
          fmt::format("call of {} with {} arguments, it takes {}", callee.name, arguments, callee.params.size()), "");
  for (uint32_t i = 0; i < arguments; ++i) {
    const ParamInfo& p = callee.params[i];
    for (uint32_t m = lanes; m; m &= m - 1) {
      const uint32_t lane = uint32_t(__builtin_ctz(m));
      // The destination may grow the lane's memory, so it is asked for first.
      uint8_t* to = local(lane, new_local + p.offset, p.size);
      std::memcpy(to, local(lane, g.local_base + list[1 + i], p.size), p.size);
    }
  }
  g.stack.push_back({g.function, g.pc, g.register_base, g.local_base, list});
  g.function = &callee;
  g.pc = 0;
  g.register_base = new_registers;
  g.local_base = new_local;
  write_constants(callee, new_registers, new_local, lanes);
  stop_ = true;
}

void Warp::call_lanes(uint32_t lanes, const Op& op, const Function& callee) {
  split(exec_ & ~lanes, uint32_t(&op - groups_[current_].function->ops.data()));
  exec_ = lanes;
  call(op, callee);
}

void Warp::ret(uint32_t lanes) {
  Group& g = groups_[current_];
  if (g.stack.empty()) {
    exit(lanes);
    return;
  }
  if (lanes != g.mask) {
    split(g.mask & ~lanes, g.pc);
  }
  Group& r = groups_[current_];
  const CallFrame frame = r.stack.back();
  const uint32_t* list = frame.list;
  const uint32_t returns = list ? list[1 + list[0]] : 0;
  for (uint32_t i = 0; i < returns && i < r.function->returns.size(); ++i) {
    const ParamInfo& p = r.function->returns[i];
    for (uint32_t m = lanes; m; m &= m - 1) {
      const uint32_t lane = uint32_t(__builtin_ctz(m));
      uint8_t* from = local(lane, r.local_base + p.offset, p.size);
      std::memcpy(local(lane, frame.local_base + list[2 + list[0] + i], p.size), from, p.size);
    }
  }
  const uint32_t left = r.register_base, left_bytes = r.function->register_bytes;
  r.stack.pop_back();
  r.function = frame.function;
  r.pc = frame.return_pc;
  r.register_base = frame.register_base;
  r.local_base = frame.local_base;
  stop_ = true;
  if (pending.empty() || !pending_leave) return;
  const auto uses = [&](const Group& g) {
    return g.register_base == left ||
           std::any_of(g.stack.begin(), g.stack.end(), [&](const CallFrame& f) { return f.register_base == left; });
  };
  if (std::none_of(groups_.begin(), groups_.end(), uses)) pending_leave(*this, left, left + left_bytes);
}

uint8_t* Warp::local(uint32_t lane, uint32_t offset, uint32_t size) {
  auto& bytes = local_[lane];
  const uint64_t end = uint64_t(offset) + size;
  if (end > kLocalLimit)
    fault(FaultKind::stack_overflow, "stack-overflow",
          fmt::format("local memory offset {} is past the {} bytes a thread may have", end, kLocalLimit),
          "recursion without end, or a local array that is too large", int(lane));
  if (bytes.size() < end) {
    // A whole frame at a time, so that pointers taken within one op stay valid.
    const Group& g = groups_[current_];
    const size_t frame = size_t(g.local_base) + g.function->local_bytes;
    if (frame > kLocalLimit)
      fault(FaultKind::stack_overflow, "stack-overflow",
            fmt::format("local memory up to offset {}, past the {} bytes a thread may have", frame, kLocalLimit),
            "recursion without end, or a local array that is too large", int(lane));
    const size_t size = std::max<size_t>({end, frame, std::min<size_t>(2 * bytes.size(), kLocalLimit)});
    take_memory(size - bytes.size());
    bytes.reserve(std::max<size_t>(size, 1024));
    bytes.resize(size, 0xCD);
  }
  return bytes.data() + offset;
}

// ---- Diagnosis

Where Warp::where_of(const Op& op, const Function& f, int lane) const {
  Where w;
  w.kernel = domain().launch.config.kernel->name;
  w.cta[0] = int(cta_.id.x);
  w.cta[1] = int(cta_.id.y);
  w.cta[2] = int(cta_.id.z);
  w.warp = int(index_);
  if (lane >= 0) w.thread = int(index_ * 32) + lane;
  const ptx::Instruction& i = f.instruction(op);
  w.ptx_line = int(i.pos.line);
  w.ptx_text = i.text;
  if (i.source.line && i.source.file < f.module->files.size()) {
    w.cuda_file = f.module->files[i.source.file];
    w.cuda_line = int(i.source.line);
  }
  return w;
}

Where Warp::where(int lane) const { return where_of(*op_, *groups_[current_].function, lane); }

void Warp::fault(FaultKind kind, std::string code, std::string message, std::string help, int lane) const {
  throw KernelFault({std::move(code), Severity::error, kind, std::move(message), std::move(help), where(lane)});
}

void Warp::report(Severity severity, std::string code, std::string message, std::string help, int lane) const {
  domain().launch.report(
      {std::move(code), severity, FaultKind::launch_failure, std::move(message), std::move(help), where(lane)}, op_);
}

}  // namespace tinygpu
