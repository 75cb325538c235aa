#include "common/tinygpu/program/sass/ptx_features.h"

namespace tinygpu {
namespace {

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
    case CostClass::warp_sync:
      return inst.traits().sass == ptx::Sass::shuffle ? InstructionKind::shuffle : InstructionKind::vote;
    case CostClass::barrier: return InstructionKind::barrier;
    case CostClass::mma_sync: return InstructionKind::matrix;
    case CostClass::async_issue:
      switch (inst.traits().sass) {
        case ptx::Sass::copy: return InstructionKind::copy;
        case ptx::Sass::copy_group: return InstructionKind::copy_group;
        case ptx::Sass::copy_wait: return InstructionKind::copy_wait;
        default: return InstructionKind::engine;
      }
    case CostClass::mbarrier: return InstructionKind::engine;
    default: return InstructionKind::other;
  }
}

/// Its machine instructions have no kind of their own: they are counted together.
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

/// Which instructions may move across it.
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
  return inst.traits().sass == ptx::Sass::float_sum;
}

PtxFeatures features_of_one(const Op& op, const ptx::Instruction& inst) {
  PtxFeatures out;
  out.kind = kind_of(op, inst);
  out.order = order_of(op, inst);
  out.branches = op.cost == CostClass::control;
  if (out.kind != InstructionKind::other || !op.issue) return out;
  out.floating = is_floating(op, inst);
  out.special = op.cost == CostClass::sfu;
  out.shared_out = !out.floating && !out.special && is_shared_out(op);
  out.sequence = op.cost == CostClass::idiv || op.cost == CostClass::fdiv || op.cost == CostClass::fdiv64;
  out.product = op.cost == CostClass::imul;
  out.weight = op.issue;
  return out;
}

}  // namespace

std::vector<PtxFeatures> features_of(const Function& f, const LoweredFunction& code) {
  std::vector<PtxFeatures> out;
  out.reserve(code.code.size());
  for (const LoweredInstruction& i : code.code) out.push_back(features_of_one(i.op, f.instruction(i.op)));
  return out;
}

}  // namespace tinygpu
