#include "common/tinygpu/numerics/mma_kernel.h"

#include <cstring>

#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {
namespace {

struct Level {
  const char* name;
  bool (*supported)();
  /// False: this tile is none of its kinds.
  bool (*run)(const MmaTile&);
};

bool always() { return true; }
bool has_v3() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");  // and F16C, which came before AVX2
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool run_scalar(const MmaTile& t) {
  mma_reference(t);
  return true;
}

constexpr Level kLevels[] = {
    {"x86-64-v4", has_v4, mma_v4}, {"x86-64-v3", has_v3, mma_v3}, {"scalar", always, run_scalar}};

const Level& best() {
  static const Level* const level = [] {
    for (const Level& l : kLevels)
      if (l.supported()) return &l;
    __builtin_unreachable();
  }();
  return *level;
}

}  // namespace

uint32_t plane_element(Format f, const void* planes, uint32_t k, uint32_t r) {
  const size_t i = size_t(k) * kPlane + r;
  switch (info(f).bits) {
    case 32: return static_cast<const uint32_t*>(planes)[i];
    case 16: return static_cast<const uint16_t*>(planes)[i];
    default: return static_cast<const uint8_t*>(planes)[i];
  }
}

namespace {

uint32_t mma_element(const MmaTile& t, uint32_t row, uint32_t column, uint32_t c) {
  uint32_t a[kMaxTerms], b[kMaxTerms];
  for (uint32_t k = 0; k < t.terms; ++k) {
    a[k] = plane_element(t.a_format, t.a, k, row);
    b[k] = plane_element(t.b_format, t.b, k, column);
    if (t.negate_a) a[k] = negate(t.a_format, a[k]);
    if (t.negate_b) b[k] = negate(t.b_format, b[k]);
  }
  return fused_sum(t.rule, t.a_format, t.b_format, {a, t.terms}, {b, t.terms}, {t.read_c, c, t.c_scale});
}

}  // namespace

void mma_reference(const MmaTile& t) {
  for (uint32_t n = 0; n < t.columns; ++n)
    for (uint32_t m = 0; m < t.rows; ++m) {
      uint32_t& d = t.d[size_t(n) * t.column_stride + t.lane[m / 16] + m % 16];
      d = mma_element(t, m, n, t.rule.result == SumRule::Result::f16_nearest ? d & 0xffff : d);
    }
}

uint64_t mma(const MmaTile& tile) {
  if (best().run != run_scalar && best().run(tile)) return 0;
  mma_reference(tile);
  return uint64_t(tile.rows) * tile.columns;
}

const char* mma_level() { return best().name; }

std::vector<const char*> mma_levels() {
  std::vector<const char*> names;
  for (const Level& l : kLevels) names.push_back(l.name);
  return names;
}

bool mma_has_level(const char* level) {
  for (const Level& l : kLevels)
    if (!std::strcmp(l.name, level)) return l.supported();
  return false;
}

bool mma_at_level(const char* level, const MmaTile& tile) {
  for (const Level& l : kLevels)
    if (!std::strcmp(l.name, level)) return l.supported() && l.run(tile);
  return false;
}

}  // namespace tinygpu::numerics
