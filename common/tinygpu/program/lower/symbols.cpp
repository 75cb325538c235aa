#include "common/tinygpu/program/lower/symbols.h"

#include <algorithm>

#include "common/tinygpu/base/align_up.h"

namespace tinygpu {
namespace {

constexpr uint32_t kReturnBytes = 16;  // of stack that a call takes at least: the return address, aligned

bool is_param(ptx::Space s) {
  return s == ptx::Space::param || s == ptx::Space::param_entry || s == ptx::Space::param_func;
}

}  // namespace

Symbols::Symbols(Function& f, const ModuleScope& scope, const SharedLayout* shared) : scope_(scope) {
  place_locals(f);
  if (shared) {
    f.static_shared = shared->bytes;
    f.shared_offsets = shared->offsets;
  }
  // A parameter or a local variable hides a module's variable.
  place_shared(f, f.source->locals);
  place_shared(f, scope.module->variables);
}

void Symbols::place_locals(Function& f) {
  using Kind = FrameConstant::Kind;
  const ptx::Function& source = *f.source;
  uint64_t end = 0;
  const auto place = [&](uint64_t size, uint32_t align) {
    const uint64_t at = align_up(end, std::max(1u, align));
    if (size > kMostLocal || at + size > kMostLocal)
      throw LinkError("function " + f.name + " needs more than " + std::to_string(kMostLocal) +
                      " bytes of local memory a thread");
    end = at + size;
    return uint32_t(at);
  };
  const auto place_all = [&](const std::vector<ptx::Param>& from, std::vector<ParamInfo>& into) {
    into.clear();
    for (const ptx::Param& p : from) {
      into.push_back({place(p.size, p.align), uint32_t(p.size), p.align});
      places_[p.name] = {ptx::Space::local, Kind::local, into.back().offset};
    }
  };
  if (f.entry) {
    // The parameter bank was laid out when the program was linked.
    for (size_t i = 0; i < source.params.size(); ++i)
      places_[source.params[i].name] = {ptx::Space::param, Kind::plain, f.params[i].offset};
  } else {
    place_all(source.params, f.params);
    place_all(source.returns, f.returns);
  }
  uint64_t variables = 0;
  for (const ptx::Variable& v : source.locals)
    if (v.space == ptx::Space::local || is_param(v.space)) {
      places_[v.name] = {ptx::Space::local, Kind::local, place(v.size, v.align)};
      if (v.space == ptx::Space::local) variables += v.size;
    }
  f.local_bytes = uint32_t(align_up(end, 16));
  if (!f.stack_known) f.stack_bytes = uint32_t(align_up(variables, 16)) + (f.entry ? 0 : kReturnBytes);
}

void Symbols::place_shared(const Function& f, const std::vector<ptx::Variable>& variables) {
  using Kind = FrameConstant::Kind;
  for (const ptx::Variable& v : variables) {
    if (!is_shared(v.space)) continue;
    if (!f.entry)
      places_.try_emplace(v.name, Place{ptx::Space::shared, Kind::kernel_shared, 0, &v});
    else if (const auto at = f.shared_offsets.find(&v); at != f.shared_offsets.end())
      places_.try_emplace(v.name, Place{ptx::Space::shared, Kind::shared, at->second});
  }
}

std::optional<FrameConstant> Symbols::address(const std::string& name, uint64_t addend, uint8_t width) const {
  FrameConstant out;
  out.width = width;
  if (const auto it = places_.find(name); it != places_.end()) {
    out.kind = it->second.kind;
    out.bits = it->second.offset + addend;
    out.variable = it->second.variable;
    return out;
  }
  if (const auto it = scope_.variables.find(name); it != scope_.variables.end())
    out.bits = it->second.address + addend;
  else if (const auto f = function(name))
    out.bits = function_address(*f) + addend;
  else
    return {};
  if (width == 4) out.bits &= 0xffffffff;
  return out;
}

ptx::Space Symbols::space_of(const std::string& name) const {
  if (const auto it = places_.find(name); it != places_.end()) return it->second.space;
  if (const auto it = scope_.variables.find(name); it != scope_.variables.end()) return it->second.source->space;
  return ptx::Space::generic;
}

std::optional<uint32_t> Symbols::local_offset(const std::string& name) const {
  const auto it = places_.find(name);
  if (it == places_.end() || it->second.space != ptx::Space::local) return {};
  return uint32_t(it->second.offset);
}

std::optional<uint32_t> Symbols::function(const std::string& name) const {
  const auto it = scope_.functions.find(name);
  return it == scope_.functions.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace tinygpu
