#include "common/tinygpu/check/wgmma_registers.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/origin.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu::checks {
namespace {

bool multiplies(const ptx::Instruction& i) {
  return i.opcode == ptx::Opcode::wgmma_mma_async || i.opcode == ptx::Opcode::wgmma_mma_async_sp;
}

/// The registers that an operand names, not those of an address.
void each_register(const ptx::Operand& o, auto&& f) {
  using Kind = ptx::Operand::Kind;
  if (o.kind == Kind::reg) f(o.reg);
  if (o.kind == Kind::vector || o.kind == Kind::pair || o.kind == Kind::list)
    for (const ptx::Operand& e : o.elems) each_register(e, f);
}

bool is_vector(const ptx::Operand& o) { return o.kind == ptx::Operand::Kind::vector; }

}  // namespace

uint32_t WgmmaRegisters::interests_in(const LaunchConfig& launch) const {
  const auto& body = launch.kernel->source->body;
  return std::ranges::any_of(body, multiplies) ? interests : 0;
}

void WgmmaRegisters::on_launch(const Launch& launch) {
  books_.clear(launch);
  parts_.clear();
  parts_.resize(launch.partitions().size());
}

void WgmmaRegisters::on_cta(const Cta& cta, bool starts, uint64_t) {
  if (!starts) books_.close(cta);
}

WgmmaRegisters::Plan WgmmaRegisters::plan_of(const Function& f) {
  Plan plan;
  const auto& body = f.source->body;
  std::unordered_map<uint32_t, uint32_t> index;  // of the registers that lead to a wgmma's
  const auto add = [&](uint32_t r) { index.emplace(r, uint32_t(index.size())); };
  for (const ptx::Instruction& i : body)
    if (multiplies(i)) {
      each_register(i.operands[0], add);
      if (is_vector(i.operands[1])) each_register(i.operands[1], add);
    }
  if (index.empty()) return plan;
  const auto leads = [&](const ptx::Operand& o) {
    bool any = false;
    each_register(o, [&](uint32_t r) { any |= index.contains(r); });
    return any;
  };
  for (size_t before = 0; before != index.size();) {
    before = index.size();
    for (const ptx::Instruction& i : body)
      if (i.opcode == ptx::Opcode::mov && leads(i.operands[0])) each_register(i.operands[1], add);
  }
  for (uint32_t n = 0; n < body.size(); ++n) {
    const ptx::Instruction& i = body[n];
    Step step;
    const auto known = [&](std::vector<uint32_t>& list, const ptx::Operand& o) {
      each_register(o, [&](uint32_t r) {
        if (const auto at = index.find(r); at != index.end()) list.push_back(at->second);
      });
    };
    if (i.opcode == ptx::Opcode::wgmma_fence) {
      step.kind = Step::Kind::fence;
    } else if (multiplies(i)) {
      step.kind = Step::Kind::multiply;
      known(step.reads, i.operands[0]);
      step.writes = step.reads;
      if (is_vector(i.operands[1])) known(step.reads, i.operands[1]);
    } else if (i.operands.empty() || !leads(i.operands[0])) {
      continue;
    } else {
      known(step.writes, i.operands[0]);
      if (i.opcode == ptx::Opcode::mov) {
        step.kind = Step::Kind::copy;
        known(step.reads, i.operands[1]);
      }
    }
    plan.steps.emplace(n, std::move(step));
  }
  plan.registers = uint32_t(index.size());
  return plan;
}

void WgmmaRegisters::on_instruction(const Executed& e) {
  if (e.again) return;
  Part& part = parts_[e.warp.partition().index];
  auto plan = part.plans.find(&e.function);
  if (plan == part.plans.end()) plan = part.plans.emplace(&e.function, plan_of(e.function)).first;
  const auto found = plan->second.steps.find(e.op.inst);
  if (found == plan->second.steps.end()) return;
  const Step& step = found->second;
  Book& book = books_.of(e.warp.cta());
  if (book.size() <= e.warp.index()) book.resize(e.warp.index() + 1);
  WarpState& state = book[e.warp.index()];
  if (state.function != &e.function) {
    state.function = &e.function;
    state.touched.assign(plan->second.registers, {});
  }
  switch (step.kind) {
    case Step::Kind::fence:
      state.fenced = true;
      std::ranges::fill(state.touched, Touch{});
      break;
    case Step::Kind::touch:
      for (const uint32_t r : step.writes) state.touched[r] = {&e.op, e.issued, e.lanes};
      break;
    case Step::Kind::copy: {
      Touch from;
      for (const uint32_t r : step.reads)
        if (state.touched[r].op) from = state.touched[r];
      for (const uint32_t r : step.writes) state.touched[r] = from;
      break;
    }
    case Step::Kind::multiply: multiply(e, step, state, part); break;
  }
}

void WgmmaRegisters::multiply(const Executed& e, const Step& step, WarpState& state, Part& part) {
  const auto touched = std::ranges::find_if(step.reads, [&](uint32_t r) { return state.touched[r].op; });
  // The first wgmma of a warp, without any fence, is told of elsewhere.
  if (touched != step.reads.end() && state.fenced && part.told.insert(&e.op).second) {
    const Touch& touch = state.touched[*touched];
    const Origin who = origin_of(e.warp);
    Origin earlier = origin_of_lanes(e.warp, touch.lanes);
    earlier.op = touch.op;
    who.report({.code = "wgmma-fence-missing",
                .severity = Severity::warning,
                .message = "a register of wgmma.mma_async has been written since the warp's last wgmma.fence",
                .help = "put wgmma.fence between the writes to registers of A or of the accumulator and the first "
                        "wgmma that uses them",
                .where = who.where(e.issued),
                .label = "takes it",
                .others = {{earlier.where(touch.time), "writes the register"}},
                .example = "wgmma.fence.sync.aligned;"});
  }
  for (const uint32_t r : step.writes) state.touched[r] = {};
}

}  // namespace tinygpu::checks
