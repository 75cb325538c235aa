#include "common/tinygpu/program/schedule/issue_cost.h"

#include <algorithm>
#include <utility>

namespace tinygpu {
namespace {

/// ptxas makes no instruction of it: it names a register, a constant or a parameter otherwise.
bool is_a_name(const ptx::Instruction& i, bool entry) {
  using Kind = ptx::Operand::Kind;
  if (i.guard >= 0) return false;
  if (i.opcode == "mov") return i.operands.size() == 2 && i.operands[1].kind != Kind::special;
  if (i.opcode == "cvta") return true;
  if (i.opcode == "ld") return entry && (i.has("param") || i.has("param::entry"));
  // Integers that lose bits or gain zeros.
  if (i.opcode != "cvt" || i.types.size() != 2 || i.has("sat")) return false;
  const auto [to, from] = std::pair(i.types[0], i.types[1]);
  if (ptx::is_float(to) || ptx::is_float(from)) return false;
  return ptx::size_of(to) <= ptx::size_of(from) ? ptx::size_of(to) >= 4 : from == ptx::Type::u32;
}

InstructionKind kind_of(const Op& op, const ptx::Instruction& inst) {
  switch (op.cost) {
    case CostClass::shared_load:
      return inst.has("shared::cluster") ? InstructionKind::load : InstructionKind::shared_load;
    case CostClass::ldmatrix: return InstructionKind::shared_load;
    case CostClass::global_load: return inst.has("global") ? InstructionKind::global_load : InstructionKind::load;
    case CostClass::shared_store:
    case CostClass::stmatrix: return InstructionKind::shared_store;
    case CostClass::global_store: return InstructionKind::global_store;
    case CostClass::shared_atomic: return InstructionKind::shared_atomic;
    case CostClass::global_atomic: return InstructionKind::global_atomic;
    case CostClass::local_memory: return InstructionKind::local;
    case CostClass::warp_sync: return inst.opcode == "shfl" ? InstructionKind::shuffle : InstructionKind::vote;
    case CostClass::barrier: return InstructionKind::barrier;
    case CostClass::mma_sync: return InstructionKind::matrix;
    case CostClass::async_issue:
      if (inst.opcode == "cp.async") return InstructionKind::copy;
      if (inst.opcode == "cp.async.commit_group") return InstructionKind::copy_group;
      return inst.opcode.starts_with("cp.async.wait_") ? InstructionKind::copy_wait : InstructionKind::engine;
    case CostClass::mbarrier: return InstructionKind::engine;
    default: return InstructionKind::other;
  }
}

/// Its instructions are found among others only.
bool is_shared_out(const Op& op) {
  switch (op.cost) {
    case CostClass::alu:
    case CostClass::alu64:
    case CostClass::imul:
    case CostClass::fma:
    case CostClass::fma2:
    case CostClass::half:
    case CostClass::fp64:
    case CostClass::cvt:
    case CostClass::sfu:
    case CostClass::idiv:
    case CostClass::fdiv:
    case CostClass::fdiv64:
    case CostClass::control: return true;
    default: return false;
  }
}

/// What may pass it.
PtxFeatures::Order order_of(const Op& op, const ptx::Instruction& inst) {
  using Order = PtxFeatures::Order;
  if (op.flags & Op::serial || inst.has("volatile")) return Order::sync;
  if (kind_of(op, inst) == InstructionKind::copy_group) return Order::free;
  switch (op.cost) {
    case CostClass::shared_load:
    case CostClass::global_load:
    case CostClass::ldmatrix: return Order::reads;
    case CostClass::shared_store:
    case CostClass::global_store:
    case CostClass::stmatrix: return Order::writes;
    case CostClass::mma_sync:
    case CostClass::param_load:
    case CostClass::constant_load:
    case CostClass::control: return Order::free;
    case CostClass::special: return Order::fixed;
    default: return is_shared_out(op) ? Order::free : Order::sync;
  }
}

/// f32 and f64 sums and products: ptxas makes one instruction of each.
bool is_floating(const Op& op, const ptx::Instruction& inst) {
  if (op.cost != CostClass::fma && op.cost != CostClass::fp64) return false;
  return inst.opcode == "add" || inst.opcode == "sub" || inst.opcode == "mul" || inst.opcode == "fma" ||
         inst.opcode == "mad";
}

}  // namespace

/// What `op` takes of the issue port and the units behind it.
void price(Op& op, const ptx::Instruction& inst, bool entry, const OpCost& cost) {
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
      // m16n16k16 and its like are two of m16n8.
      if (inst.opcode.starts_with("wmma.mma") && ptx::size_of(inst.type()) != 8) op.issue *= 2;
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

PtxFeatures features_of(const Op& op, const ptx::Instruction& inst) {
  PtxFeatures out;
  out.kind = kind_of(op, inst);
  out.order = order_of(op, inst);
  out.branches = op.cost == CostClass::control;
  if (out.kind != InstructionKind::other || !op.issue) return out;
  out.floating = is_floating(op, inst);
  out.special = op.cost == CostClass::sfu;
  out.shared_out = !out.floating && !out.special && is_shared_out(op);
  out.sequence = op.cost == CostClass::idiv || op.cost == CostClass::fdiv || op.cost == CostClass::fdiv64;
  out.weight = op.issue;
  return out;
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
