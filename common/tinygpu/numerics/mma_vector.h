// The tile evaluated in fixed point, vector lanes over M, scalars over N and K. Included by one translation unit for
// each x86-64 level, which passes its vector operations as V. Nothing here may be an inline function of namespace scope
// that another level also compiles, so everything is a template of V. mma_panel.h unpacks the operands, mma_stages.h
// adds them up.
//
// Let e be the largest raw exponent of an output's terms and q = 2^(e − 25) its quantum. Each product is multiplied,
// cut and added by one fused multiply-add in f64, rounding toward zero, into an accumulator that starts at 1.5 * 2^52 q
// plus at most 2^32 q, and so always has q as its last place. Why that is exact:
// * 16 products of magnitude below 4 * 2^e move the accumulator by less than 2^31 q: it stays in its binade. It is
//   positive, so that rounding toward zero adds floor(p / q) q for a product p.
// * The model cuts toward zero, which is one q more than floor for a negative p unless q divides p. So every operand is
//   taken one unit in its 53rd bit too large in magnitude (a zero: 2^-255 of the operands' scale, with its sign). This
//   makes |p| larger by less than 2^-50 |p|. p has at most 22 significand bits, so the distance from |p| to the next
//   multiple of q above it is at least 2^-22 |p| and, p being below 2^27 q, more than the error in either case: nothing
//   changes for a positive p, and a negative one always gets one q too little.
// * That one q for each negative product is put into the accumulator beforehand: it is the number of bits in which the
//   signs of A's row and B's column differ. So is C, cut to q by a conversion to int32.
// The low 32 bits of the accumulator then are the sum in units of q, if that is within 31 bits and a sign:
// * 8 products and C are below 8 * 2^27 + 2^26 = 0.53 * 2^31, 16 products alone below 2^31.
// * With C: if the significands of A's row add up to less than 31, those of B being below 2, 16 products are below
//   62 * 2^25 and C below 2 * 2^25. Rows of which that isn't known (`heavy`) are looked at sum by sum: 16 products and
//   C are below 2^31 + 2^26, so a sum that wrapped around is beyond ±(2^31 − 2^26) = ±0x7c000000, or at it.
// Exponents outside the fields used here, infinities and NaNs are left to the wide way (below).
//
// Raw exponents relative to the operand's largest (its base) are kept in signed bytes, at least −64, zeros at −64, so
// that sums of two don't overflow: their maximum is right whenever it is above −64. Where it isn't, and where the
// window would be below the least that q can have as a normal f32, nothing is known but C. An output that has neither a
// product nor C is zero in any window; others that C does not lift above that are left to the wide way.
//
// The wide way multiplies and adds just so, but holds for every operand. Operands are divided by 2^127, whatever they
// are, and a zero is 2^-511, which stays below any quantum; raw exponents are 16 bits wide; the accumulator starts 2^31
// q higher, with C and the negative products' units above or below that as they come, so that subtracting the start
// gives the sum exactly, as an f64, however large. Infinities and NaNs take part as zeros, and every output that has
// one among its terms gets the word that they force. It takes up to three times as long, and is taken by
// groups of outputs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/tinygpu/numerics/mma_levels.h"
#include "common/tinygpu/numerics/mma_panel.h"
#include "common/tinygpu/numerics/mma_run.h"
#include "common/tinygpu/numerics/mma_run16.h"
#include "common/tinygpu/numerics/mma_stages.h"
#include "common/tinygpu/numerics/mma_wide.h"

namespace tinygpu::numerics {

/// Tiles of up to kMostTerms terms: 16, of f16, bf16 and tf32; 32 and 64 (of which half are zeros: sparse) of 8 bits
/// and less.
template <class V, uint32_t kMostTerms>
struct VectorMma {
  using Stages = SumStages<V, kMostTerms>;
  using I = typename V::I;
  using Wide = WideMma<V>;
  using Panels = NarrowPanel<V, kMostTerms>;
  using Panel = typename Panels::Panel;
  using Constants = typename Stages::Constants;
  using Group = typename Stages::Group;
  using Run = std::conditional_t<V::kManyRegisters, SumRun<V, kMostTerms>, SumRun16<V, kMostTerms>>;
  using C = typename Stages::C;
  static constexpr uint32_t kLanes = V::kLanes, kBlock = Panels::kBlock, kColumnStep = Panels::kColumnStep;
  static constexpr uint32_t kVectors = Stages::kVectors;

  /// The first way does not do tiles of this kind.
  static bool all_groups(const MmaTile& t) {
    return t.sum == SumKind::scaled || t.rule.window != 25 || (t.terms != 16 && t.terms != 8) ||
           info(t.a_format).bits <= 8 || info(t.b_format).bits <= 8;
  }

  /// The wide way's panels, unpacked when they are first needed.
  class WidePanels {
   public:
    /// `rest`: takes what would go this way, if there is more than it can do.
    WidePanels(const MmaTile& t, NarrowRest* rest) : t_(t), rest_(rest) {}
    /// Columns n to n + 3 of these vectors of rows, all of one block.
    template <bool kHalf>
    void group(uint32_t block, uint32_t first, uint32_t end, uint32_t n) {
      if (rest_) {
        for (uint32_t v = first; v < end; ++v) rest_->add(block + v * kLanes, kLanes, n);
        return;
      }
      make_ready();
      if (!kHalf && t_.sum == SumKind::scaled)
        vectors<false, true>(block, first, end, n);
      else
        vectors<kHalf, false>(block, first, end, n);
    }

   private:
    void make_ready() {
      if (ready_) return;
      ready_ = true;
      Wide::template unpack<false>(t_, a_);
      Wide::template unpack<true>(t_, b_);
      if (t_.sum != SumKind::scaled) return;
      Wide::template unpack_scales<false>(t_.a_scales, t_.rows, a_);
      Wide::template unpack_scales<true>(t_.b_scales, t_.columns, b_);
    }
    template <bool kHalf, bool kScaled>
    void vectors(uint32_t block, uint32_t first, uint32_t end, uint32_t n) {
      for (uint32_t pair = first / 2 * 2; pair < end; pair += 2)
        Wide::template group<kHalf, kScaled>(t_, a_, b_, block + pair * kLanes, first > pair ? first - pair : 0,
                                             end - pair < 2 ? end - pair : 2, n, ahead_[pair / 2]);
    }
    const MmaTile& t_;
    NarrowRest* const rest_;
    bool ready_ = false;
    typename Wide::Panel a_, b_;
    typename Wide::Most ahead_[kVectors / 2];
  };

  template <uint32_t terms, C kC, bool kHalf>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b, WidePanels& wide) {
    const Constants s(t, a, b);
    Group groups[3];
    // Groups that need the wide way come together: the next few take it at once, twice as many if they are not enough.
    constexpr uint32_t kAgain = 7, kMostAgain = 63;
    // What is rare does without: it would take its share of the compiler's time.
    constexpr bool kOverlapped = kC != C::scaled && terms <= 32;
    uint32_t again = 0, once_more = kAgain;
    constexpr bool kMayWrap = terms == 16 && kC != C::none;
    const bool careful = kMayWrap && a.heavy;
    typename Stages::Signs signs;
    for (uint32_t block = 0; block < t.rows; block += kBlock) {
      for (Group& g : groups) place(t, g, block, 0);
      const uint32_t vectors = groups[0].vectors, end = block + vectors * kLanes;
      bool special_rows = false;
      for (uint32_t r = block; r < end; ++r) special_rows |= a.special[r];
      if constexpr (kOverlapped) signs.fill(a.sign + block * Panels::kNibbles, terms);
      Group* begun = nullptr;
      for (uint32_t n = 0; n < t.columns;) {
        if (special_rows || Panels::special(b, n) || again) [[unlikely]] {
          begun = nullptr;
          again -= again ? 1 : 0;
          wide.template group<kHalf>(block, 0, vectors, n);
          n += kColumnStep;
          continue;
        }
        Group& g = begun ? *begun : groups[0];
        bool plain = false;
        if (!begun) {
          place(t, g, block, n);
          plain = Stages::template begin<terms, kC, kHalf>(s, a, b, g);
        }
        begun = nullptr;
        const uint32_t beyond = plain ? 0 : Stages::template begin_carefully<kC, kHalf>(s, a, b, g);
        if (kOverlapped && !beyond && !careful && vectors == kVectors) [[likely]] {
          if constexpr (kOverlapped) {
            const auto stop = Run::template run<terms, kC, kHalf>(s, a, signs, b, t.columns, groups, &g);
            n = stop.n;
            begun = stop.begun;
          }
          once_more = kAgain;
          continue;
        }
        for (uint32_t v = 0; v < vectors; ++v) {
          if (!(beyond >> v & 1) && (careful ? Stages::template add<terms, kC, kHalf, kMayWrap>(s, a, b, g, v)
                                             : Stages::template add<terms, kC, kHalf>(s, a, b, g, v)))
            continue;
          wide.template group<kHalf>(block, v, v + 1, n);
          again = once_more;
        }
        once_more = !again ? kAgain : once_more < kMostAgain ? 2 * once_more + 1 : kMostAgain;
        n += kColumnStep;
      }
    }
  }

  template <uint32_t terms>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b, WidePanels& wide) {
    if constexpr (terms > 16)
      tile<terms, C::plain>(t, a, b, wide);
    else if (!t.read_c)
      tile<terms, C::none>(t, a, b, wide);
    else if (t.c_scale == 0)
      tile<terms, C::plain>(t, a, b, wide);
    else
      tile<terms, C::scaled>(t, a, b, wide);
  }
  template <uint32_t terms, C kC>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b, WidePanels& wide) {
    if (t.rule.result == SumRule::Result::f16_nearest)
      tile<terms, kC, true>(t, a, b, wide);
    else
      tile<terms, kC, false>(t, a, b, wide);
  }

  /// The wide way for all.
  static void run_wide(const MmaTile& t, WidePanels& wide) {
    const bool half = t.rule.result == SumRule::Result::f16_nearest;
    for (uint32_t block = 0; block < t.rows; block += kBlock) {
      const uint32_t vectors = t.rows - block < kBlock ? (t.rows - block) / kLanes : kVectors;
      for (uint32_t n = 0; n < t.columns; n += kColumnStep)
        half ? wide.template group<true>(block, 0, vectors, n) : wide.template group<false>(block, 0, vectors, n);
    }
  }

  /// Some vectors of rows by kColumnStep columns; those of a block and its columns follow each other.
  template <bool kHalf>
  static void run_parts(const MmaTile& t, const NarrowRest& parts, bool narrow, const Panel& a, const Panel& b,
                        WidePanels& wide) {
    const Constants s(t, a, b);
    Group g;
    for (uint32_t i = 0; i < parts.count;) {
      const uint32_t block = parts.parts[i].row / kBlock * kBlock, n = parts.parts[i].column;
      uint32_t wanted = 0;  // vectors
      for (; i < parts.count && parts.parts[i].column == n && parts.parts[i].row / kBlock * kBlock == block; ++i)
        wanted |= 1u << (parts.parts[i].row - block) / kLanes;
      uint32_t beyond = ~0u;
      bool special = !narrow;
      for (uint32_t j = 0; j < kColumnStep; ++j) special |= b.special[n + j];
      for (uint32_t r = block; r < block + kBlock && r < t.rows; ++r) special |= a.special[r];
      if (!special) {
        place(t, g, block, n);
        const bool plain = Stages::template begin<kMostTerms, C::plain, kHalf>(s, a, b, g);
        beyond = plain ? 0 : Stages::template begin_carefully<C::plain, kHalf>(s, a, b, g);
      }
      for (uint32_t v = 0; v < kVectors; ++v) {
        if (!(wanted >> v & 1)) continue;
        if (beyond >> v & 1)
          wide.template group<kHalf>(block, v, v + 1, n);
        else
          Stages::template add<kMostTerms, C::plain, kHalf>(s, a, b, g, v);
      }
    }
  }
  /// Where the words of a group are.
  static void place(const MmaTile& t, Group& g, uint32_t block, uint32_t n) {
    g.block = block;
    g.n = n;
    g.vectors = t.rows - block < kBlock ? (t.rows - block) / kLanes : kVectors;
    g.stride = t.column_stride;
    g.first = reinterpret_cast<int32_t*>(t.d) + n * g.stride;
    for (uint32_t v = 0; v < kVectors; ++v) {
      const uint32_t row = block + (v < g.vectors ? v : 0) * kLanes;
      g.lane[v] = t.lane[row / 16] + row % 16;
    }
  }

  /// f16, bf16 and tf32; by the wide way whatever that knows. False: none of these.
  static bool run(const MmaTile& t) {
    static_assert(kMostTerms == 16);
    if (!Wide::knows(t)) return false;
    Panel a, b;
    const bool narrow = !all_groups(t) && unpack(t, a, b);
    WidePanels wide(t, nullptr);
    in_mode([&] {
      if (!narrow)
        run_wide(t, wide);
      else if (t.terms == 16)
        tile<16>(t, a, b, wide);
      else
        tile<8>(t, a, b, wide);
    });
    return true;
  }

  /// 8 bits and less, as many terms as there can be: all, or these parts. What only the wide way could do is left to
  /// others if there is a `rest`.
  static void run_bytes(const MmaTile& t, const NarrowRest* parts, NarrowRest* rest) {
    WidePanels wide(t, rest);
    Panel a, b;
    const bool narrow = unpack(t, a, b);
    in_mode([&] {
      if (parts && t.rule.result == SumRule::Result::f16_nearest)
        run_parts<true>(t, *parts, narrow, a, b, wide);
      else if (parts)
        run_parts<false>(t, *parts, narrow, a, b, wide);
      else if (narrow)
        tile<kMostTerms>(t, a, b, wide);
      else
        run_wide(t, wide);
    });
  }

 private:
  static bool unpack(const MmaTile& t, Panel& a, Panel& b) {
    const uint8_t *sa = t.scales ? t.a_scales : nullptr, *sb = t.scales ? t.b_scales : nullptr;
    return Panels::template unpack<false>(t.a_format, t.a, sa, t.rows, t.terms, t.negate_a, 0, a) &&
           Panels::template unpack<true>(t.b_format, t.b, sb, t.columns, t.terms, t.negate_b, a.base, b);
  }
  template <class Body>
  static void in_mode(const Body& body) {
    const unsigned saved = V::round_toward_zero();
    body();
    V::restore(saved);
  }
};

}  // namespace tinygpu::numerics
