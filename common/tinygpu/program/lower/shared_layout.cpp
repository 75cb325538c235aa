#include "common/tinygpu/program/lower/shared_layout.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/tinygpu/base/align_up.h"

namespace tinygpu {
namespace {

/// A kernel, the functions that it may call, and the shared variables that they name.
class Reach {
 public:
  Reach(const Function& kernel, const std::vector<ModuleScope>& scopes,
        const std::vector<std::unique_ptr<Function>>& functions)
      : scopes_(scopes), functions_(functions) {
    add(kernel.index);
    while (!work_.empty()) {
      const uint32_t f = work_.back();
      work_.pop_back();
      look_through(*functions_[f]);
    }
  }
  /// In order of definition.
  const std::set<uint32_t>& functions() const { return reached_; }
  bool names(const ptx::Variable& v) const { return named_.contains(&v); }

 private:
  void add(uint32_t function) {
    if (reached_.insert(function).second) work_.push_back(function);
  }
  void look_through(const Function& f) {
    std::unordered_map<std::string, const ptx::Variable*> own;
    for (const ptx::Variable& v : f.source->locals) own.emplace(v.name, is_shared(v.space) ? &v : nullptr);
    for (const auto* list : {&f.source->params, &f.source->returns})
      for (const ptx::Param& p : *list) own.emplace(p.name, nullptr);
    const ModuleScope& scope = scopes_[f.scope];
    const auto visit = [&](auto&& self, const ptx::Operand& o) -> void {
      for (const ptx::Operand& e : o.elems) self(self, e);
      if (o.kind != ptx::Operand::Kind::symbol) return;
      if (const auto it = own.find(o.name); it != own.end())
        named_.insert(it->second);
      else if (const auto s = scope.shared.find(o.name); s != scope.shared.end())
        named_.insert(s->second);
      else if (const auto g = scope.functions.find(o.name); g != scope.functions.end())
        add(g->second);
    };
    for (const ptx::Instruction& i : f.source->body)
      for (const ptx::Operand& o : i.operands) visit(visit, o);
    const auto calls = [](const ptx::TargetList& t) { return !t.functions.empty(); };
    if (!f.source->prototypes.empty() || std::ranges::any_of(f.source->targets, calls)) add_pointed_to();
  }
  /// A call by a pointer may lead to all functions that initialised variables point to.
  void add_pointed_to() {
    if (pointed_to_) return;
    pointed_to_ = true;
    for (const ModuleScope& scope : scopes_)
      for (const ptx::Variable& v : scope.module->variables)
        for (const auto& r : v.init.relocs)
          if (const auto g = scope.functions.find(r.symbol); g != scope.functions.end()) add(g->second);
  }

  const std::vector<ModuleScope>& scopes_;
  const std::vector<std::unique_ptr<Function>>& functions_;
  std::set<uint32_t> reached_;
  std::vector<uint32_t> work_;
  std::set<const ptx::Variable*> named_;
  bool pointed_to_ = false;
};

/// `extern __shared__`: its size comes with the launch.
bool is_dynamic(const ptx::Variable& v) {
  return v.unsized_array || (v.linkage == ptx::Linkage::external && v.size == 0);
}

}  // namespace

SharedLayout lay_out_shared(const Function& kernel, const std::vector<ModuleScope>& scopes,
                            const std::vector<std::unique_ptr<Function>>& functions) {
  const Reach reach(kernel, scopes, functions);
  SharedLayout out;
  uint64_t end = kSharedBase;
  const auto place = [&](const ptx::Variable& v) {
    const uint64_t at = align_up(end, std::max(1u, v.align));
    if (v.size > kMostStaticShared || at + v.size - kSharedBase > kMostStaticShared)
      throw LinkError("function " + kernel.name + " uses more than " + std::to_string(kMostStaticShared) +
                      " bytes of static shared memory");
    end = at + v.size;
    return uint32_t(at);
  };
  const auto place_all = [&](const std::vector<ptx::Variable>& variables) {
    for (const ptx::Variable& v : variables)
      if (is_shared(v.space) && !is_dynamic(v) && reach.names(v)) out.offsets[&v] = place(v);
  };
  place_all(kernel.source->locals);
  for (const ModuleScope& scope : scopes) place_all(scope.module->variables);
  for (uint32_t f : reach.functions())
    if (f != kernel.index) place_all(functions[f]->source->locals);
  uint32_t dynamic_align = 1;
  const auto place_dynamic = [&](const std::vector<ptx::Variable>& variables, bool of_kernel) {
    for (const ptx::Variable& v : variables) {
      if (!is_shared(v.space) || !is_dynamic(v)) continue;
      const uint32_t align = std::max(16u, v.align);
      if (reach.names(v)) out.offsets[&v] = uint32_t(align_up(end, align));
      if (of_kernel || reach.names(v)) dynamic_align = std::max(dynamic_align, align);
    }
  };
  for (const ModuleScope& scope : scopes) place_dynamic(scope.module->variables, scope.module.get() == kernel.module);
  for (uint32_t f : reach.functions()) place_dynamic(functions[f]->source->locals, f == kernel.index);
  for (uint32_t f : reach.functions())
    for (const ptx::Variable& v : functions[f]->source->locals)
      if (is_shared(v.space) && !is_dynamic(v) && !reach.names(v)) place(v);
  out.bytes = uint32_t(align_up(end, dynamic_align) - kSharedBase);
  return out;
}

}  // namespace tinygpu
