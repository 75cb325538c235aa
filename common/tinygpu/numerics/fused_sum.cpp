#include "common/tinygpu/numerics/fused_sum.h"

#include <algorithm>
#include <array>
#include <optional>

namespace tinygpu::numerics {
namespace {

using Class = Unpacked::Class;

/// ±magnitude x 2^lsb, with the raw exponent that decides the window.
struct Term {
  bool negative = false;
  uint64_t magnitude = 0;
  int lsb = 0;
  int raw = 0;

  /// In units of 2^quantum, low bits dropped.
  int64_t cut(int quantum) const {
    const int shift = lsb - quantum;
    const uint64_t m = shift >= 0 ? magnitude << shift : -shift < 64 ? magnitude >> -shift : 0;
    return negative ? -int64_t(m) : int64_t(m);
  }
};

/// What the terms add up to besides finite values.
struct Specials {
  bool nan = false, positive_infinity = false, negative_infinity = false;
  void infinity(bool negative) { (negative ? negative_infinity : positive_infinity) = true; }
  /// The result word they force, if any; `half`: an f16 word.
  std::optional<uint32_t> result(bool half) const {
    if (nan || (positive_infinity && negative_infinity)) return half ? kNanF16 : kNanF32;
    if (positive_infinity) return half ? 0x7c00 : 0x7f800000;
    if (negative_infinity) return half ? 0xfc00 : 0xff800000;
    return std::nullopt;
  }
};

/// The product of two elements; nothing if it is zero or special.
std::optional<Term> product(Format fa, uint32_t a, Format fb, uint32_t b, Specials& specials) {
  const Unpacked x = unpack(fa, a), y = unpack(fb, b);
  const bool negative = x.negative != y.negative;
  if (x.kind == Class::nan || y.kind == Class::nan) {
    specials.nan = true;
  } else if (x.kind == Class::infinite || y.kind == Class::infinite) {
    if (x.kind == Class::zero || y.kind == Class::zero)
      specials.nan = true;
    else
      specials.infinity(negative);
  } else if (x.significand && y.significand) {
    const int raw = x.exponent + y.exponent;
    return Term{negative, uint64_t(x.significand) * y.significand,
                raw - info(fa).fraction_bits - info(fb).fraction_bits, raw};
  }
  return std::nullopt;
}

std::optional<Term> addend(const Addend& c, Format f, Specials& specials) {
  if (!c.present) return std::nullopt;
  const Unpacked x = unpack(f, c.bits);
  if (x.kind == Class::nan) specials.nan = true;
  if (x.kind == Class::infinite) specials.infinity(x.negative);
  if (x.kind != Class::finite) return std::nullopt;
  const int raw = x.exponent - c.scale;
  return Term{x.negative, x.significand, raw - info(f).fraction_bits, raw};
}

uint32_t to_result(SumRule::Result r, int64_t sum, int quantum) {
  const bool negative = sum < 0;
  const uint64_t magnitude = negative ? -uint64_t(sum) : uint64_t(sum);
  if (r == SumRule::Result::f16_nearest) return round_f16_nearest(negative, magnitude, quantum);
  const uint32_t f = round_f32_toward_zero(negative, magnitude, quantum);
  if (r == SumRule::Result::f32_toward_zero) return f;
  return f & 0x7ffffc00 ? f & ~0x3ffu : 0;
}

constexpr size_t kMaxTerms = 96;

/// Terms, products times both scales if there are any, cut to one window, added and rounded.
uint32_t one_window(const SumRule& rule, Format a_format, Format b_format, std::span<const uint32_t> a,
                    std::span<const uint32_t> b, const Unpacked* scale_a, const Unpacked* scale_b, const Addend& c) {
  const bool half = rule.result == SumRule::Result::f16_nearest;
  Specials specials;
  specials.nan = scale_a && (scale_a->kind == Class::nan || scale_b->kind == Class::nan);
  const int scale = scale_a ? scale_a->exponent + scale_b->exponent : 0;
  std::array<Term, kMaxTerms + 1> terms;
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (const auto t = product(a_format, a[i], b_format, b[i], specials))
      terms[count++] = {t->negative, t->magnitude, t->lsb + scale, t->raw + scale};
  const bool no_product = count == 0;
  if (const auto t = addend(c, half ? Format::f16 : Format::f32, specials)) terms[count++] = *t;
  if (const auto word = specials.result(half)) return *word;
  if (scale_a && no_product) return c.present ? c.bits : 0;
  if (count == 0) return 0;
  int largest = rule.floor;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, terms[i].raw);
  const int quantum = largest - rule.window;
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += terms[i].cut(quantum);
  return to_result(rule.result, sum, quantum);
}

}  // namespace

uint32_t fused_sum(const SumRule& rule, Format a_format, Format b_format, std::span<const uint32_t> a,
                   std::span<const uint32_t> b, const Addend& c) {
  return one_window(rule, a_format, b_format, a, b, nullptr, nullptr, c);
}

uint32_t fused_sum_scaled(Format a_format, Format b_format, std::span<const uint32_t> a, std::span<const uint32_t> b,
                          uint32_t scale_a, uint32_t scale_b, const Addend& c) {
  const Unpacked sa = unpack(Format::ue8m0, scale_a), sb = unpack(Format::ue8m0, scale_b);
  return one_window(kSumF32, a_format, b_format, a, b, &sa, &sb, c);
}

uint32_t fused_sum_fp4(Format scale_format, std::span<const uint32_t> a, std::span<const uint32_t> b,
                       std::span<const uint32_t> scale_a, std::span<const uint32_t> scale_b, const Addend& c) {
  const size_t block = a.size() / scale_a.size();
  Specials specials;
  for (size_t s = 0; s < scale_a.size(); ++s)
    if (unpack(scale_format, scale_a[s]).kind == Class::nan || unpack(scale_format, scale_b[s]).kind == Class::nan)
      specials.nan = true;

  // Scaled products, exact; a zero takes no part.
  const int none = SumRule::kNoFloor;
  std::array<std::optional<Term>, 2 * kMaxTerms> products;
  std::array<int, 2 * kMaxTerms> scale_sum{};
  int largest = none, largest_scale = none;
  for (size_t i = 0; i < a.size(); ++i) {
    const Unpacked sa = unpack(scale_format, scale_a[i / block]), sb = unpack(scale_format, scale_b[i / block]);
    scale_sum[i] = sa.exponent + sb.exponent;
    auto t = product(Format::e2m1, a[i], Format::e2m1, b[i], specials);
    if (!t || sa.significand == 0 || sb.significand == 0) continue;
    t->magnitude *= uint64_t(sa.significand) * sb.significand;
    t->raw += scale_sum[i];
    t->lsb += scale_sum[i] - 2 * info(scale_format).fraction_bits;
    products[i] = t;
    largest = std::max(largest, t->raw);
    largest_scale = std::max(largest_scale, scale_sum[i]);
  }
  const auto d = addend(c, Format::f32, specials);
  if (const auto word = specials.result(false)) return *word;
  if (largest == none) return c.present ? c.bits : 0;

  const int c_raw = d ? d->raw : none;
  const bool c_leads = d && c_raw >= largest;
  const bool fine = scale_format == Format::ue4m3;
  const int quantum = c_leads ? c_raw - 35 : std::max(std::max(largest, c_raw) - 39, largest_scale - 35);
  const size_t group = fine && !c_leads ? 4 : 16;

  struct Group {
    int64_t cut = 0;  // units of 2^quantum
    int scale = 0;
  };
  std::array<Group, 2 * kMaxTerms / 4> groups;
  size_t count = 0;
  for (size_t g = 0; g < a.size(); g += group) {
    int lsb = 1 << 20, raw = none, scale = none;
    for (size_t i = g; i < g + group; ++i)
      if (products[i]) {
        lsb = std::min(lsb, products[i]->lsb);
        raw = std::max(raw, products[i]->raw);
        scale = std::max(scale, scale_sum[i]);
      }
    if (raw == none) continue;
    int64_t sum = 0;
    for (size_t i = g; i < g + group; ++i)
      if (products[i]) sum += products[i]->cut(lsb);
    const int q = !fine && !c_leads && c_raw >= raw ? std::max(quantum, c_raw - 35) : quantum;
    const Term exact{sum < 0, uint64_t(sum < 0 ? -sum : sum), lsb, raw};
    groups[count++] = {exact.cut(q) * (int64_t(1) << (q - quantum)), scale};
  }
  const auto total = [&](bool drop_tiny) {
    int64_t sum = d ? d->cut(quantum) : 0;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t magnitude = uint64_t(groups[i].cut < 0 ? -groups[i].cut : groups[i].cut);
      const bool tiny = quantum < -174 && (-174 - quantum >= 63 || magnitude < uint64_t(1) << (-174 - quantum));
      if (!(drop_tiny && tiny && groups[i].scale < largest_scale)) sum += groups[i].cut;
    }
    return to_result(SumRule::Result::f32_toward_zero, sum, quantum);
  };
  const uint32_t word = total(false);
  const bool subnormal = (word & 0x7f800000) == 0 && (word & 0x7fffff) != 0;
  return subnormal && !fine ? total(true) : word;
}

uint32_t integer_sum(Format a_format, Format b_format, std::span<const uint32_t> a, std::span<const uint32_t> b,
                     const Addend& c, bool saturate) {
  int64_t sum = c.present ? int32_t(c.bits) : 0;
  for (size_t i = 0; i < a.size(); ++i) sum += int64_t(unpack_integer(a_format, a[i])) * unpack_integer(b_format, b[i]);
  if (saturate) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
  return uint32_t(sum);
}

uint32_t negate(Format f, uint32_t bits) {
  if (f == Format::tf32 || f == Format::f32) return bits ^ 0x80000000u;
  return bits ^ 1u << (info(f).bits - 1);
}

}  // namespace tinygpu::numerics
