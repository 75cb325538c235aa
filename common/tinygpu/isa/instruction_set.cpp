#include "common/tinygpu/isa/instruction_set.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "common/tinygpu/isa/cpu_level.h"
#include "common/tinygpu/isa/level_choice.h"

extern "C" {
#define TINYGPU_LEVEL(l) const tinygpu::InstructionSet* tinygpu_isa_##l();
TINYGPU_ISA_LEVELS
#undef TINYGPU_LEVEL
}

namespace tinygpu::isa {

const Level& choose_level(std::span<const Level> levels, std::string_view forced) {
  const Level* best = nullptr;
  for (const Level& l : levels)
    if (l.supported && (!best || best->name != forced)) best = &l;
  if (best) return *best;
  std::string built;
  for (const Level& l : levels) built += (built.empty() ? "x86-64-" : ", x86-64-") + l.name;
  throw std::runtime_error(fmt::format(
      "this tinygpu was built for {}, which this processor is not; build it here, or with -DGEN5_ISA_LEVELS='v2;v3;v4'",
      built));
}

namespace {

const Level& chosen() {
  static const std::vector<Level> levels = {
#define TINYGPU_LEVEL(l) {#l, cpu_has(#l), tinygpu_isa_##l},
      TINYGPU_ISA_LEVELS
#undef TINYGPU_LEVEL
  };
  static const char* const forced = std::getenv("TINYGPU_ISA");
  static const Level level = choose_level(levels, forced ? forced : "");
  return level;
}

}  // namespace

const InstructionSet& instruction_set() { return *chosen().get(); }

}  // namespace tinygpu::isa
