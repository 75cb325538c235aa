// wgmma (PTX ISA 9.7.15): mma_async, fence, commit_group, wait_group. engines/wgmma/wgmma_unit.h says when results
// land.
//   wgmma.mma_async.sync.aligned.mMnNkK.D.A.B d, a-desc | {a}, b-desc, scale-d {, imm-scale-a, imm-scale-b {, trans…}}
//   wgmma.mma_async.sp.….D.A.B d, a-desc | {a}, b-desc, metadata, selector, scale-d …
#include <string>

#include "common/tinygpu/engines/wgmma/element_format.h"
#include "common/tinygpu/engines/wgmma/wgmma_unit.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/machine/memory/skipped_copies.h"

namespace tinygpu::isa {
namespace {

using numerics::Format;
using ptx::Operand;

BlockReason waiting(const char* what = "wgmma.wait_group") {
  return {BlockReason::Kind::async_group, what, nullptr, 0, kAsyncWgmma, 0};
}

void mma(Warp& w, const Op& op);
void commit(Warp& w, const Op&);
void wait(Warp& w, const Op& op);

void fence(Warp& w, const Op&) {
  w.converged(~0u);
  tell(w, Sync::Kind::fence);
}

/// True if the op has to come back: the warp waits for what is in flight.
bool blocked_on(Warp& w, Warpgroup::Conflict conflict) {
  using Conflict = Warpgroup::Conflict;
  if (conflict == Conflict::none) return false;
  if (conflict == Conflict::accumulator || conflict == Conflict::taken)
    w.report(Severity::warning, "wgmma-not-waited",
             "this instruction touches a register of an accumulator that a wgmma.mma_async still uses",
             "put wgmma.wait_group before the first use of the accumulator");
  else
    w.report(Severity::warning, "wgmma-not-waited",
             "this instruction overwrites a register of A that a wgmma.mma_async has yet to read",
             "put wgmma.wait_group before the next write of A's registers");
  if (conflict == Conflict::taken) return false;  // the mov has waited for the value
  // In timed order the value is waited for, as hardware's scoreboard would at best; in the others it is garbage. A's
  // old values stay the operation's in every order: ptxas puts the new ones into other registers.
  if (conflict == Conflict::operand || w.partition().events.order().mode == CompletionOrder::Mode::timed) {
    w.block(waiting(), true);
    return true;
  }
  Warpgroup::of(w).poison(w);
  return false;
}

/// Runs before an op that may touch registers of a wgmma for which no wait has been executed.
void check_pending(Warp& w, const Op& op) {
  if (op.fn == mma || op.fn == commit || op.fn == wait || op.fn == fence) return;
  using Conflict = Warpgroup::Conflict;
  const auto& [reads, writes] = w.function().async_touches.find(uint32_t(&op - w.function().ops.data()))->second;
  Warpgroup& group = Warpgroup::of(w);
  const Conflict conflict = group.conflict(w, reads, writes);
  // A compiler puts moves between the product and its wait: ptxas makes nothing of them (a wait in front of what uses
  // their results, if that stands before the wait: C7517). So the value is right in every order, and its use is told.
  if (w.function().instruction(op).opcode == Opcode::mov && group.conflict(w, {}, writes) == Conflict::none) {
    if (conflict != Conflict::accumulator) return;
    group.take(w, reads);
    return w.block(waiting(), true);
  }
  blocked_on(w, conflict);
}

/// The frame that owns these bytes of the register file is gone.
void leave_frame(Warp& w, uint32_t begin, uint32_t end) { Warpgroup::of(w).forget(w, begin, end); }

void mma(Warp& w, const Op& op) {
  if (!w.converged(~0u)) return;
  WgmmaForm f = op.get<WgmmaForm>();
  f.accumulate = w.pred(op.c) & 1;
  const uint32_t registers = f.d == WgmmaForm::Result::f16 ? f.n / 4 : f.n / 2;
  std::vector<uint32_t> d(op.list, op.list + registers), a(op.list + registers, op.list + op.list_size);
  if (!f.a_in_registers) f.a_descriptor = w.at<uint64_t>(op.a)[0];
  f.b_descriptor = w.at<uint64_t>(op.b)[0];
  const auto checked = [&](uint64_t raw) {
    if (auto p = check_wgmma(MatrixDescriptor::wgmma(raw)))
      w.report(Severity::warning, "matrix-descriptor", p->sentence() + "; hardware ignores them",
               "encode the descriptor for wgmma: offsets in units of 16 bytes, swizzle code in bits 63:62");
  };
  if (!f.a_in_registers) checked(f.a_descriptor);
  checked(f.b_descriptor);
  // Operations follow each other on accumulators without a wait; A's registers have no such order.
  Warpgroup& group = Warpgroup::of(w);
  if (!a.empty() && blocked_on(w, group.conflict(w, a, {}))) return;
  if (!group.place_known(w)) return w.block(waiting("wgmma.mma_async"), true);
  if (w.pending.empty()) w.pending.push_back({kAsyncWgmma, 0, 0, op.inst});
  w.pending_check = check_pending;
  w.pending_leave = leave_frame;
  warn_if_steering(w, "a result of wgmma");
  group.issue(w, f, d, a);
  if (const uint64_t placed = group.placed_at(w); placed > w.time()) w.charge(placed - w.time());
}

void commit(Warp& w, const Op&) {
  if (!w.converged(~0u)) return;
  Warpgroup& group = Warpgroup::of(w);
  group.commit(w);
  tell(w, Sync::Kind::commit_group, group.through(w, 0));
}

void wait(Warp& w, const Op& op) {
  if (!w.converged(~0u)) return;
  Warpgroup& group = Warpgroup::of(w);
  uint64_t when = 0;
  if (!group.completed(w, uint32_t(op.imm), when)) {
    w.block(waiting(), true);
    return;
  }
  w.advance_to(when);
  group.waited(w, uint32_t(op.imm));
  group.settle(w);
  if (group.idle(w)) w.pending.clear();
  tell(w, Sync::Kind::wait_group, group.through(w, uint32_t(op.imm)));
}

Format operand_format(Decoder& d, ptx::Type t) {
  const auto format = element_format(t);
  if (!format) d.not_modelled("operand type");
  return *format;
}

/// N of ".m64nNkK".
uint32_t columns(Decoder& d) {
  const std::string shape(d.inst->after("m64n"));
  if (shape.empty()) d.not_modelled("shape");
  return uint32_t(std::stoul(shape));
}

bool literal(Decoder& d, std::string_view name, int64_t value) {
  const Operand* o = d.find(name);
  return o && o->bits == value;
}

void decode_mma(Decoder& d, Op& op) {
  const ptx::Instruction& in = *d.inst;
  finish(d, op, mma, CostClass::async_issue);
  if (in.types.size() != 3) d.not_modelled();
  WgmmaForm f;
  f.d = in.type(0) == ptx::Type::f32   ? WgmmaForm::Result::f32
        : in.type(0) == ptx::Type::f16 ? WgmmaForm::Result::f16
                                       : WgmmaForm::Result::s32;
  f.binary = in.type(1) == ptx::Type::b1;
  f.a = f.binary ? Format::u8 : operand_format(d, in.type(1));
  f.b = f.binary ? Format::u8 : operand_format(d, in.type(2));
  f.n = columns(d);
  std::vector<uint32_t> slots;
  for (const Operand& e : d.operand("d").elems) {
    d.src(e, ptx::Type::b32);
    slots.push_back(d.dst(e));
  }
  d.async_dst(slots, kAsyncWgmma);
  const Operand& a_operand = d.operand("a");
  f.a_in_registers = a_operand.kind == Operand::Kind::vector;
  if (f.a_in_registers) {
    std::vector<uint32_t> a;
    for (const Operand& e : a_operand.elems) a.push_back(d.src(e, ptx::Type::b32));
    d.async_src(a, kAsyncWgmma);
    slots.insert(slots.end(), a.begin(), a.end());
  } else {
    op.a = d.src(a_operand, ptx::Type::b64);
  }
  op.b = d.src(d.operand("b"), ptx::Type::b64);
  f.sparse = in.opcode == Opcode::wgmma_mma_async_sp;
  if (f.sparse) {
    slots.push_back(d.src(d.operand("metadata"), ptx::Type::b32));
    d.async_src({slots.back()}, kAsyncWgmma);
    const int64_t most = f.element_bytes() == 1 ? 0 : 1;
    const int64_t selector = d.operand("selector").bits;
    if (selector < 0 || selector > most) d.not_modelled("sparsity selector");
    f.selector = uint8_t(selector);
  }
  d.set_list(op, slots);
  op.c = d.pred(d.operand("scale_d"));
  f.negate_a = literal(d, "imm_scale_a", -1);
  f.negate_b = literal(d, "imm_scale_b", -1);
  f.a_mn_major = literal(d, "imm_trans_a", 1);
  f.b_mn_major = literal(d, "imm_trans_b", 1);
  f.saturate = in.has("satfinite");
  op.set(f);
}

void decode_fence(Decoder& d, Op& op) { finish(d, op, fence, CostClass::fence); }

void decode_commit(Decoder& d, Op& op) {
  finish(d, op, commit, CostClass::async_issue);
  d.async_commit(kAsyncWgmma);
}

void decode_wait(Decoder& d, Op& op) {
  finish(d, op, wait, CostClass::async_issue);
  op.imm = d.operand(0).bits;
  d.async_wait(kAsyncWgmma, uint32_t(op.imm));
}

constexpr Entry kWgmmaTable[] = {
    {Opcode::wgmma_mma_async, decode_mma},   {Opcode::wgmma_mma_async_sp, decode_mma},
    {Opcode::wgmma_fence, decode_fence},     {Opcode::wgmma_commit_group, decode_commit},
    {Opcode::wgmma_wait_group, decode_wait},
};

}  // namespace

Table wgmma_table() { return {kWgmmaTable}; }

}  // namespace tinygpu::isa
