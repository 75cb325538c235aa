// Calls and returns of a warp's lanes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu {
namespace {

constexpr uint32_t kFrameBytes = 16;  // of local memory that a call takes at least: the return address, aligned

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

/// Bytes of stack that these frames take, each function's once: what ptxas sums up for a kernel before it runs.
uint32_t without_recursion(const Group& g, const Function* callee) {
  std::vector<const Function*> frames = {g.function};
  if (callee) frames.push_back(callee);
  for (const CallFrame& f : g.stack) frames.push_back(f.function);
  std::ranges::sort(frames);
  const auto repeated = std::ranges::unique(frames);
  frames.erase(repeated.begin(), repeated.end());
  uint32_t bytes = 0;
  for (const Function* f : frames) bytes += f->stack_bytes;
  return bytes;
}

}  // namespace

void Warp::check_stack(const Group& g, const Function* callee, uint64_t more, int lane) {
  const uint64_t need = g.stack_base + g.function->stack_bytes + (callee ? callee->stack_bytes : 0) + more;
  const uint32_t limit = gpu().stack_limit;
  // Nobody has set one: local memory's own limit holds. And a driver gives a kernel the stack that its calls need
  // without recursion, whatever the limit is.
  if (limit >= kLocalLimit || need <= limit || need <= without_recursion(g, callee)) return;
  fault(FaultKind::stack_overflow, "stack-overflow",
        fmt::format("{} calls deep, a thread needs at least {} bytes of stack; cudaLimitStackSize is {}",
                    g.stack.size() + (callee ? 1 : 0), need, limit),
        "cudaDeviceSetLimit(cudaLimitStackSize, bytes) before the launch, or end the recursion earlier", lane);
}

void Warp::call(const Op& op, const Function& callee) {
  const uint32_t lanes = exec_;
  if (lanes != groups_.current().mask) {
    // Lanes that the guard switches off go on behind the call.
    const uint32_t rest = groups_.current().mask & ~lanes;
    split(rest, groups_.current().pc);
  }
  Group& g = groups_.current();
  const Function& caller = *g.function;
  const uint32_t* list = op.list;
  const uint32_t arguments = list ? list[0] : 0;
  const uint32_t new_local = g.local_base + caller.local_bytes;
  const uint32_t new_registers = frame_of(callee, g, groups_.all());
  if (g.stack.size() * kFrameBytes + new_local > kLocalLimit)
    fault(FaultKind::stack_overflow, "stack-overflow",
          fmt::format("{} calls deep, with {} bytes of local memory: past the {} bytes that a thread's stack may have",
                      g.stack.size(), new_local, kLocalLimit),
          "recursion without end?", __builtin_ctz(lanes));
  check_stack(g, &callee, 0, __builtin_ctz(lanes));
  frames_.ensure_registers(size_t(new_registers) + callee.register_bytes);
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
  g.stack.push_back({g.function, g.pc, g.register_base, g.local_base, g.stack_base, list});
  g.stack_base += caller.stack_bytes;
  g.function = &callee;
  g.pc = 0;
  g.register_base = new_registers;
  g.local_base = new_local;
  frames_.write_constants(callee, new_registers, new_local, lanes);
  stop_ = true;
}

void Warp::call_lanes(uint32_t lanes, const Op& op, const Function& callee) {
  split(exec_ & ~lanes, uint32_t(&op - groups_.current().function->ops.data()));
  exec_ = lanes;
  call(op, callee);
}

void Warp::ret(uint32_t lanes) {
  Group& g = groups_.current();
  if (g.stack.empty()) {
    exit(lanes);
    return;
  }
  if (lanes != g.mask) {
    split(g.mask & ~lanes, g.pc);
  }
  Group& r = groups_.current();
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
  r.stack_base = frame.stack_base;
  stop_ = true;
  if (pending.empty() || !pending_leave) return;
  const auto uses = [&](const Group& g) {
    return g.register_base == left ||
           std::any_of(g.stack.begin(), g.stack.end(), [&](const CallFrame& f) { return f.register_base == left; });
  };
  if (std::ranges::none_of(groups_.all(), uses)) pending_leave(*this, left, left + left_bytes);
}

}  // namespace tinygpu
