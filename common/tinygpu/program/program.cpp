#include "common/tinygpu/program/program.h"

#include <algorithm>
#include <optional>

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/program/allocate/allocate.h"
#include "common/tinygpu/program/lower/lower.h"
#include "common/tinygpu/program/lower/shared_layout.h"
#include "common/tinygpu/program/sass/sass_match.h"
#include "common/tinygpu/program/schedule/issue_cost.h"
#include "common/tinygpu/program/schedule/schedule.h"

namespace tinygpu {
namespace {

bool in_memory(const ptx::Variable& v) { return v.space == ptx::Space::global || v.space == ptx::Space::constant; }

/// Program::Subject, as bits.
uint8_t subjects_of(const ptx::OpcodeTraits& opcode) {
  uint8_t subjects = 0;
  if (opcode.proxy == ptx::OpcodeProxy::async) subjects |= Program::async_proxy;
  if (opcode.subject == ptx::Subject::mbarrier) subjects |= Program::mbarriers;
  if (opcode.subject == ptx::Subject::tensor_memory) subjects |= Program::tensor_memory;
  return subjects;
}

}  // namespace

Program::Program(std::vector<std::shared_ptr<const ptx::Module>> modules, const InstructionSet& isa,
                 const CostTable& costs, VariableStore& store)
    : isa_(isa), costs_(costs) {
  for (auto& m : modules) {
    scopes_.emplace_back();
    for (const ptx::Variable& v : m->variables)
      if (is_shared(v.space)) scopes_.back().shared[v.name] = &v;
    scopes_.back().module = std::move(m);
  }
  for (const ModuleScope& s : scopes_)
    for (const auto& f : s.module->functions)
      for (const ptx::Instruction& i : f->body) subjects_ |= subjects_of(i.traits());
  link_functions();
  load_variables(store);
}

Program::~Program() = default;

void Program::link_functions() {
  for (uint32_t s = 0; s < scopes_.size(); ++s)
    for (const auto& f : scopes_[s].module->functions) {
      if (!f->has_body) continue;
      const bool visible = f->linkage != ptx::Linkage::internal;
      if (visible)
        if (auto it = visible_functions_.find(f->name); it != visible_functions_.end()) {
          // Weak definitions (templates, inline functions) may stand in several modules; the first is taken.
          if (f->linkage == ptx::Linkage::weak || functions_[it->second]->source->linkage == ptx::Linkage::weak)
            continue;
          throw LinkError("function " + f->name + " is defined in two modules");
        }
      auto g = std::make_unique<Function>();
      g->source = f.get();
      g->module = scopes_[s].module.get();
      g->scope = s;
      g->name = f->name;
      g->entry = f->entry;
      g->index = uint32_t(functions_.size());
      if (f->entry)
        for (const auto& p : f->params) {
          g->param_bytes = uint32_t(align_up(g->param_bytes, std::max(1u, p.align)));
          g->params.push_back({g->param_bytes, uint32_t(p.size), p.align});
          g->param_bytes += uint32_t(p.size);
        }
      scopes_[s].functions[f->name] = g->index;
      if (visible) visible_functions_[f->name] = g->index;
      functions_.push_back(std::move(g));
    }
  for (auto& scope : scopes_)
    for (const auto& f : scope.module->functions)
      if (auto it = visible_functions_.find(f->name); it != visible_functions_.end())
        scope.functions.emplace(f->name, it->second);
}

void Program::load_variables(VariableStore& store) {
  struct Pending {
    uint32_t scope;
    const ptx::Variable* v;
  };
  std::vector<Pending> initialised;
  for (uint32_t s = 0; s < scopes_.size(); ++s)
    for (const auto& v : scopes_[s].module->variables) {
      if (!in_memory(v) || v.linkage == ptx::Linkage::external) continue;
      const bool visible = v.linkage != ptx::Linkage::internal;
      if (visible)
        if (auto it = visible_variables_.find(v.name); it != visible_variables_.end()) {
          const bool soft = v.linkage == ptx::Linkage::weak || v.linkage == ptx::Linkage::common ||
                            it->second.source->linkage == ptx::Linkage::weak ||
                            it->second.source->linkage == ptx::Linkage::common;
          if (!soft) throw LinkError("variable " + v.name + " is defined in two modules");
          continue;
        }
      LoadedVariable loaded;
      loaded.source = &v;
      loaded.size = v.size;
      loaded.address = store.allocate(v.name, std::max<uint64_t>(v.size, 1), std::max(1u, v.align), v.managed,
                                      v.space == ptx::Space::constant);
      scopes_[s].variables[v.name] = loaded;
      if (visible) visible_variables_[v.name] = loaded;
      if (v.has_init) initialised.push_back({s, &v});
    }
  for (auto& scope : scopes_)
    for (const auto& v : scope.module->variables)
      if (in_memory(v) && !scope.variables.count(v.name)) {
        auto it = visible_variables_.find(v.name);
        if (it == visible_variables_.end())
          throw LinkError("variable " + v.name + " is declared .extern and defined nowhere");
        scope.variables[v.name] = it->second;
      }
  for (const auto& [s, v] : initialised) {
    std::vector<uint8_t> bytes(v->size);
    std::copy_n(v->init.bytes.begin(), std::min(bytes.size(), v->init.bytes.size()), bytes.begin());
    for (const auto& r : v->init.relocs) {
      uint64_t value = uint64_t(r.addend);
      const auto& scope = scopes_[s];
      if (auto it = scope.variables.find(r.symbol); it != scope.variables.end())
        value += it->second.address;
      else if (auto fn = scope.functions.find(r.symbol); fn != scope.functions.end())
        value += function_address(fn->second);
      else
        throw LinkError("initialiser of " + v->name + " names " + r.symbol + ", which is defined nowhere");
      if (r.shift_mask >= 0) value >>= 8 * r.shift_mask;
      for (int i = 0; i < r.size && r.offset + i < bytes.size(); ++i) bytes[r.offset + i] = uint8_t(value >> (8 * i));
    }
    store.write(scopes_[s].variables.at(v->name).address, bytes.data(), bytes.size());
  }
}

void Program::lower_function(Function& f) const {
  std::optional<SharedLayout> shared;
  if (f.entry) shared = lay_out_shared(f, scopes_, functions_);
  const Symbols symbols(f, scopes_[f.scope], shared ? &*shared : nullptr);
  LoweredFunction code = lower(f, symbols, isa_);
  price(f, code, costs_);
  SassMatch sass;
  if (f.sass) {
    sass = match_sass(features_of(f, code), code.touches, code.flow, *f.sass);
    reorder(code, sass.blocks, isa_.internal("sass"));
  }
  const Placement places = allocate(f, code);
  schedule(f, code, places, sass, costs_);
}

void Program::decode(Function& f) {
  std::lock_guard lock(decode_mutex_);
  if (f.decoded) return;
  lower_function(f);
  f.decoded = true;
}

const Function* Program::find(const std::string& name) {
  auto it = visible_functions_.find(name);
  if (it == visible_functions_.end()) {
    for (auto& s : scopes_)
      if (auto i = s.functions.find(name); i != s.functions.end()) return &at(i->second);
    return nullptr;
  }
  return &at(it->second);
}

const Function& Program::at(uint32_t index) {
  Function& f = *functions_.at(index);
  if (!f.decoded) decode(f);
  return f;
}

void Program::set_sass(const std::string& name, std::shared_ptr<const SassCode> code) {
  for (auto& f : functions_)
    if (f->name == name) f->sass = code;
}

void Program::set_stack(const std::map<std::string, uint32_t>& frames) {
  for (auto& f : functions_) {
    const auto it = frames.find(f->name);
    if (!f->entry || it == frames.end()) continue;
    f->stack_bytes = it->second;
    f->stack_known = true;
  }
}

std::vector<std::string> Program::entries() const {
  std::vector<std::string> out;
  for (const auto& f : functions_)
    if (f->entry) out.push_back(f->name);
  return out;
}

const LoadedVariable* Program::variable(const std::string& name) const {
  if (auto it = visible_variables_.find(name); it != visible_variables_.end()) return &it->second;
  for (const auto& s : scopes_)
    if (auto i = s.variables.find(name); i != s.variables.end()) return &i->second;
  return nullptr;
}

}  // namespace tinygpu
