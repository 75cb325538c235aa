// The vector code behind mma(), one entry for each kind of processor: included by mma_kernel.cpp alone.
#pragma once
#include "common/tinygpu/numerics/kernels.h"

namespace tinygpu::numerics {

struct Level {
  const char* name;
  bool (*supported)();
  bool (*run)(const MmaTile&);  // false, and nothing done: it can't do the tile
};

inline bool always() { return true; }
inline bool has_v3() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");  // and F16C, which came before AVX2
}
inline bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
constexpr Level kLevels[] = {
    {"x86-64-v4", has_v4, v4::mma_vector}, {"x86-64-v3", has_v3, v3::mma_vector}, {"scalar", always, nullptr}};

}  // namespace tinygpu::numerics
