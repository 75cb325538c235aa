#include "common/tinygpu/ptx/opcode.h"

#include <array>
#include <unordered_map>

namespace tinygpu::ptx {
namespace {

constexpr auto kTraits = [] {
  using enum Subject;
  using enum Control;
  using enum OpcodeProxy;
  using enum Sass;
  using S = Semantics;
  constexpr MemoryOrder weak = {}, relaxed_cta = {S::relaxed, Scope::cta},
                        relaxed_cluster = {S::relaxed, Scope::cluster}, relaxed_gpu = {S::relaxed, Scope::gpu},
                        release_cta = {S::release, Scope::cta}, acquire_cta = {S::acquire, Scope::cta},
                        acq_rel_sys = {S::acq_rel, Scope::sys};
  return std::to_array<OpcodeTraits>({
      {"", arithmetic, next, generic, weak, any},
#define OPCODE(enumerator, ...) {__VA_ARGS__},
#include "common/tinygpu/ptx/opcodes.def"
#undef OPCODE
  });
}();
static_assert(kTraits.size() == kOpcodes && kOpcodes <= 256);

}  // namespace

const OpcodeTraits& traits_of(Opcode opcode) { return kTraits[size_t(opcode)]; }

Opcode opcode_from_name(std::string_view name) {
  static const auto map = [] {
    std::unordered_map<std::string_view, Opcode> m;
    for (size_t i = 1; i < kOpcodes; ++i) m.emplace(kTraits[i].name, Opcode(i));
    return m;
  }();
  const auto it = map.find(name);
  return it == map.end() ? Opcode::unknown : it->second;
}

}  // namespace tinygpu::ptx
