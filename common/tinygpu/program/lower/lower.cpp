#include "common/tinygpu/program/lower/lower.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "common/tinygpu/program/special.h"

namespace tinygpu {
namespace {

using Kind = ptx::Operand::Kind;

uint64_t f32_bits(double v) { return std::bit_cast<uint32_t>(float(v)); }

/// The Decoder of one instruction after the other. It collects what each does to registers, and which constants and
/// temporaries the function needs.
class Lowering final : public Decoder {
 public:
  Lowering(Function& f, const Symbols& symbols, const InstructionSet& isa) : f_(f), symbols_(symbols), isa_(isa) {}

  LoweredFunction run() {
    const auto& body = f_.source->body;
    out_.flow = analyse_flow(*f_.source);
    out_.code.resize(body.size());
    out_.touches.resize(body.size());
    for (uint32_t i = 0; i < body.size(); ++i) lower(i);
    drop_unread_results();
    mark_steering();
    mark_spins();
    mark_uniform();
    return std::move(out_);
  }

  // ---- Decoder

  uint32_t src(const ptx::Operand& o, ptx::Type type) override {
    switch (o.kind) {
      case Kind::reg: return use(o.reg);
      case Kind::integer: {
        if (type == ptx::Type::f32) return constant(f32_bits(double(o.bits)), 4);
        if (type == ptx::Type::f64) return constant(std::bit_cast<uint64_t>(double(o.bits)), 8);
        return constant(uint64_t(o.bits), std::max(2, ptx::size_of(type)));
      }
      case Kind::real: {
        const int size = ptx::size_of(type);
        if (o.type == ptx::Type::f32 || size == ptx::size_of(o.type))
          return constant(uint64_t(o.bits), std::max(2, size));
        return constant(size == 4 ? f32_bits(std::bit_cast<double>(o.bits)) : uint64_t(o.bits), size);
      }
      case Kind::special: return special(o, type);
      case Kind::symbol: return symbol(o.name, o.bits, std::max(4, ptx::size_of(type)));
      default: throw NotModelled("operand of " + inst->spelling());
    }
  }

  uint32_t dst(const ptx::Operand& o) override {
    if (o.kind == Kind::sink) return kNoSlot;
    if (o.kind != Kind::reg) throw NotModelled("destination operand of " + inst->spelling());
    touch_->defs.push_back(o.reg);
    return o.reg;
  }

  int width(const ptx::Operand& o, int otherwise) const override {
    if (o.kind == Kind::reg) return ptx::size_of(f_.source->registers[o.reg].type);
    if (o.kind != Kind::special) return otherwise;
    const Special s = special_from_name(o.name);
    return is_dynamic(s) ? width_of(s) : std::max(2, otherwise);  // as special() gives them
  }

  uint32_t pred(const ptx::Operand& o) override {
    if (o.kind == Kind::integer) {
      const bool value = (o.bits != 0) != o.negated;
      return constant(value ? 0xffffffffu : 0, 0);
    }
    const uint32_t value = o.kind == Kind::special ? src(o, ptx::Type::pred) : use(o.reg);
    if (!o.negated) return value;
    Op& op = add_before("not.pred");
    op.a = value;
    return op.dst;
  }

  AddressOperand address(const ptx::Operand& o) override {
    const ptx::Operand& base = o.kind == Kind::address ? o.elems.at(0) : o;
    AddressOperand a;
    a.offset = o.kind == Kind::address ? o.bits : 0;
    if (base.kind == Kind::reg) {
      a.base = use(base.reg);
      touch_->steers.push_back(base.reg);
      a.wide = ptx::size_of(f_.source->registers[base.reg].type) == 8;
      return a;
    }
    a.offset += base.bits;
    a.wide = true;
    if (base.kind == Kind::integer)
      a.base = constant(0, 8);
    else if (base.kind == Kind::symbol)
      a.base = symbol(base.name, 0, 8);
    else
      throw NotModelled("address operand of " + inst->spelling());
    return a;
  }

  uint32_t constant(uint64_t bits, int width) override {
    if (width == 2) bits &= 0xffff;
    if (width == 4) bits &= 0xffffffff;
    return constant(FrameConstant{FrameConstant::Kind::plain, uint8_t(width), 0, bits, nullptr});
  }

  void set_list(Op& op, OperandList list) override {
    out_.lists.push_back(std::move(list));
    const std::vector<uint32_t>& words = out_.lists.back().words();
    op.list = words.data();
    op.list_size = uint32_t(words.size());
  }

  void set_target(Op& op, uint32_t label) override { op.imm = label; }

  /// One table may serve many branches. It holds labels until every op has its place.
  void set_target_list(Op& op, uint32_t list) override {
    const auto& table = out_.branch_tables.try_emplace(list, f_.source->targets.at(list).labels).first->second;
    op.list = table.data();
    op.list_size = uint32_t(table.size());
  }

  void async_dst(const std::vector<uint32_t>& values, int channel) override {
    add_registers(touch_->async_defs, values);
    touch_->channel = channel;
  }
  void async_src(const std::vector<uint32_t>& values, int channel) override {
    add_registers(touch_->async_uses, values);
    touch_->channel = channel;
  }
  void async_commit(int channel) override { touch_->commits = channel; }
  void async_wait(int channel, uint32_t left) override {
    touch_->waits = channel;
    touch_->left = left;
  }

  ptx::Space space_of_symbol(const std::string& name) const override { return symbols_.space_of(name); }
  int64_t function_index(const std::string& name) const override {
    const auto index = symbols_.function(name);
    return index ? int64_t(*index) : -1;
  }
  uint32_t local_offset(const std::string& name) const override {
    if (const auto offset = symbols_.local_offset(name)) return *offset;
    throw NotModelled("call parameter " + name);
  }
  const std::string& target() const override { return f_.module->target; }

 private:
  // ---- Instructions

  void lower(uint32_t i) {
    inst = &f_.source->body[i];
    touch_ = &out_.touches[i];
    lowered_ = &out_.code[i];
    Op& op = lowered_->op;
    try {
      const DecodeFn decode = isa_.find(inst->opcode);
      if (!decode || !inst->fault.empty()) throw NotModelled(inst->spelling());
      decode(*this, op);
    } catch (const NotModelled&) {
      *touch_ = {};
      *lowered_ = {};
      op.fn = isa_.internal("not_modelled");
    }
    make_move_the_read();
    if (inst->guard >= 0) {
      op.guard = use(uint32_t(inst->guard));
      touch_->steers.push_back(uint32_t(inst->guard));
      touch_->guarded = true;
      if (inst->guard_negated) op.flags |= Op::guard_negated;
    }
    // A control instruction's registers say where it goes; a call's are arguments in memory.
    if (op.cost == CostClass::control) touch_->steers = touch_->uses;
    op.inst = i;
    for (Op& b : lowered_->before) b.inst = i;
    f_.calls_any |= inst->traits().control == ptx::Control::call;
  }

  /// A move of a special register is the read itself.
  void make_move_the_read() {
    auto& [op, before, unread] = *lowered_;
    if (inst->opcode != ptx::Opcode::mov || before.size() != 1 || before[0].cost != CostClass::special) return;
    if (ptx::size_of(inst->type()) != width_of(Special(before[0].imm))) return;
    const uint32_t to = op.dst;
    op = before[0];
    op.dst = to;
    op.flags = 0;
    before.clear();
  }

  /// ptxas makes RED of an atom whose result no instruction reads, and no warp waits for it.
  void drop_unread_results() {
    std::vector<bool> read(f_.source->registers.size());
    for (const Touch& t : out_.touches)
      for (const auto* list : {&t.uses, &t.async_uses})
        for (const uint32_t r : *list) read[r] = true;
    for (size_t i = 0; i < out_.code.size(); ++i) {
      auto& [op, before, unread] = out_.code[i];
      const std::vector<uint32_t>& defs = out_.touches[i].defs;
      if (f_.source->body[i].opcode != ptx::Opcode::atom || defs.empty() || op.list_size) continue;
      if (std::ranges::any_of(defs, [&](uint32_t r) { return read[r]; })) continue;
      unread = true;
      op.dst = kNoSlot;
    }
  }

  void mark_steering() {
    const std::vector<bool> steering = find_steering(out_.touches);
    for (size_t i = 0; i < steering.size(); ++i)
      if (steering[i]) out_.code[i].op.flags |= Op::steers;
  }

  void mark_spins() {
    const std::vector<bool> spins = find_spins(out_.flow, out_.touches);
    for (size_t i = 0; i < out_.code.size(); ++i) out_.code[i].op.spins = spins[out_.flow.block_of[i]];
  }

  /// Atomics whose address, and whose value, all lanes share.
  void mark_uniform() {
    const auto& body = f_.source->body;
    const auto atomic = [](const ptx::Instruction& i) {
      return i.opcode == ptx::Opcode::atom || i.opcode == ptx::Opcode::red;
    };
    if (std::ranges::none_of(body, atomic)) return;
    const std::vector<bool> uniform = find_uniform(*f_.source, out_.flow, out_.touches);
    for (size_t i = 0; i < out_.code.size(); ++i) {
      if (!atomic(body[i])) continue;
      const size_t address = body[i].opcode == ptx::Opcode::atom;
      if (body[i].operands.size() <= address + 1) continue;
      out_.code[i].op.uniform_address = is_uniform(body[i].operands[address], uniform);
      out_.code[i].op.uniform_value = is_uniform(body[i].operands[address + 1], uniform);
    }
  }

  // ---- Operands

  uint32_t use(uint32_t reg) {
    touch_->uses.push_back(reg);
    return reg;
  }

  static void add_registers(std::vector<uint32_t>& to, const std::vector<uint32_t>& values) {
    std::ranges::copy_if(values, std::back_inserter(to), [](uint32_t v) { return v < kTemporaryValue; });
  }

  uint32_t special(const ptx::Operand& o, ptx::Type type) {
    const Special s = special_from_name(o.name);
    if (s == Special::unknown) throw NotModelled("special register %" + o.name);
    if (is_dynamic(s)) {
      Op& op = add_before("special");
      op.imm = int64_t(s);
      op.cost = CostClass::special;
      return op.dst;
    }
    // A 64-bit register read as 32 bits (and the reverse) takes the low word, as a move would.
    const uint8_t width = width_of(s) == 0 ? 0 : uint8_t(std::max(2, ptx::size_of(type)));
    return constant(FrameConstant{FrameConstant::Kind::special, width, 0, uint64_t(s), nullptr});
  }

  uint32_t symbol(const std::string& name, int64_t addend, int width) {
    const auto address = symbols_.address(name, uint64_t(addend), uint8_t(width));
    if (!address) throw NotModelled("symbol " + name);
    return constant(*address);
  }

  uint32_t constant(const FrameConstant& c) {
    const auto key = std::make_tuple(c.kind, c.bits, c.width, c.variable);
    const auto [it, added] = constants_.try_emplace(key, uint32_t(out_.constants.size()));
    if (added) out_.constants.push_back(c);
    return kConstantValue | it->second;
  }

  /// An op in front of the instruction's own that writes a temporary.
  Op& add_before(std::string_view executor) {
    const uint32_t index = uint32_t(lowered_->before.size());
    out_.temporaries = std::max(out_.temporaries, index + 1);
    Op& op = lowered_->before.emplace_back();
    op.fn = isa_.internal(executor);
    op.dst = kTemporaryValue | index;
    op.flags = Op::injected;
    return op;
  }

  Function& f_;
  const Symbols& symbols_;
  const InstructionSet& isa_;
  LoweredFunction out_;
  std::map<std::tuple<FrameConstant::Kind, uint64_t, uint8_t, const ptx::Variable*>, uint32_t> constants_;
  // Of the present instruction.
  LoweredInstruction* lowered_ = nullptr;
  Touch* touch_ = nullptr;
};

}  // namespace

LoweredFunction lower(Function& f, const Symbols& symbols, const InstructionSet& isa) {
  return Lowering(f, symbols, isa).run();
}

}  // namespace tinygpu
