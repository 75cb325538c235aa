#include "common/tinygpu/program/schedule/issue_cost.h"

#include <algorithm>
#include <utility>

namespace tinygpu {
namespace {

/// ptxas makes no instruction of it: it only renames a register, a constant or a parameter.
bool is_a_name(const ptx::Instruction& i, bool entry) {
  using Kind = ptx::Operand::Kind;
  if (i.guard >= 0 || i.traits().sass != ptx::Sass::maybe_none) return false;
  if (i.opcode == ptx::Opcode::cvta) return true;
  if (i.opcode == ptx::Opcode::mov) return i.operands.size() == 2 && i.operands[1].kind != Kind::special;
  if (i.opcode == ptx::Opcode::ld) return entry && (i.has("param") || i.has("param::entry"));
  // cvt: integers that lose bits or gain zeros.
  if (i.types.size() != 2 || i.has("sat")) return false;
  const auto [to, from] = std::pair(i.types[0], i.types[1]);
  if (ptx::is_float(to) || ptx::is_float(from)) return false;
  return ptx::size_of(to) <= ptx::size_of(from) ? ptx::size_of(to) >= 4 : from == ptx::Type::u32;
}

/// Cycles of the issue port and of the unit that executes `op`.
void price_op(Op& op, const ptx::Instruction& inst, bool entry, const OpCost& cost) {
  op.issue = uint8_t(std::min<uint32_t>(cost.issue, 255));
  op.pipe = Pipe::none;
  const auto unit = [&](Pipe pipe, uint32_t cycles) {
    op.issue = 1;
    op.pipe = pipe;
    op.occupies = uint8_t(std::min(cycles, 255u));
  };
  switch (op.cost) {
    case CostClass::alu:
    case CostClass::cvt: unit(Pipe::alu, cost.issue); break;
    case CostClass::alu64:  // two instructions
      unit(Pipe::alu, cost.issue);
      op.issue = 2;
      break;
    case CostClass::imul:
      unit(Pipe::fma_heavy, cost.issue);
      // Of 64 bits: a product of 32 for each pair of halves, and sums.
      if (ptx::size_of(inst.type()) == 8 && !inst.has("wide")) {
        op.issue = 4;
        op.occupies = uint8_t(std::min<uint32_t>(4 * cost.issue, 255));
      } else if (inst.has("wide") && ptx::size_of(inst.type()) == 4) {
        op.occupies = uint8_t(std::min<uint32_t>(2 * cost.issue, 255));  // writes two registers
      }
      break;
    case CostClass::fma:
    case CostClass::fma2:
    case CostClass::half: unit(Pipe::fma, 2 * cost.issue); break;
    case CostClass::fp64: unit(Pipe::fp64, cost.issue); break;
    case CostClass::sfu:
      unit(Pipe::xu, cost.issue);
      op.issue = special_issue(op.occupies);
      break;
    case CostClass::mma_sync:
      // An instruction with N = 16, such as m16n16k16, is two with N = 8.
      if (inst.traits().sass == ptx::Sass::two_mma && ptx::size_of(inst.type()) != 8) op.issue *= 2;
      break;
    case CostClass::warp_sync:
    case CostClass::global_load:
    case CostClass::global_store:
    case CostClass::global_atomic:
    case CostClass::local_memory: unit(Pipe::lsu, cost.issue); break;
    default: break;
  }
  if (!(op.flags & Op::injected) && is_a_name(inst, entry)) {
    op.issue = 0;
    op.pipe = Pipe::none;
  }
}

}  // namespace

void price(const Function& f, LoweredFunction& code, const CostTable& costs) {
  const auto price = [&](Op& op) { price_op(op, f.instruction(op), f.entry, costs[size_t(op.cost)]); };
  for (LoweredInstruction& i : code.code) {
    std::ranges::for_each(i.before, price);
    price(i.op);
  }
}

void take_shares(Function& f, const std::vector<uint32_t>& first_op, const SassMatch& sass) {
  for (size_t i = 0; i < sass.shares.size(); ++i) {
    const SassMatch::Share& share = sass.shares[i];
    if (!share.known) continue;
    for (uint32_t k = first_op[i]; k < first_op[i + 1]; ++k) {
      f.ops[k].issue = 0;
      f.ops[k].pipe = Pipe::none;
    }
    Op& op = f.ops[first_op[i + 1] - 1];
    op.issue = share.issue;
    op.pipe = share.pipe;
    op.occupies = share.occupies;
  }
}

}  // namespace tinygpu
