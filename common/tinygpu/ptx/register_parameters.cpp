// `.reg` parameters of a .func (PTX ISA 7.1): the values travel through .param variables as all others do. The function
// loads its parameters where it begins and stores what it returns before each ret; a call stores its arguments before
// it and loads what came back behind it.
#include <algorithm>

#include "common/tinygpu/ptx/parser_impl.h"

namespace tinygpu::ptx {
namespace {

Operand symbol_operand(const std::string& name, Pos pos) {
  Operand o = operand_of(Operand::Kind::symbol, pos);
  o.name = name;
  return o;
}

/// `ld.param` or `st.param` of one value, as a part of the instruction `of`.
Instruction transfer(const Instruction& of, bool load, Operand value, Type type, const std::string& variable) {
  Instruction in;
  in.pos = of.pos;
  in.source = of.source;
  in.inlined = of.inlined;
  in.guard = of.guard;
  in.guard_negated = of.guard_negated;
  in.text = of.text;
  in.opcode = load ? Opcode::ld : Opcode::st;
  in.types = {type};
  in.mods = {"param", std::string(name_of(type))};
  Operand address = operand_of(Operand::Kind::address, of.pos);
  address.elems = {symbol_operand(variable, of.pos)};
  in.operands =
      load ? std::vector{std::move(value), std::move(address)} : std::vector{std::move(address), std::move(value)};
  return in;
}

}  // namespace

void Parser::load_register_parameters() {
  Instruction at;
  at.pos = f_->pos;
  at.text = f_->name;
  for (const Param& p : f_->params)
    if (p.is_reg) f_->body.push_back(transfer(at, true, register_operand(p.reg, at.pos), p.type, p.name));
}

void Parser::store_register_returns(size_t before) {
  Instruction at;
  at.pos = f_->pos;
  at.text = f_->name;
  if (before < f_->body.size()) at = f_->body[before];
  std::vector<Instruction> stores;
  for (const Param& p : f_->returns)
    if (p.is_reg) stores.push_back(transfer(at, false, register_operand(p.reg, at.pos), p.type, p.name));
  f_->body.insert(f_->body.begin() + ptrdiff_t(before), stores.begin(), stores.end());
}

void Parser::pass_registers(size_t at) {
  const auto in_register = [](const Operand& o) { return o.kind != Operand::Kind::symbol; };
  if (std::ranges::none_of(f_->body[at].operands,
                           [&](const Operand& o) { return std::ranges::any_of(o.elems, in_register); }))
    return;
  const Function* callee = nullptr;
  const std::string* prototype = nullptr;
  for (const Operand& o : f_->body[at].operands) {
    if (o.kind == Operand::Kind::label) prototype = &o.name;
    if (o.kind != Operand::Kind::symbol) continue;
    for (const auto& f : m_.functions)
      if (f->name == o.name) callee = f.get();
    if (f_->name == o.name) callee = f_;
  }
  if (prototype)
    for (const Function& f : f_->prototypes)
      if (f.name == *prototype) callee = &f;
  Instruction& call = f_->body[at];
  std::vector<Instruction> stores, loads;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    if (call.operands[k].kind != Operand::Kind::list) continue;
    const bool returns = k == 0;
    for (size_t i = 0; i < call.operands[k].elems.size(); ++i) {
      Operand& value = call.operands[k].elems[i];
      if (!in_register(value)) continue;
      const std::vector<Param>* params = !callee ? nullptr : returns ? &callee->returns : &callee->params;
      const Type type = params && i < params->size()       ? (*params)[i].type
                        : value.kind == Operand::Kind::reg ? f_->registers[value.reg].type
                                                           : Type::none;
      if (type == Type::none)
        fail(value.pos, "the type of this argument is not known", "move it into a register or a .param variable");
      Variable v;
      v.name = unique_local_name(returns ? "returned" : "argument");
      v.space = Space::param;
      v.type = type;
      v.align = uint32_t(size_of(type));
      v.size = uint64_t(size_of(type));
      (returns ? loads : stores).push_back(transfer(call, returns, value, type, v.name));
      value = symbol_operand(v.name, value.pos);
      f_->locals.push_back(std::move(v));
    }
  }
  f_->body.insert(f_->body.begin() + ptrdiff_t(at), stores.begin(), stores.end());
  f_->body.insert(f_->body.end(), loads.begin(), loads.end());
}

}  // namespace tinygpu::ptx
