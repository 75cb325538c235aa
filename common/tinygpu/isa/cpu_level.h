// The x86-64 levels of processors (x86-64 psABI, "Micro-architecture levels"), as far as isa/ is compiled for them.
#pragma once
#include <cstring>

namespace tinygpu::isa {

/// Whether this processor has what `level` ("v2", "v3", "v4") may use.
inline bool cpu_has(const char* level) {
  __builtin_cpu_init();
  if (!std::strcmp(level, "v4"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  if (!std::strcmp(level, "v3"))  // and F16C, which came before AVX2
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

}  // namespace tinygpu::isa
