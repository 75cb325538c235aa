// What an isa/ decode function sees: turns one ptx::Instruction into one Op.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/program/op.h"
#include "common/tinygpu/ptx/module.h"

namespace tinygpu {

/// An address operand: [base + offset]. `base` is a slot with a 32- or 64-bit address per lane.
struct AddressOperand {
  uint32_t base = kNoSlot;
  int64_t offset = 0;
  bool wide = false;  // base slot is b64
};

/// A list of slots for Op::list, with words between them that are none (displacements, counts).
class OperandList {
 public:
  OperandList() = default;
  OperandList(std::vector<uint32_t> slots) : words_(std::move(slots)) {}
  OperandList(std::initializer_list<uint32_t> slots) : words_(slots) {}
  void push_back(uint32_t slot) { words_.push_back(slot); }
  void push_word(uint32_t word) {
    plain_.push_back(uint32_t(words_.size()));
    words_.push_back(word);
  }
  size_t size() const { return words_.size(); }
  std::vector<uint32_t>& words() { return words_; }
  /// Places of the words that are no slots, ascending.
  const std::vector<uint32_t>& plain() const { return plain_; }

 private:
  std::vector<uint32_t> words_, plain_;
};

/// Thrown by decode functions for what is legal PTX but not modelled. The kernel still loads; executing the instruction
/// stops it with `not modelled: <instruction>`.
class NotModelled : public std::runtime_error {
 public:
  explicit NotModelled(const std::string& why) : std::runtime_error(why) {}
};

/// Operand services for decode functions. The slots that it returns are places of values that get their slot later,
/// when all of the function is decoded (program/allocate/): a decode function hands them on and does not reckon with
/// them.
class Decoder {
 public:
  virtual ~Decoder() = default;

  const ptx::Instruction* inst = nullptr;
  const ptx::Operand& operand(size_t i) const { return inst->operands.at(i); }
  /// The operand that the instruction's form calls `name`: forms differ in which operands stand before it.
  const ptx::Operand& operand(std::string_view name) const {
    if (const ptx::Operand* o = inst->operand(name)) return *o;
    throw NotModelled(inst->spelling() + " without " + std::string(name));
  }
  /// The same, or nullptr where it does not stand.
  const ptx::Operand* find(std::string_view name) const { return inst->operand(name); }
  size_t operand_count() const { return inst->operands.size(); }

  /// Source operand as values of `type`: a register's own slot, or a constant slot. The register's width is not
  /// converted: check width() where the instruction allows another (ld, st, cvt).
  virtual uint32_t src(const ptx::Operand& o, ptx::Type type) = 0;
  /// Destination register's slot; kNoSlot for the sink `_`.
  virtual uint32_t dst(const ptx::Operand& o) = 0;
  /// Bytes per lane of a register operand (16 for b128), 0 for a predicate; of the given default for other kinds.
  virtual int width(const ptx::Operand& o, int otherwise) const = 0;
  /// A source predicate. Negation is folded into a fresh slot by an injected op, so callers get a plain mask.
  virtual uint32_t pred(const ptx::Operand& o) = 0;
  /// [reg], [reg+imm], [symbol], [symbol+imm], [imm].
  virtual AddressOperand address(const ptx::Operand& o) = 0;
  /// A constant slot that holds `bits` in every lane; width 2, 4, 8 or 16 bytes (16: zero-extended).
  virtual uint32_t constant(uint64_t bits, int width) = 0;
  /// Gives the list to the function and sets op.list, op.list_size.
  virtual void set_list(Op& op, OperandList list) = 0;
  /// Op index of a label; to be used as Op::imm of branches (fixed up after layout).
  virtual void set_target(Op& op, uint32_t label) = 0;
  /// Declares that the op writes these destinations asynchronously under `channel` (AsyncChannel): until an op that
  /// calls async_wait(channel) the registers keep their own slots and readers get Op::reads_pending.
  virtual void async_dst(const std::vector<uint32_t>& slots, int channel) = 0;
  /// Declares that the op reads these sources after it has issued: until the wait no other register gets their slots,
  /// and writers of theirs get Op::reads_pending.
  virtual void async_src(const std::vector<uint32_t>& slots, int channel) = 0;
  /// Declares that the op closes what `channel` has been given so far into a group.
  virtual void async_commit(int channel) = 0;
  /// Declares that the op waits for all of `channel`, or for all of its groups but the latest `left`.
  virtual void async_wait(int channel, uint32_t left = kWaitsForAll) = 0;
  static constexpr uint32_t kWaitsForAll = ~0u;
  /// A variable's space, or ptx::Space::generic if the name is none. Function-scope .param variables and the parameters
  /// of functions that are not entries live in local memory: Space::local; an entry's parameters: Space::param.
  virtual ptx::Space space_of_symbol(const std::string& name) const = 0;
  /// Calls: index of a function defined in the program, or -1 (builtins, undefined).
  virtual int64_t function_index(const std::string& name) const = 0;
  /// Calls: frame-relative local-memory offset of a function-scope .param variable.
  virtual uint32_t local_offset(const std::string& param_variable) const = 0;
  /// brx.idx: op indices of a .branchtargets list (ptx::Operand::label), as the op's list (fixed up after layout).
  virtual void set_target_list(Op& op, uint32_t list) = 0;
  /// The module's target number and suffix, e.g. "sm_100a".
  virtual const std::string& target() const = 0;

  [[noreturn]] void not_modelled(const std::string& why = {}) const {
    throw NotModelled(why.empty() ? inst->spelling() : inst->spelling() + " (" + why + ")");
  }
  /// True if operand i exists.
  bool has(size_t i) const { return i < inst->operands.size(); }
};

enum AsyncChannel : int { kAsyncTmemLoad = 0, kAsyncWgmma = 1 };

/// Fills op.fn, operands, cost. Throws NotModelled.
using DecodeFn = void (*)(Decoder&, Op&);

/// Op::list of a call, as Warp::call reads it: {n, the n arguments' local offsets in the caller, m, the m
/// returns' local offsets in the caller}.

/// Implemented by isa/.
class InstructionSet {
 public:
  virtual ~InstructionSet() = default;
  /// nullptr if no form of it is modelled.
  virtual DecodeFn find(ptx::Opcode opcode) const = 0;
  /// Executors of the lowering's own ops: "special" (dst = the special register whose Special is Op::imm, width_of
  /// bytes per lane), "not_modelled" (stops the kernel, naming the instruction), "not.pred" (dst = ~a), "sass" (time
  /// that a machine instruction takes which PTX does not have; its result comes after Op::imm cycles).
  virtual ExecFn internal(std::string_view name) const = 0;
};

}  // namespace tinygpu
