// isa/ is compiled for one x86-64 level, and the linker may take its copies of inline functions for the whole library.
// So the processor is checked before any other code of the library runs. This file is compiled for every processor and
// uses the C library alone.
#include <unistd.h>

namespace tinygpu::isa {
namespace {

/// Of the levels in the x86-64 psABI ("Micro-architecture levels"), the features that GCC and Clang can ask for.
bool cpu_has_level() {
  __builtin_cpu_init();
#if GEN5_ISA_LEVEL_NUMBER > 4
  return false;  // no such processor: for tests
#endif
#if GEN5_ISA_LEVEL_NUMBER >= 4
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return false;
#endif
#if GEN5_ISA_LEVEL_NUMBER >= 3
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
    return false;
#endif
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
constexpr char kWrongProcessor[] =
    "gen5: this build needs a processor of level x86-64-v" TEXT(GEN5_ISA_LEVEL_NUMBER) ", which this one is not. "
    "Build it on this machine, or with -DGEN5_ISA_LEVEL=v2.\n";

}  // namespace

[[gnu::constructor(101)]] void require_cpu_level() {  // 101: before all static objects
  if (cpu_has_level()) return;
  if (write(STDERR_FILENO, kWrongProcessor, sizeof kWrongProcessor - 1) < 0) _exit(2);
  _exit(1);
}

}  // namespace tinygpu::isa
