#include "common/tinygpu/numerics/mma_kernel.h"

#include <cstring>
#include <memory>
#include <vector>

#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {
namespace {

/// Null: there is none, or this CPU does not run it.
const Level* named(const char* name) {
  for (const Level& l : kLevels)
    if (!std::strcmp(l.name, name) && l.supported()) return &l;
  return nullptr;
}

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

/// One element of D, and what of its operands stays the same for a row or a column.
class Elements {
 public:
  explicit Elements(const MmaTile& t) : t_(t) {}
  void column(uint32_t n) {
    for (uint32_t k = 0, end = t_.select ? 2 * t_.terms : t_.terms; k < end; ++k)
      column_[k] = pattern(t_.b_format, t_.b, k, n, t_.negate_b);
    for (uint32_t j = 0; j < t_.scales; ++j) b_scales_[j] = t_.b_scales[j * kPlane + n];
  }
  uint32_t element(uint32_t row, uint32_t c) {
    for (uint32_t i = 0; i < t_.terms; ++i) {
      a_[i] = pattern(t_.a_format, t_.a, i, row, t_.negate_a);
      b_[i] = column_[t_.select ? t_.select[i * kPlane + row] : i];
    }
    for (uint32_t j = 0; j < t_.scales; ++j) a_scales_[j] = t_.a_scales[j * kPlane + row];
    const std::span<const uint32_t> a{a_, t_.terms}, b{b_, t_.terms};
    const Addend addend{t_.read_c, c, t_.c_scale};
    switch (t_.sum) {
      case SumKind::scaled: return fused_sum_scaled(t_.a_format, t_.b_format, a, b, a_scales_[0], b_scales_[0], addend);
      case SumKind::fp4:
        return fused_sum_fp4(t_.scale_format, a, b, {a_scales_, t_.scales}, {b_scales_, t_.scales}, addend);
      case SumKind::integer: return integer_sum(t_.a_format, t_.b_format, a, b, addend, t_.saturate);
      case SumKind::fused: break;
    }
    return fused_sum(t_.rule, t_.a_format, t_.b_format, a, b, addend);
  }

 private:
  static uint32_t pattern(Format f, const void* planes, uint32_t k, uint32_t r, bool flip) {
    const uint32_t bits = plane_element(f, planes, k, r);
    return flip ? negate(f, bits) : bits;
  }
  const MmaTile& t_;
  uint32_t a_[kMaxTerms], b_[kMaxTerms], column_[2 * kMaxTerms];
  uint32_t a_scales_[kMaxScales], b_scales_[kMaxScales];
};

/// A sparse tile as a dense one, A's missing elements being zeros. False, and nothing done: two elements of A meet the
/// same element of B, which metadata can say. Zeros may: they add nothing. Metadata of rows that TMA fills say that.
template <class Word>
bool run_spread(const Level& l, const MmaTile& t) {
  struct Planes {
    alignas(64) Word words[2 * kMaxTerms * kPlane];
  };
  const auto planes = std::make_unique_for_overwrite<Planes>();
  std::memset(planes->words, 0, 2 * t.terms * kPlane * sizeof(Word));
  const uint32_t sign = info(t.a_format).exponent_bits ? negate(t.a_format, 0) : 0;
  for (uint32_t i = 0; i < t.terms; ++i)
    for (uint32_t r = 0; r < t.rows; ++r) {
      const Word element = static_cast<const Word*>(t.a)[i * kPlane + r];
      if (!(element & ~sign)) continue;
      Word& place = planes->words[t.select[i * kPlane + r] * kPlane + r];
      if (place) return false;
      place = element;
    }
  MmaTile dense = t;
  dense.select = nullptr;
  dense.spread = true;
  dense.a = planes->words;
  dense.terms = 2 * t.terms;
  return l.run(dense);
}

/// False, and nothing done: no vector code of this level can do the tile.
bool run(const Level& l, const MmaTile& t) {
  if (!l.run) return false;
  if (!t.select) return l.run(t);
  switch (info(t.a_format).bits) {
    case 32: return run_spread<uint32_t>(l, t);
    case 16: return run_spread<uint16_t>(l, t);
    default: return run_spread<uint8_t>(l, t);
  }
}

}  // namespace

void mma_reference(const MmaTile& t) {
  Elements elements(t);
  for (uint32_t n = 0; n < t.columns; ++n) {
    elements.column(n);
    for (uint32_t m = 0; m < t.rows; ++m) {
      uint32_t& d = *t.word(m, n);
      const bool half = t.sum == SumKind::fused && t.rule.result == SumRule::Result::f16_nearest;
      d = elements.element(m, half ? d & 0xffff : d);
    }
  }
}

uint64_t mma(const MmaTile& tile) {
  if (run(best(), tile)) return 0;
  mma_reference(tile);
  return uint64_t(tile.rows) * tile.columns;
}

const char* mma_level() { return best().name; }

std::vector<const char*> mma_levels() {
  std::vector<const char*> names;
  for (const Level& l : kLevels) names.push_back(l.name);
  return names;
}

bool mma_has_level(const char* level) { return named(level); }

bool mma_at_level(const char* level, const MmaTile& tile) {
  const Level* const l = named(level);
  if (l && !run(*l, tile)) mma_reference(tile);
  return l;
}

}  // namespace tinygpu::numerics
