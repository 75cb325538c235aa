#include "common/tinygpu/isa/instruction_set.h"

#include <cstdlib>
#include <cstring>

extern "C" {
#define TINYGPU_LEVEL(l) const tinygpu::InstructionSet* tinygpu_isa_##l();
TINYGPU_ISA_LEVELS
#undef TINYGPU_LEVEL
}

namespace tinygpu::isa {
namespace {

struct Level {
  const char* name;
  bool supported;
  const InstructionSet* (*get)();
};

bool cpu_has(const char* level) {
  __builtin_cpu_init();
  if (!std::strcmp(level, "v4"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  if (!std::strcmp(level, "v3"))
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  return true;
}

const Level& chosen() {
  static const Level level = [] {
    Level best{};
    const char* forced = std::getenv("TINYGPU_ISA");
    // Listed from the lowest to the highest level.
#define TINYGPU_LEVEL(l)                                                \
  if (Level x{"x86-64-" #l, cpu_has(#l), tinygpu_isa_##l}; x.supported) \
    if (!forced || !std::strcmp(forced, #l) || !best.get) best = x;
    TINYGPU_ISA_LEVELS
#undef TINYGPU_LEVEL
    return best;
  }();
  return level;
}

}  // namespace

const InstructionSet& instruction_set() { return *chosen().get(); }
const char* instruction_set_level() { return chosen().name; }

}  // namespace tinygpu::isa
