#include "web/machine/written.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/ptx/form_pattern.h"

namespace tinygpu::web {
namespace {

constexpr size_t kMost = 400;

void each_register(const ptx::Operand& o, auto&& f) {
  if (o.kind == ptx::Operand::Kind::reg)
    f(o.reg);
  else if (o.kind == ptx::Operand::Kind::vector || o.kind == ptx::Operand::Kind::pair)
    for (const ptx::Operand& e : o.elems) each_register(e, f);
}

/// By the table of forms: a destination is the first operand.
bool writes(const ptx::Instruction& i) {
  using Kind = ptx::forms::OperandPattern::Kind;
  if (!i.form || i.operands.empty() || i.form->operands.empty()) return false;
  const ptx::forms::OperandPattern& first = i.form->operands.front();
  return first.kind == Kind::destination || (!first.parts.empty() && first.parts.front().kind == Kind::destination);
}

}  // namespace

void Written::on_launch(const Launch& l) {
  start_ = l.start_time;
  function_ = nullptr;
  awaited_.clear();
  rows_.clear();
}

void Written::add(const debug::Registers& registers, const RegisterPlace& place, const Awaited& what, uint64_t time) {
  if (rows_.size() < kMost)
    rows_.push_back({what.line, what.lanes, time - start_, registers.declared(place), registers.values(place)});
}

void Written::on_instruction(const Executed& e) {
  const Dim3& cta = e.warp.cta().key.id;
  if (e.again || !e.lanes || rows_.size() >= kMost || e.warp.index() || cta.x || cta.y || cta.z) return;
  if (function_ != &e.function) awaited_.clear();
  function_ = &e.function;
  const auto group = std::ranges::find_if(
      e.warp.groups(), [&](const Group& g) { return g.function == &e.function && (g.mask & e.lanes); });
  if (group == e.warp.groups().end()) return;
  // Behind the instruction: what it has written, and what has come meanwhile.
  const auto next = uint32_t(&e.op - e.function.ops.data()) + 1;
  const debug::Registers registers(e.warp, {&e.function, next, group->register_base, group->local_base});
  std::erase_if(awaited_, [&](const Awaited& a) {
    const RegisterPlace* const p = registers.find(a.reg);
    if (p) add(registers, *p, a, e.done);
    return p != nullptr;
  });
  const ptx::Instruction& i = e.function.source->body[e.op.inst];
  if (!writes(i)) return;
  each_register(i.operands.front(), [&](uint32_t reg) {
    const Awaited what{reg, i.pos.line, e.lanes};
    if (const RegisterPlace* const p = registers.find(reg))
      add(registers, *p, what, e.done);
    else if (std::ranges::any_of(e.function.registers, [&](const RegisterPlace& p) {
               return p.reg == reg && next > p.first && next <= p.last;
             }))
      awaited_.push_back(what);
  });
}

nlohmann::ordered_json Written::json() const {
  using Json = nlohmann::ordered_json;
  // JavaScript's numbers are exact up to 2^53.
  const auto exact = [](const debug::Json& v) -> Json {
    if (v.is_number_unsigned() && v.get<uint64_t>() >> 53) return fmt::format("{:#x}", v.get<uint64_t>());
    return Json::parse(v.dump());
  };
  Json out = Json::array();
  for (const Row& r : rows_) {
    const auto first = size_t(std::countr_zero(r.lanes));
    bool same = true;
    for (size_t lane = first; lane < 32; ++lane) same &= !(r.lanes >> lane & 1) || r.values[lane] == r.values[first];
    Json values = Json::array();
    for (const debug::Json& v : r.values) values.push_back(exact(v));
    out.push_back({{"line", r.line},
                   {"cycle", r.cycle},
                   {"name", r.declared.name},
                   {"type", std::string(ptx::name_of(r.declared.type))},
                   {"lanes", r.lanes},
                   {"values", same ? values[first] : values}});
  }
  return out;
}

}  // namespace tinygpu::web
