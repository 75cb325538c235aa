#include "common/tinygpu/program/allocate/allocate.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/program/allocate/packing.h"

namespace tinygpu {
namespace {

constexpr uint32_t kTemporaryBytes = 256;

class Allocator {
 public:
  Allocator(Function& f, LoweredFunction& code) : f_(f), code_(code), async_(code.flow, code.touches) {}

  Placement run() {
    place_constants();
    packing_ = pack_registers(*f_.source, code_.flow, code_.touches, async_, end_);
    f_.register_bytes = uint32_t(align_up(end_ + packing_.bytes, 64));
    if (!f_.registers_per_thread) f_.registers_per_thread = std::clamp(packing_.live_words + 8, 16u, 255u);
    place_ops();
    place_registers();
    place_lists();
    mark_joins();
    mark_pending();
    return {std::move(packing_.slot), std::move(first_op_)};
  }

 private:
  /// Constants come first, then temporaries.
  void place_constants() {
    for (FrameConstant& c : code_.constants) {
      const uint32_t bytes = c.width == 0 ? 4 : 32u * c.width;
      c.slot = uint32_t(align_up(end_, std::min(bytes, 64u)));
      if (c.slot > kMostRegisterBytes) throw LinkError("function " + f_.name + " has too many constants");
      end_ = c.slot + bytes;
    }
    f_.constants = std::move(code_.constants);
    first_temporary_ = uint32_t(align_up(end_, 64));
    end_ = first_temporary_ + code_.temporaries * kTemporaryBytes;
  }

  uint32_t slot_of(uint32_t value) const {
    if (value == kNoSlot) return value;
    if (value & kConstantValue) return f_.constants[value & ~kConstantValue].slot;
    if (value & kTemporaryValue) return first_temporary_ + (value & ~kTemporaryValue) * kTemporaryBytes;
    return packing_.slot[value];
  }

  void place_ops() {
    size_t ops = 0;
    for (const LoweredInstruction& i : code_.code) ops += 1 + i.before.size();
    f_.ops.reserve(ops);
    first_op_.reserve(code_.code.size() + 1);
    for (LoweredInstruction& i : code_.code) {
      first_op_.push_back(uint32_t(f_.ops.size()));
      for (const Op& op : i.before) place(op);
      place(i.op);
      i.before = {};
    }
    first_op_.push_back(uint32_t(f_.ops.size()));
    for (Op& op : f_.ops)
      if (is_branch(op)) op.imm = first_op_of(uint32_t(op.imm));
  }
  void place_registers() {
    f_.registers.reserve(packing_.lives.size());
    for (const RegisterLife& l : packing_.lives)
      f_.registers.push_back({l.reg, packing_.slot[l.reg], first_op_[l.begin], first_op_[l.end]});
  }
  void place(const Op& from) {
    Op& op = f_.ops.emplace_back(from);
    for (uint32_t* value : {&op.dst, &op.a, &op.b, &op.c, &op.d, &op.dst2, &op.guard}) *value = slot_of(*value);
  }
  bool is_branch(const Op& op) const {
    const ptx::Instruction& i = f_.instruction(op);
    return !(op.flags & Op::injected) && i.traits().control == ptx::Control::branch && i.fault.empty() &&
           i.operands[0].kind == ptx::Operand::Kind::label;
  }
  uint32_t first_op_of(uint32_t label) const { return first_op_[f_.source->labels.at(label).at]; }

  void place_lists() {
    for (OperandList& list : code_.lists) {
      auto plain = list.plain().begin();
      for (uint32_t k = 0; k < list.size(); ++k)
        if (plain != list.plain().end() && *plain == k)
          ++plain;
        else
          list.words()[k] = slot_of(list.words()[k]);
      f_.lists.push_back(std::move(list.words()));  // the ops' pointers stay
    }
    for (auto& [index, table] : code_.branch_tables) {
      for (uint32_t& label : table) label = first_op_of(label);
      f_.lists.push_back(std::move(table));
    }
  }

  void mark_joins() {
    const auto& blocks = code_.flow.blocks;
    for (size_t b = 0; b < blocks.size(); ++b) {
      f_.ops[first_op_[blocks[b].begin]].flags |= Op::leader;
      const int32_t meet = code_.flow.post_dominator[b];
      if (blocks[b].divergent && meet >= 0) f_.ops[first_op_[blocks[uint32_t(meet)].begin]].flags |= Op::join;
    }
  }

  /// Registers that hold a value still to be waited for, because a mov took it: whose value it is.
  using Moved = std::unordered_map<uint32_t, uint32_t>;

  /// Readers and writers of registers that an asynchronous operation may still own.
  void mark_pending() {
    const auto& registers = async_.registers();
    if (registers.empty()) return;
    for (size_t b = 0; b < code_.flow.blocks.size(); ++b) {
      AsyncRegisters::Ages ages = async_.at_begin(b);
      Moved moved;
      for (uint32_t i = code_.flow.blocks[b].begin; i < code_.flow.blocks[b].end; ++i) {
        const AsyncTouch touched = pending_of(ages, code_.touches[i], code_.code[i].op, moved);
        if (!touched.reads.empty() || !touched.writes.empty())
          for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k) {
            f_.ops[k].flags |= Op::reads_pending;
            f_.async_touches.emplace(k, touched);
          }
        async_.step(ages, i);
      }
    }
  }
  AsyncTouch pending_of(const AsyncRegisters::Ages& ages, const Touch& t, const Op& op, Moved& moved) const {
    AsyncTouch out;
    std::optional<uint32_t> taken;
    for (size_t k = 0; k < ages.size(); ++k) {
      if (ages[k] == AsyncRegisters::kIdle) continue;
      const uint32_t r = async_.registers()[k].id;
      const auto holds = [&](uint32_t use) {
        const auto from = moved.find(use);
        return use == r || (from != moved.end() && from->second == r);
      };
      if (async_.registers()[k].written && std::ranges::any_of(t.uses, holds)) {
        out.reads.push_back(packing_.slot[r]);
        taken = r;
      }
      if (std::ranges::find(t.defs, r) != t.defs.end()) out.writes.push_back(packing_.slot[r]);
    }
    for (const uint32_t r : t.defs) moved.erase(r);
    if (taken && f_.instruction(op).opcode == ptx::Opcode::mov)
      for (const uint32_t r : t.defs) moved[r] = *taken;
    return out;
  }

  Function& f_;
  LoweredFunction& code_;
  const AsyncRegisters async_;
  RegisterPacking packing_;
  std::vector<uint32_t> first_op_;
  uint32_t first_temporary_ = 0, end_ = 0;  // of the frame's register file
};

}  // namespace

Placement allocate(Function& f, LoweredFunction& code) { return Allocator(f, code).run(); }

}  // namespace tinygpu
