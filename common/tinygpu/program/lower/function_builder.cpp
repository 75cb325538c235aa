#include "common/tinygpu/program/lower/function_builder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "common/tinygpu/program/sass/sass_match.h"
#include "common/tinygpu/program/schedule/issue_cost.h"

namespace tinygpu {
namespace {

uint64_t align_up(uint64_t v, uint64_t a) { return (v + a - 1) / a * a; }

bool is_shared(ptx::Space s) {
  return s == ptx::Space::shared || s == ptx::Space::shared_cta || s == ptx::Space::shared_cluster;
}

}  // namespace

/// The Decoder of one instruction. In the recording pass it collects what registers are read and written and which
/// constants are needed; slots are settled after it, and the second pass decodes with them.
class FunctionBuilder::Services final : public Decoder {
 public:
  explicit Services(FunctionBuilder& b) : b_(b), f_(b.f_), src_(*b.f_.source) {}

  void begin(const ptx::Instruction& i, bool record) {
    inst = &i;
    record_ = record;
    touch = {};
    temporaries_used = 0;
    injected.clear();
    uses.clear();
    defs.clear();
    targets.clear();
  }

  uint32_t slot_of(uint32_t reg) const { return record_ ? reg : b_.packing_.slot[reg]; }

  uint32_t src(const ptx::Operand& o, ptx::Type type) override {
    using K = ptx::Operand::Kind;
    switch (o.kind) {
      case K::reg: return use(o.reg);
      case K::integer: {
        if (type == ptx::Type::f32) return constant(f32_bits(double(o.bits)), 4);
        if (type == ptx::Type::f64) return constant(f64_bits(double(o.bits)), 8);
        return constant(uint64_t(o.bits), std::max(2, ptx::size_of(type)));
      }
      case K::real: {
        const int size = ptx::size_of(type);
        if (o.type == ptx::Type::f32 || size == ptx::size_of(o.type))
          return constant(uint64_t(o.bits), std::max(2, size));
        double value;
        std::memcpy(&value, &o.bits, 8);
        return constant(size == 4 ? f32_bits(value) : uint64_t(o.bits), size);
      }
      case K::special: {
        const Special s = special_from_name(o.name);
        if (s == Special::unknown) throw NotModelled("special register %" + o.name);
        const uint8_t width = uint8_t(width_of(s));
        if (!is_dynamic(s)) {
          // A 64-bit register read as 32 bits (and the reverse) takes the low word, as a move would.
          const uint8_t wanted = width == 0 ? 0 : uint8_t(std::max(2, ptx::size_of(type)));
          return b_.constant_slot(FrameConstant::Kind::special, uint64_t(s), wanted);
        }
        const uint32_t t = temporary();
        Op op;
        op.fn = b_.program_.isa_.internal("special");
        op.dst = t;
        op.imm = int64_t(s);
        op.cost = CostClass::special;
        op.flags = Op::injected;
        injected.push_back({op, {}, {t}});
        uses.push_back(t);
        return t;
      }
      case K::symbol: {
        const int width = std::max(4, ptx::size_of(type));
        return symbol(o.name, o.bits, width);
      }
      default: throw NotModelled("operand of " + inst->spelling());
    }
  }

  uint32_t dst(const ptx::Operand& o) override {
    if (o.kind == ptx::Operand::Kind::sink) return kNoSlot;
    if (o.kind != ptx::Operand::Kind::reg) throw NotModelled("destination operand of " + inst->spelling());
    touch.defs.push_back(o.reg);
    defs.push_back(slot_of(o.reg));
    return slot_of(o.reg);
  }

  int width(const ptx::Operand& o, int otherwise) const override {
    if (o.kind != ptx::Operand::Kind::reg) return otherwise;
    return ptx::size_of(src_.registers[o.reg].type);
  }

  uint32_t pred(const ptx::Operand& o) override {
    using K = ptx::Operand::Kind;
    if (o.kind == K::integer) {
      const bool value = (o.bits != 0) != o.negated;
      return b_.constant_slot(FrameConstant::Kind::plain, value ? 0xffffffffu : 0, 0);
    }
    uint32_t s = o.kind == K::special ? src(o, ptx::Type::pred) : use(o.reg);
    if (!o.negated) return s;
    const uint32_t t = temporary();
    Op op;
    op.fn = b_.program_.isa_.internal("not.pred");
    op.dst = t;
    op.a = s;
    op.flags = Op::injected;
    injected.push_back({op, {s}, {t}});
    return t;
  }

  AddressOperand address(const ptx::Operand& o) override {
    using K = ptx::Operand::Kind;
    const ptx::Operand& base = o.kind == K::address ? o.elems.at(0) : o;
    AddressOperand a;
    a.offset = o.kind == K::address ? o.bits : 0;
    if (base.kind == K::reg) {
      a.base = use(base.reg);
      touch.steers.push_back(base.reg);
      a.wide = ptx::size_of(src_.registers[base.reg].type) == 8;
    } else if (base.kind == K::integer) {
      a.base = constant(0, 8);
      a.offset += base.bits;
      a.wide = true;
    } else if (base.kind == K::symbol) {
      a.offset += base.bits;
      a.base = symbol(base.name, 0, 8);
      a.wide = true;
    } else {
      throw NotModelled("address operand of " + inst->spelling());
    }
    return a;
  }

  uint32_t constant(uint64_t bits, int width) override {
    if (width == 2) bits &= 0xffff;
    if (width == 4) bits &= 0xffffffff;
    return b_.constant_slot(FrameConstant::Kind::plain, bits, uint8_t(width));
  }

  void set_list(Op& op, const std::vector<uint32_t>& slots) override {
    if (record_) {
      static const uint32_t none = 0;
      op.list = &none;
    } else {
      f_.lists.push_back(slots);
      op.list = f_.lists.back().data();
    }
    op.list_size = uint32_t(slots.size());
  }

  void set_target(Op& op, uint32_t label) override {
    targets.push_back(label);
    op.imm = label;
  }

  void set_target_list(Op& op, uint32_t list) override {
    const std::vector<uint32_t>& labels = src_.targets.at(list).labels;
    if (record_) return;
    // One list may serve many branches. It holds labels until every op has its place.
    auto& shared = b_.target_lists_[list];
    if (!shared) shared = &f_.lists.emplace_back(labels);
    op.list = shared->data();
    op.list_size = uint32_t(labels.size());
  }

  void async_dst(const std::vector<uint32_t>& slots, int channel) override {
    // Slots are register ids in the recording pass; in the second pass the analysis is done.
    if (!record_) return;
    for (uint32_t s : slots)
      if (s != kNoSlot) touch.async_defs.push_back(s);
    touch.channel = channel;
  }
  void async_src(const std::vector<uint32_t>& slots, int channel) override {
    if (!record_) return;
    touch.async_uses.insert(touch.async_uses.end(), slots.begin(), slots.end());
    touch.channel = channel;
  }
  void async_commit(int channel) override { touch.commits = channel; }
  void async_wait(int channel, uint32_t left) override {
    touch.waits = channel;
    touch.left = left;
  }

  ptx::Space space_of_symbol(const std::string& name) const override {
    if (auto it = b_.symbols_.find(name); it != b_.symbols_.end()) return it->second.space;
    const auto& scope = b_.program_.scopes_[f_.scope];
    if (auto it = scope.variables.find(name); it != scope.variables.end()) return it->second.source->space;
    return ptx::Space::generic;
  }

  int64_t function_index(const std::string& name) const override {
    const auto& scope = b_.program_.scopes_[f_.scope];
    if (auto it = scope.functions.find(name); it != scope.functions.end()) return it->second;
    return -1;
  }

  uint32_t local_offset(const std::string& name) const override {
    auto it = b_.symbols_.find(name);
    if (it == b_.symbols_.end() || it->second.space != ptx::Space::local) throw NotModelled("call parameter " + name);
    return uint32_t(it->second.offset);
  }

  bool spins() const override { return in_spin; }
  const std::string& target() const override { return f_.module->target; }

  uint32_t use(uint32_t reg) {
    touch.uses.push_back(reg);
    uses.push_back(slot_of(reg));
    return slot_of(reg);
  }

  struct Injected {
    Op op;
    std::vector<uint32_t> uses, defs;
  };
  Touch touch;
  std::vector<Injected> injected;
  std::vector<uint32_t> uses, defs;  // slots
  std::vector<uint32_t> targets;     // labels
  bool in_spin = false;
  size_t temporaries_used = 0;

 private:
  static uint64_t f32_bits(double v) {
    const float f = float(v);
    uint32_t b;
    std::memcpy(&b, &f, 4);
    return b;
  }
  static uint64_t f64_bits(double v) {
    uint64_t b;
    std::memcpy(&b, &v, 8);
    return b;
  }

  uint32_t temporary() {
    if (temporaries_used == b_.temporaries_.size()) b_.temporaries_.push_back(kNoSlot);
    return b_.temporaries_[temporaries_used++];
  }

  uint32_t symbol(const std::string& name, int64_t addend, int width) {
    if (auto it = b_.symbols_.find(name); it != b_.symbols_.end())
      return b_.constant_slot(it->second.kind, it->second.offset + uint64_t(addend), uint8_t(width));
    const auto& scope = b_.program_.scopes_[f_.scope];
    if (auto it = scope.variables.find(name); it != scope.variables.end())
      return constant(it->second.address + uint64_t(addend), width);
    if (auto it = scope.functions.find(name); it != scope.functions.end())
      return constant(function_address(it->second) + uint64_t(addend), width);
    throw NotModelled("symbol " + name);
  }

  FunctionBuilder& b_;
  Function& f_;
  const ptx::Function& src_;
  bool record_ = false;
};

uint32_t FunctionBuilder::constant_slot(FrameConstant::Kind kind, uint64_t bits, uint8_t width) {
  const auto key = std::make_tuple(int(kind), bits, int(width));
  if (auto it = constant_slots_.find(key); it != constant_slots_.end()) return it->second;
  const uint32_t bytes = width == 0 ? 4 : 32u * width;
  constant_bytes_ = uint32_t(align_up(constant_bytes_, std::min(bytes, 64u)));
  const uint32_t slot = constant_bytes_;
  if (slot > kMostRegisterBytes) throw LinkError("function " + f_.name + " has too many constants");
  constant_bytes_ += bytes;
  constant_slots_.emplace(key, slot);
  f_.constants.push_back({kind, width, slot, bits});
  return slot;
}

void FunctionBuilder::place_locals() {
  const ptx::Function& src = *f_.source;
  uint64_t at = 0;
  /// Where `size` bytes go.
  const auto place = [&](uint64_t size, uint32_t align) {
    const uint64_t offset = align_up(at, std::max(1u, align));
    if (size > kMostLocal || offset + size > kMostLocal)
      throw LinkError("function " + f_.name + " needs more than " + std::to_string(kMostLocal) +
                      " bytes of local memory a thread");
    at = offset + size;
    return uint32_t(offset);
  };
  const auto place_all = [&](const std::vector<ptx::Param>& from, std::vector<ParamInfo>& into) {
    into.clear();
    for (const ptx::Param& p : from) into.push_back({place(p.size, p.align), uint32_t(p.size), p.align});
  };
  if (f_.entry) {
    // The parameter bank was laid out when the program was linked.
    for (size_t i = 0; i < src.params.size(); ++i)
      symbols_[src.params[i].name] = {ptx::Space::param, FrameConstant::Kind::plain, f_.params[i].offset};
  } else {
    place_all(src.params, f_.params);
    place_all(src.returns, f_.returns);
    for (size_t i = 0; i < src.params.size(); ++i)
      symbols_[src.params[i].name] = {ptx::Space::local, FrameConstant::Kind::local, f_.params[i].offset};
    for (size_t i = 0; i < src.returns.size(); ++i)
      symbols_[src.returns[i].name] = {ptx::Space::local, FrameConstant::Kind::local, f_.returns[i].offset};
  }
  for (const auto& v : src.locals) {
    const bool param =
        v.space == ptx::Space::param || v.space == ptx::Space::param_entry || v.space == ptx::Space::param_func;
    if (v.space != ptx::Space::local && !param) continue;
    symbols_[v.name] = {ptx::Space::local, FrameConstant::Kind::local, place(v.size, v.align)};
  }
  f_.local_bytes = uint32_t(align_up(at, 16));
}

void FunctionBuilder::place_shared() {
  const auto& scope = program_.scopes_[f_.scope];
  // Offsets common to all kernels of the module first: variables that called functions use.
  // A parameter or a local variable hides a module's variable.
  for (const auto& [name, offset] : scope.common_shared)
    symbols_.emplace(name, Symbol{ptx::Space::shared, FrameConstant::Kind::shared, offset});
  uint64_t at = kSharedBase + scope.common_shared_bytes;
  const auto check = [&] {
    if (at - kSharedBase > kMostStaticShared)
      throw LinkError("function " + f_.name + " uses more than " + std::to_string(kMostStaticShared) +
                      " bytes of static shared memory");
  };
  check();
  std::map<std::string, const ptx::Variable*> known;
  for (const auto& v : f_.module->variables)
    if (is_shared(v.space)) known[v.name] = &v;
  for (const auto& v : f_.source->locals)
    if (is_shared(v.space)) known[v.name] = &v;
  auto mention = [&](const std::string& name) {
    auto it = known.find(name);
    if (it == known.end() || symbols_.count(name)) return;
    const ptx::Variable& v = *it->second;
    if (v.unsized_array || (v.linkage == ptx::Linkage::external && v.size == 0)) {
      symbols_[name] = {ptx::Space::shared, FrameConstant::Kind::dynamic_shared, 0};
      return;
    }
    at = align_up(at, std::max(1u, v.align));
    symbols_[name] = {ptx::Space::shared, FrameConstant::Kind::shared, at};
    at += v.size;
    check();
  };
  auto visit = [&](auto&& self, const ptx::Operand& o) -> void {
    if (o.kind == ptx::Operand::Kind::symbol) mention(o.name);
    for (const auto& e : o.elems) self(self, e);
  };
  for (const auto& i : f_.source->body)
    for (const auto& o : i.operands) visit(visit, o);
  uint32_t dynamic_align = 16;
  for (const auto& [name, v] : known)
    if (v->unsized_array || v->size == 0) dynamic_align = std::max(dynamic_align, v->align);
  // Dynamic shared memory starts behind the static part, aligned as its declaration asks.
  f_.static_shared = f_.entry ? uint32_t(align_up(at, known.empty() ? 1 : dynamic_align) - kSharedBase) : 0;
}

void FunctionBuilder::decode_all(Services& s, const Flow& flow, bool record) {
  const auto& body = f_.source->body;
  if (record)
    touches_.resize(body.size());
  else
    first_op_.resize(body.size() + 1);
  for (uint32_t i = 0; i < body.size(); ++i) {
    const ptx::Instruction& inst = body[i];
    s.begin(inst, record);
    s.in_spin = !record && spins_[flow.block_of[i]];
    Op op;
    DecodeFn decode = program_.isa_.find(inst.opcode);
    try {
      if (!decode || !inst.fault.empty()) throw NotModelled(inst.spelling());
      decode(s, op);
    } catch (const NotModelled&) {
      s.begin(inst, record);
      op = Op{};
      op.fn = program_.isa_.internal("not_modelled");
    }
    // A move of a special register is the read itself.
    if (inst.opcode == "mov" && s.injected.size() == 1 && s.injected[0].op.cost == CostClass::special &&
        ptx::size_of(inst.type()) == width_of(Special(s.injected[0].op.imm))) {
      const uint32_t to = op.dst;
      op = s.injected[0].op;
      op.dst = to;
      op.flags = 0;
      s.injected.clear();
      s.uses.clear();
    }
    if (inst.guard >= 0) {
      op.guard = s.use(uint32_t(inst.guard));
      s.touch.steers.push_back(uint32_t(inst.guard));
      if (inst.guard_negated) op.flags |= Op::guard_negated;
    }
    op.inst = i;
    if (record) {
      // A control instruction's registers say where it goes; a call's are arguments in memory.
      if (op.cost == CostClass::control) s.touch.steers = s.touch.uses;
      touches_[i] = std::move(s.touch);
      if (f_.sass) {
        price(op, inst, f_.entry, program_.costs_[size_t(op.cost)]);
        features_.push_back(features_of(op, inst));
      }
      continue;
    }
    first_op_[i] = uint32_t(f_.ops.size());
    if (const auto before = before_.find(i); before != before_.end())
      for (size_t k = 0; k < before->second->size(); ++k) {
        Op step;
        step.fn = program_.isa_.internal("chip");
        step.flags = Op::injected;
        step.inst = i;
        f_.ops.push_back(step);
        op_uses_.emplace_back();
        op_defs_.emplace_back();
      }
    for (auto& inj : s.injected) {
      inj.op.inst = i;
      f_.ops.push_back(inj.op);
      op_uses_.push_back(inj.uses);
      op_defs_.push_back(inj.defs);
    }
    f_.ops.push_back(op);
    op_uses_.push_back(s.uses);
    op_defs_.push_back(s.defs);
  }
  if (!record) first_op_[body.size()] = uint32_t(f_.ops.size());
}

FunctionBuilder::FunctionBuilder(Program& program, Function& f)
    : program_(program), f_(f), sass_(std::make_unique<SassMatch>()) {}
FunctionBuilder::~FunctionBuilder() = default;

void FunctionBuilder::take_sass(const Flow& flow) {
  *sass_ = share_out(features_, touches_, flow, *f_.sass);
  if (sass_->blocks.empty()) return;
  // A body of its own, whose blocks have ptxas's order.
  auto ordered = std::make_shared<ptx::Function>(*f_.source);
  const std::vector<Touch> touches = touches_;
  for (const SassBlock& block : sass_->blocks)
    for (size_t k = 0; k < block.order.size(); ++k) {
      const uint32_t to = block.begin + uint32_t(k), from = block.order[k];
      ordered->body[to] = f_.source->body[from];
      touches_[to] = touches[from];
      if (!block.places[k].before.empty()) before_.emplace(to, &block.places[k].before);
    }
  f_.source = ordered.get();
  auto code = std::make_shared<SassCode>();
  code->ordered = std::move(ordered);
  f_.sass = std::move(code);
}

void FunctionBuilder::mark_joins(const Flow& flow) {
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    f_.ops[first_op_[flow.blocks[b].begin]].flags |= Op::leader;
    if (flow.blocks[b].divergent && flow.post_dominator[b] >= 0)
      f_.ops[first_op_[flow.blocks[flow.post_dominator[b]].begin]].flags |= Op::join;
  }
}

/// Readers and writers of registers that an asynchronous operation may still own.
void FunctionBuilder::mark_pending(const Flow& flow, const AsyncRegisters& async) {
  const auto& registers = async.registers();
  if (registers.empty()) return;
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    AsyncRegisters::Ages ages = async.at_begin(b);
    std::unordered_map<uint32_t, uint32_t> moved;  // registers that hold a value still to be waited for: whose it is
    for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      const Touch& t = touches_[i];
      AsyncTouch touched;
      std::optional<uint32_t> taken;
      for (size_t k = 0; k < ages.size(); ++k) {
        if (ages[k] == AsyncRegisters::kIdle) continue;
        const uint32_t r = registers[k].id;
        const auto holds = [&](uint32_t use) {
          const auto from = moved.find(use);
          return use == r || (from != moved.end() && from->second == r);
        };
        if (registers[k].written && std::ranges::any_of(t.uses, holds)) {
          touched.reads.push_back(packing_.slot[r]);
          taken = r;
        }
        if (std::ranges::find(t.defs, r) != t.defs.end()) touched.writes.push_back(packing_.slot[r]);
      }
      if (!touched.reads.empty() || !touched.writes.empty())
        for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k) {
          f_.ops[k].flags |= Op::reads_pending;
          f_.async_touches.emplace(k, touched);
        }
      for (const uint32_t r : t.defs) moved.erase(r);
      if (taken && f_.source->body[i].opcode == "mov")
        for (const uint32_t r : t.defs) moved[r] = *taken;
      async.step(ages, i);
    }
  }
}

void FunctionBuilder::mark_steering() {
  const std::vector<bool> steering = find_steering(touches_);
  for (size_t i = 0; i < steering.size(); ++i)
    if (steering[i]) f_.ops[first_op_[i + 1] - 1].flags |= Op::steers;
}

void FunctionBuilder::drop_unread_results() {
  std::vector<bool> read(f_.source->registers.size());
  for (const Touch& t : touches_)
    for (const auto* list : {&t.uses, &t.async_uses})
      for (const uint32_t r : *list)
        if (r < read.size()) read[r] = true;
  for (size_t i = 0; i < touches_.size(); ++i) {
    if (f_.source->body[i].opcode != "atom" || touches_[i].defs.empty()) continue;
    if (std::ranges::any_of(touches_[i].defs, [&](uint32_t r) { return read[r]; })) continue;
    const uint32_t k = first_op_[i + 1] - 1;
    if (f_.ops[k].list_size) continue;
    f_.ops[k].dst = kNoSlot;
    op_defs_[k].clear();
  }
}

void FunctionBuilder::build() {
  const Flow flow = analyse_flow(*f_.source);
  place_locals();
  place_shared();
  {
    Services services(*this);
    decode_all(services, flow, true);
  }
  if (f_.sass) take_sass(flow);
  Services services(*this);
  const ptx::Function& src = *f_.source;
  spins_ = find_spins(flow, touches_);
  // Settled now: constants (some more may appear only if decoding were not deterministic), temporaries, registers.
  uint32_t at = uint32_t(align_up(constant_bytes_, 64));
  for (uint32_t& t : temporaries_) {
    t = at;
    at += 256;
  }
  const AsyncRegisters async(src, flow, touches_);
  packing_ = pack_registers(src, flow, touches_, async, at);
  f_.register_bytes = uint32_t(align_up(at + packing_.bytes, 64));
  const uint32_t constants = constant_bytes_;
  decode_all(services, flow, false);
  if (constant_bytes_ != constants) throw LinkError("decoding of " + f_.name + " is not deterministic");
  for (Op& op : f_.ops) {
    const ptx::Instruction& i = src.body[op.inst];
    if (op.flags & Op::injected) continue;
    if (i.opcode == "bra" && i.fault.empty() && i.operands[0].kind == ptx::Operand::Kind::label)
      op.imm = first_op_[src.labels.at(uint32_t(op.imm)).at];
    f_.calls_any |= i.opcode == "call";
  }
  for (auto& [list, labels] : target_lists_)
    for (uint32_t& l : *labels) l = first_op_[src.labels.at(l).at];
  mark_joins(flow);
  drop_unread_results();
  mark_steering();
  mark_pending(flow, async);
  schedule(flow);
  for (Op& op : f_.ops) op.settle();
  if (!f_.registers_per_thread) f_.registers_per_thread = std::clamp(packing_.live_words + 8, 16u, 255u);
}

}  // namespace tinygpu
