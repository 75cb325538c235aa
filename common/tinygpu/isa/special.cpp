// Executors of ops that the lowering makes: reads of special registers (PTX ISA 10), negated predicates, what ptxas
// adds, and the stop at an instruction that is not modelled.
#include "common/tinygpu/machine/warp/special.h"

#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

namespace {

void special(Warp& w, const Op& op) {
  const Special s = Special(op.imm);
  if (s == Special::pm || s == Special::unknown)
    w.fault(FaultKind::not_modelled, "not-modelled", "not modelled: performance-monitor special registers",
            "use %clock64 or the run's own counters (gen5 run --counters)");
  uint64_t lanes[32];
  special_values(w, s, lanes);
  switch (width_of(s)) {
    case 0: each_pred(w, op.dst, [&](int i) { return lanes[i] & 1; }); break;
    case 8: each_lane<uint64_t>(w, op.dst, [&](int i) { return lanes[i]; }); break;
    default: each_lane<uint32_t>(w, op.dst, [&](int i) { return uint32_t(lanes[i]); }); break;
  }
}

void not_modelled(Warp& w, const Op& op) {
  const ptx::Instruction& inst = w.function().instruction(op);
  const std::string why = inst.fault.empty() ? "" : " (" + inst.fault + ")";
  w.fault(FaultKind::not_modelled, "not-modelled", "not modelled: " + inst.spelling() + why,
          "this instruction runs on hardware but not on tinygpu; `gen5 isa` lists what is modelled");
}

void negate_predicate(Warp& w, const Op& op) {
  const uint32_t a = w.pred(op.a);
  uint32_t& d = w.pred(op.dst);
  d = (d & ~w.exec()) | (~a & w.exec());
}

/// A machine instruction without a counterpart in PTX: it takes time, and its result may come late.
void machine_instruction(Warp& w, const Op& op) { w.result_at(op, w.time() + uint64_t(op.imm)); }

}  // namespace

ExecFn internal_executor(std::string_view name) {
  if (name == "special") return special;
  if (name == "not_modelled") return not_modelled;
  if (name == "not.pred") return negate_predicate;
  if (name == "sass") return machine_instruction;
  return nullptr;
}

}  // namespace tinygpu::isa
