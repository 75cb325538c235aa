#include "common/tinygpu/program/lower/symbols.h"

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/program/lower/local_layout.h"

namespace tinygpu {
namespace {

constexpr uint32_t kReturnBytes = 16;  // of stack that a call takes at least: the return address, aligned

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
  LocalLayout layout = lay_out_local(f);
  for (const auto& [name, offset] : layout.offsets) places_[name] = {ptx::Space::local, Kind::local, offset};
  if (f.entry) {
    // The parameter bank was laid out when the program was linked. A local variable hides a parameter.
    for (size_t i = 0; i < source.params.size(); ++i)
      places_.try_emplace(source.params[i].name, Place{ptx::Space::param, Kind::plain, f.params[i].offset});
  } else {
    f.params = std::move(layout.params);
    f.returns = std::move(layout.returns);
  }
  f.local_bytes = uint32_t(align_up(layout.bytes, 16));
  if (!f.stack_known) f.stack_bytes = uint32_t(align_up(layout.variables, 16)) + (f.entry ? 0 : kReturnBytes);
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
