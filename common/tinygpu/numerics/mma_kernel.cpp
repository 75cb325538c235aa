#include "common/tinygpu/numerics/mma_kernel.h"

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {
namespace {

struct Level {
  const char* name;
  bool (*supported)();
  /// Elements of 16 and 32 bits; narrow ones with whatever operands. False: this tile is none of its kinds.
  bool (*run)(const MmaTile&);
  /// Narrow numbers in one window; the parts of the second, if there is one. False: as above.
  bool (*bytes)(const MmaTile&, const NarrowRest*, NarrowRest&);
  /// Narrow elements with ordinary operands. False: as above.
  bool (*narrow)(const MmaTile&, NarrowRest&);
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
constexpr Level kLevels[] = {{"x86-64-v4", has_v4, mma_v4, mma_bytes_v4, mma_narrow_v4},
                             {"x86-64-v3", has_v3, mma_v3, mma_bytes_v3, mma_narrow_v3},
                             {"scalar", always, nullptr, nullptr, nullptr}};

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

uint64_t sums(const MmaTile& t) {
  mma_reference(t);
  return uint64_t(t.rows) * t.columns;
}

/// A tile of narrow elements cut down to some rows, of one group of 16 or of whole groups, and columns.
MmaTile part_of(const MmaTile& t, uint32_t row, uint32_t rows, uint32_t column, uint32_t columns) {
  MmaTile p = t;
  p.rows = rows;
  p.columns = columns;
  p.a = static_cast<const uint8_t*>(t.a) + row;  // elements of a byte
  p.b = static_cast<const uint8_t*>(t.b) + column;
  if (t.select) p.select = t.select + row;
  if (t.scales) {
    p.a_scales = t.a_scales + row;
    p.b_scales = t.b_scales + column;
  }
  p.d = t.d + size_t(column) * t.column_stride;
  for (uint32_t i = 0; i < (rows + 15) / 16; ++i) p.lane[i] = t.lane[row / 16 + i] + (i ? 0 : row % 16);
  return p;
}

/// Whether some element of B is an infinity or a NaN, which has an effect only where A has an element.
bool special_b(const MmaTile& t) {
  for (uint32_t k = 0; k < 2 * t.terms; ++k)
    for (uint32_t n = 0; n < t.columns; ++n)
      if (const auto kind = unpack(t.b_format, plane_element(t.b_format, t.b, k, n)).kind;
          kind == Unpacked::Class::infinite || kind == Unpacked::Class::nan)
        return true;
  return false;
}

/// Two elements of A that meet the same element of B, which metadata can say: no dense tile is the same. The second of
/// a group lies behind the first; in groups of pairs (fp4) two further.
bool places_repeat(const MmaTile& t) {
  if (!t.select) return false;
  for (const uint32_t apart : {1, 2})
    for (uint32_t i = 0; i + apart < t.terms; ++i)
      for (uint32_t r = 0; r < t.rows; ++r)
        if (t.select[i * kPlane + r] == t.select[(i + apart) * kPlane + r]) return true;
  return false;
}

/// A sparse tile of 16- and 32-bit elements as a dense one, A's missing elements being zeros.
template <class Word>
bool run_spread(const Level& l, const MmaTile& t) {
  struct Planes {
    alignas(64) Word words[32 * kPlane];
  };
  if (t.sum != SumKind::fused || t.terms > 16 || special_b(t)) return false;
  const auto planes = std::make_unique<Planes>();
  for (uint32_t i = 0; i < t.terms; ++i)
    for (uint32_t r = 0; r < t.rows; ++r)
      planes->words[t.select[i * kPlane + r] * kPlane + r] = static_cast<const Word*>(t.a)[i * kPlane + r];
  MmaTile dense = t;
  dense.select = nullptr;
  dense.a = planes->words;
  dense.terms = 2 * t.terms;
  return l.run(dense);
}

/// What is left over, by the scalar model. Returns how many sums that did.
uint64_t finish(const MmaTile& t, const NarrowRest& rest) {
  uint64_t scalar = 0;
  for (uint32_t i = 0; i < rest.count; ++i)
    scalar += sums(part_of(t, rest.parts[i].row, rest.parts[i].rows, rest.parts[i].column, NarrowRest::kColumns));
  return scalar;
}

/// How many sums the scalar model did; nothing, and nothing done, if the level has no code for the tile.
std::optional<uint64_t> run(const Level& l, const MmaTile& t) {
  if (!l.run || places_repeat(t)) return sums(t);
  if (info(t.a_format).bits <= 8) {
    const auto rests = std::make_unique_for_overwrite<NarrowRest[]>(2);
    NarrowRest &left = rests[0], &last = rests[1];
    left.count = last.count = 0;
    if (l.narrow(t, left)) {
      if (left.count == 0) return 0;
      return l.bytes(t, &left, last) ? finish(t, last) : finish(t, left);
    }
    if (l.bytes(t, nullptr, last)) return finish(t, last);
  }
  if (t.select ? (info(t.a_format).bits == 32 ? run_spread<uint32_t>(l, t) : run_spread<uint16_t>(l, t)) : l.run(t))
    return 0;
  return std::nullopt;
}

}  // namespace

void mma_reference(const MmaTile& t) {
  Elements elements(t);
  for (uint32_t n = 0; n < t.columns; ++n) {
    elements.column(n);
    for (uint32_t m = 0; m < t.rows; ++m) {
      uint32_t& d = t.d[size_t(n) * t.column_stride + t.lane[m / 16] + m % 16];
      const bool half = t.sum == SumKind::fused && t.rule.result == SumRule::Result::f16_nearest;
      d = elements.element(m, half ? d & 0xffff : d);
    }
  }
}

uint64_t mma(const MmaTile& tile) {
  const auto scalar = run(best(), tile);
  return scalar ? *scalar : sums(tile);
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
    if (!std::strcmp(l.name, level)) return l.supported() && run(l, tile).has_value();
  return false;
}

}  // namespace tinygpu::numerics
