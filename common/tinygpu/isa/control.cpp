// bra, brx.idx, call, ret, exit, trap, brkpt (PTX ISA 9.7.12), nanosleep, pmevent, setmaxnreg, griddepcontrol
// (9.7.13, 9.7.19), alloca and its stack pointer (9.7.11).
#include <algorithm>
#include <string>
#include <vector>

#include "common/tinygpu/isa/builtins.h"
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

using ptx::Operand;
using ptx::Type;

namespace {

// ---- Branches

void bra(Warp& w, const Op& op) { w.branch(w.exec(), uint32_t(op.imm)); }

void decode_bra(Decoder& d, Op& op) {
  finish(d, op, bra, CostClass::control);
  const Operand& target = d.operand(0);
  if (target.kind != Operand::Kind::label) d.not_modelled("indirect target");
  d.set_target(op, target.label);
}

void brx_idx(Warp& w, const Op& op) {
  const uint32_t* index = w.at<uint32_t>(op.a);
  uint32_t target[32] = {};
  for_lanes(w.exec(), [&](int i) {
    if (index[i] >= op.list_size)
      w.fault(FaultKind::illegal_instruction, "branch-index",
              "brx.idx with index " + std::to_string(index[i]) + " into " + std::to_string(op.list_size) + " targets",
              "clamp the index before the branch: hardware does not check it", i);
    target[i] = op.list[index[i]];
  });
  w.branch_each(target);
}

void decode_brx(Decoder& d, Op& op) {
  finish(d, op, brx_idx, CostClass::control);
  op.a = d.src(d.operand(0), Type::u32);
  if (d.operand(1).kind != Operand::Kind::label) d.not_modelled("targets");
  d.set_target_list(op, d.operand(1).label);
}

// ---- Calls
// Op::list as Warp::call reads it; imm: index of the callee, a: slot of its address if indirect.

void call_direct(Warp& w, const Op& op) { w.call(op, w.partition().launch.config.program->at(uint32_t(op.imm))); }

/// Lanes may call different functions; each set of lanes goes its way.
void call_indirect(Warp& w, const Op& op) {
  const uint64_t* address = w.at<uint64_t>(op.a);
  Program& program = *w.partition().launch.config.program;
  const int first = __builtin_ctz(w.exec());
  const uint64_t target = address[first];
  const uint64_t index = (target - kFunctionWindow) / 16;
  if (target - kFunctionWindow >= kWindowSize || (target & 15) || index >= program.function_count())
    w.fault(FaultKind::illegal_instruction, "call-target", "indirect call of an address that is no function",
            "take a function's address in device code (or from a __device__ variable), not on the host", first);
  const uint32_t same = lanes_like_first(address, w.exec());
  if (same == w.exec()) return w.call(op, program.at(uint32_t(index)));
  // The others come back to this instruction as a group of their own.
  w.call_lanes(same, op, program.at(uint32_t(index)));
}

void call_unknown(Warp& w, const Op&) {
  w.fault(FaultKind::not_modelled, "not-modelled",
          "not modelled: " + w.function().instruction(w.current_op()).text + " (a function with no body here)",
          "of the device runtime tinygpu has kernels launched by kernels, their streams, copies and memory, and "
          "conditions of graphs");
}

uint32_t argument_offset(Decoder& d, const Operand& o) {
  if (o.kind != Operand::Kind::symbol) d.not_modelled("argument that is not a .param variable");
  return d.local_offset(o.name);
}

void decode_call(Decoder& d, Op& op) {
  op.cost = CostClass::control;
  size_t at = 0;
  const Operand none;
  const Operand& returns = d.operand(0).kind == Operand::Kind::list ? d.operand(at++) : none;
  const Operand& callee = d.operand(at++);
  const Operand& arguments = d.has(at) && d.operand(at).kind == Operand::Kind::list ? d.operand(at) : none;

  OperandList list;
  for (const Operand* each : {&arguments, &returns}) {
    list.push_word(uint32_t(each->elems.size()));
    for (const Operand& e : each->elems) list.push_word(argument_offset(d, e));
  }
  d.set_list(op, list);

  if (callee.kind == Operand::Kind::reg) {
    op.fn = call_indirect;
    op.a = d.src(callee, Type::b64);
    return;
  }
  if (ExecFn builtin = builtin_function(callee.name)) {
    // Output and the heap are shared by the whole GPU: one warp at a time, in order of simulated time.
    op.fn = builtin;
    op.flags |= Op::serial;
    return;
  }
  op.imm = d.function_index(callee.name);
  op.fn = op.imm >= 0 ? call_direct : call_unknown;
}

void ret(Warp& w, const Op&) { w.ret(w.exec()); }
void exit_lanes(Warp& w, const Op&) { w.exit(w.exec()); }

void trap(Warp& w, const Op&) {
  w.fault(FaultKind::trap, "trap", "the kernel executed trap",
          "a check in the program failed (__trap, a library's assertion): see the source line",
          __builtin_ctz(w.exec()));
}

void breakpoint(Warp& w, const Op&) {
  w.fault(FaultKind::trap, "brkpt", "the kernel executed brkpt, and no debugger is attached",
          "the program executes brkpt at a place that must not be reached, often in place of an instruction that its "
          "target lacks",
          __builtin_ctz(w.exec()));
}

template <ExecFn f>
void decode_plain(Decoder& d, Op& op) {
  finish(d, op, f, CostClass::control);
}

// ---- Time

/// PTX lets a sleep last from 0 to twice the time asked for; here it is the time itself.
void nanosleep(Warp& w, const Op& op) {
  if (w.take_timeout()) return;
  const uint32_t* a = w.at<uint32_t>(op.a);
  uint32_t most = 0;
  for_lanes(w.exec(), [&](int i) { most = std::max(most, std::min(a[i], 1'000'000u)); });
  const uint64_t cycles = uint64_t(double(most) * w.spec().clock_ghz);
  if (cycles == 0) return;
  w.block({.kind = BlockReason::Kind::sleep, .what = "nanosleep"}, true, w.time() + cycles);
}

void decode_nanosleep(Decoder& d, Op& op) {
  finish(d, op, nanosleep, CostClass::special);
  op.a = d.src(d.operand(0), Type::u32);
}

void nothing(Warp&, const Op&) {}

// ---- setmaxnreg

enum class RegisterChange : uint8_t { increase, decrease };

/// Registers per thread of each warp of a CTA, out of those that the CTA began with.
class RegisterPool final : public Extension {
 public:
  RegisterPool(const Cta& cta, uint32_t each) : of_(cta.warps.size(), each), all_(each * uint32_t(cta.warps.size())) {}
  uint32_t of(const Warp& w) const { return of_[w.index()]; }
  /// Registers that no warp has. No document says whether an exited warp's registers are free before its CTA ends: here
  /// they are.
  uint32_t free(const Cta& cta) const {
    uint32_t taken = 0;
    for (const auto& w : cta.warps)
      if (!w->done()) taken += of_[w->index()];
    return all_ - taken;
  }
  void set(const Warp& w, uint32_t registers) { of_[w.index()] = registers; }

 private:
  std::vector<uint32_t> of_;
  const uint32_t all_;
};

/// How often a warp looks again whether there are enough: others may have exited.
constexpr uint64_t kLookAgain = 1000;

constexpr const char* kRegisters =
    "the registers of setmaxnreg.inc: the CTA has too few left, until other warps give some back by setmaxnreg.dec";

void setmaxnreg(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  const Function& kernel = *w.partition().launch.config.kernel;
  if (!kernel.keeps_setmaxnreg()) return;
  const uint32_t wanted = uint32_t(op.imm), now = w.register_limit;
  const bool increase = op.get<RegisterChange>() == RegisterChange::increase;
  if (now && (increase ? wanted < now : wanted > now))
    w.fault(FaultKind::illegal_instruction, "setmaxnreg-direction",
            std::string("setmaxnreg.") + (increase ? "inc" : "dec") + " to " + std::to_string(wanted) +
                " registers from " + std::to_string(now),
            "use .inc to take more registers and .dec to give some back");
  w.take_timeout();
  // A warp gets registers in units of 256.
  const uint32_t each = (kernel.registers_per_thread + 7) / 8 * 8;
  RegisterPool& pool = w.cta().extensions.get<RegisterPool>(w.cta(), each);
  if (wanted > pool.of(w) && wanted - pool.of(w) > pool.free(w.cta()))
    return w.block({.kind = BlockReason::Kind::async_group, .what = kRegisters}, true, w.time() + kLookAgain);
  pool.set(w, wanted);
  const RegisterTiming& timing = w.timing().registers;
  for (const auto& other : w.cta().warps)
    other->wake(w.time() + timing.given, [](const Group& g) { return g.reason.what == kRegisters; });
  w.register_limit = wanted;
  w.charge(timing.change);
}

void decode_setmaxnreg(Decoder& d, Op& op) {
  finish(d, op, setmaxnreg, CostClass::control);
  op.imm = d.operand(0).bits;
  op.set(d.inst->has("inc") ? RegisterChange::increase : RegisterChange::decrease);
}

// ---- griddepcontrol

/// Programmatic dependent launch (GridScheduler::add_dependent).
struct GridDependency {
  bool launches;  // launch_dependents; else wait
};
void grid_dependency(Warp& w, const Op& op) {
  w.take_timeout();
  if (op.get<GridDependency>().launches) {
    w.cta().dependents_launched = std::min(w.cta().dependents_launched, w.time());
    return tell(w, Sync::Kind::grid_dependency, 1);
  }
  const uint64_t over = w.partition().launch.dependency_over();
  if (w.time() >= over) return tell(w, Sync::Kind::grid_dependency, 0);
  w.block({.kind = BlockReason::Kind::grid_dependency, .what = "griddepcontrol.wait"}, true, over);
}
void decode_griddepcontrol(Decoder& d, Op& op) {
  finish(d, op, grid_dependency, CostClass::special);
  op.set(GridDependency{d.inst->has("launch_dependents")});
}

// ---- alloca

/// Stack memory of one warp's lanes that alloca has handed out: in local memory above everything that frames use.
struct Stack final : Extension {
  static constexpr uint32_t kBase = 256 * 1024;
  struct Mark {
    size_t depth;
    uint32_t top;
  };
  uint32_t top[32];
  std::vector<Mark> marks[32];
  Stack() { std::fill(top, top + 32, kBase); }
  /// Frames deeper than `depth` have returned: what they took is free.
  void unwind(int lane, size_t depth) {
    auto& m = marks[lane];
    while (!m.empty() && m.back().depth > depth) {
      top[lane] = m.back().top;
      m.pop_back();
    }
  }
};

struct PointerWidth {
  bool wide;  // pointers have 64 bits
};

Stack& stack_of(Warp& w) { return w.extensions.get<Stack>(); }

void put_pointer(Warp& w, const Op& op, int lane, uint64_t value) {
  if (op.get<PointerWidth>().wide)
    w.at<uint64_t>(op.dst)[lane] = value;
  else
    w.at<uint32_t>(op.dst)[lane] = uint32_t(value);
}

void alloca_local(Warp& w, const Op& op) {
  Stack& s = stack_of(w);
  const size_t depth = w.group().stack.size();
  for_lanes(w.exec(), [&](int i) {
    s.unwind(i, depth);
    const uint64_t size = word_at(w, op.a, op.get<PointerWidth>().wide, i);
    const uint32_t align = uint32_t(op.imm), at = (s.top[i] + align - 1) / align * align;
    if (size)
      w.local(uint32_t(i), at + uint32_t(std::min<uint64_t>(size, 1u << 30)) - 1, 1);  // faults past the stack's end
    w.check_stack(w.group(), nullptr, uint64_t(at) + size - Stack::kBase, i);
    s.marks[i].push_back({depth, s.top[i]});
    s.top[i] = at + uint32_t(size);
    put_pointer(w, op, i, at);
  });
}

void stack_save(Warp& w, const Op& op) {
  Stack& s = stack_of(w);
  const size_t depth = w.group().stack.size();
  for_lanes(w.exec(), [&](int i) {
    s.unwind(i, depth);
    put_pointer(w, op, i, s.top[i]);
  });
}

void stack_restore(Warp& w, const Op& op) {
  Stack& s = stack_of(w);
  for_lanes(w.exec(), [&](int i) { s.top[i] = uint32_t(word_at(w, op.a, op.get<PointerWidth>().wide, i)); });
}

void decode_alloca(Decoder& d, Op& op) {
  finish(d, op, alloca_local, CostClass::alu);
  op.set(PointerWidth{d.width(d.operand(0), 8) == 8});
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), d.inst->type());
  op.imm = d.has(2) ? d.operand(2).bits : 8;
}

void decode_stack_save(Decoder& d, Op& op) {
  op.fn = stack_save;
  op.set(PointerWidth{d.width(d.operand(0), 8) == 8});
  op.dst = d.dst(d.operand(0));
}

void decode_stack_restore(Decoder& d, Op& op) {
  op.fn = stack_restore;
  op.set(PointerWidth{d.width(d.operand(0), 8) == 8});
  op.a = d.src(d.operand(0), d.inst->type());
}

constexpr Entry kControlTable[] = {
    {Opcode::bra, decode_bra},
    {Opcode::brx_idx, decode_brx},
    {Opcode::call, decode_call},
    {Opcode::ret, decode_plain<ret>},
    {Opcode::exit, decode_plain<exit_lanes>},
    {Opcode::trap, decode_plain<trap>},
    {Opcode::brkpt, decode_plain<breakpoint>},
    {Opcode::pmevent, decode_plain<nothing>},
    {Opcode::nanosleep, decode_nanosleep},
    {Opcode::setmaxnreg, decode_setmaxnreg},
    {Opcode::griddepcontrol, decode_griddepcontrol},
    {Opcode::alloca, decode_alloca},
    {Opcode::stacksave, decode_stack_save},
    {Opcode::stackrestore, decode_stack_restore},
};

}  // namespace

Table control_table() { return {kControlTable}; }

}  // namespace tinygpu::isa
