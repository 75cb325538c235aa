// Pair after pair of vectors of rows the wide way (mma_wide.h), overlapped: while the products of one vector are added,
// the sums before it are rounded, those behind it started, and the exponents of the next pair looked at, a part of each
// at every term. For f16, bf16 and tf32 of which infinities and NaNs are taken out (mma_specials.h): operands
// beforehand, old accumulators as they are read.
#pragma once
#include <cstdint>

#include "common/tinygpu/numerics/mma_stages.h"
#include "common/tinygpu/numerics/mma_wide.h"

namespace tinygpu::numerics {

template <class V, uint32_t kTerms, bool kReadC, bool kHalf>
struct WideRun {
  using Wide = WideMma<V>;
  using Stages = SumStages<V, 16>;
  using I = typename V::I;
  using D = typename V::D;
  using Panel = typename Wide::Panel;
  using Sums = typename Stages::Sums;
  static constexpr uint32_t kLanes = V::kLanes, kPair = Wide::kPair, kColumnStep = Wide::kColumnStep;

  /// Numbers of one tile.
  struct Constants {
    static constexpr int kFraction = kHalf ? 10 : 23, kBias = kHalf ? 15 : 127;
    I floor16, table, high_start, start, low_start, one, nothing, c_scale, magnitude, largest;
    D back;
    typename Wide::Limits limits;
    uint32_t stride;
    explicit Constants(const MmaTile& t) {
      const int floor = kHalf ? Wide::kFloor : t.rule.floor;
      floor16 = V::opaque(V::set16(int16_t(floor)));
      table = V::opaque(V::load_table(Wide::kBitsOfNibble));
      high_start = V::opaque(V::set((1023 + 52 - 25 - 2 * Wide::kBase) << 20 | 0x80000));
      start = V::opaque(V::set(int32_t(0x80000000u + (uint32_t(2 * Wide::kBase) << 20))));
      low_start = V::opaque(Wide::low_start());
      one = V::opaque(V::set(1));
      nothing = V::opaque(V::set(Wide::kNothing));
      c_scale = V::opaque(V::set(kBias - 1 + t.c_scale));
      magnitude = V::opaque(V::set(kHalf ? 0x7fff : INT32_MAX));
      largest = V::opaque(V::set(kHalf ? 0x7bff : 0x7f7fffff));
      back = V::opaque(V::set_double(__builtin_bit_cast(double, uint64_t(1023 + 2 * Wide::kBase) << 52)));
      stride = t.column_stride;
    }
  };
  /// A pair of vectors of rows and four columns.
  struct Pair {
    uint32_t row, n;
    int32_t* d[2];  // the accumulators of the first column
    I most[kColumnStep];
  };

  /// The largest exponents of a pair's products, one term at a time.
  [[gnu::always_inline]] static void look_at_term(const int32_t* ea, const int32_t* eb, uint32_t k, const Constants& s,
                                                  I (&most)[kColumnStep]) {
    const I e = V::load(ea + k * kLanes);
    for (uint32_t j = 0; j < kColumnStep; ++j)
      most[j] = V::max16(k == 0 ? s.floor16 : most[j], V::add16(e, V::set(eb[k * kLanes + j])));
  }
  /// Column j of a pair's first or second vector: what the sums start with. `high` is kept for finish().
  template <uint32_t v>
  [[gnu::always_inline]] static void begin(const Constants& s, const Panel& a, const Panel& b, const Pair& p, I most,
                                           uint32_t j, KnownOutputs<V>& known, I& high, Sums& sums) {
    I e = V::template sar<16>(v == 0 ? V::template shl<16>(most) : most);
    // In how many terms the signs differ.
    const I signs = V::bit_xor(V::load(a.low_signs + p.row + v * kLanes), V::set(b.low_signs[p.n + j]));
    const I counts = V::shuffle8(s.table, signs);
    I units = kTerms == 8 ? V::add_two_bytes(counts) : V::add_bytes(counts);
    if constexpr (kReadC) {
      constexpr int kFraction = Constants::kFraction;
      int32_t* const d = p.d[v] + j * size_t(s.stride);
      I word = V::load(d), magnitude = V::bit_and(word, s.magnitude);
      if (V::any(V::greater(magnitude, s.largest))) [[unlikely]] {
        word = known.template take_out<kHalf>(d, word);
        magnitude = V::bit_and(word, s.magnitude);
      }
      const I normal = V::saturating_sub16(V::template shr<kFraction>(magnitude), s.one);  // exponent − 1, or 0
      const I exponent = V::select(V::equal(magnitude, V::zero()), s.nothing, V::sub(normal, s.c_scale));
      e = V::max(e, exponent);
      // In units of 2^(e − 25). Beyond 31: zero.
      const I significand = V::sub(magnitude, V::template shl<kFraction>(normal));
      const I cut = V::shift_right(V::template shl<25 - kFraction>(significand), V::sub(e, exponent));
      units = V::add_signed(units, cut, kHalf ? V::template shl<16>(word) : word);
    }
    high = V::add(V::template shl<20>(e), s.high_start);
    const I low = V::bit_xor(units, s.low_start);
    sums.low[j] = V::pair_low(low, high);
    sums.high[j] = V::pair_high(low, high);
  }
  /// Column j: minus what it started with, rounded and stored.
  [[gnu::always_inline]] static void finish(const Constants& s, int32_t* d, uint32_t j, I high, const Sums& sums) {
    const I start = V::add(high, s.start);
    const D l = V::fma(sums.low[j], s.back, V::pair_low(s.low_start, start));
    const D h = V::fma(sums.high[j], s.back, V::pair_high(s.low_start, start));
    V::store(d + j * size_t(s.stride), kHalf ? Wide::to_f16(l, h) : Wide::to_f32(s.limits, l, h));
  }

  /// Adds the products of `now`, whose first vector has begun in `sums`; leaves those of `next`, if there are more.
  [[gnu::always_inline]] static void steps(const Constants& s, const Panel& a, const Panel& b, const Pair* before,
                                           const Pair& now, Pair& next, bool more, KnownOutputs<V>& known,
                                           I (&high)[2][kColumnStep], Sums& sums, Sums& others) {
    I most[kColumnStep];
    const int32_t* ea = a.exponents + next.row / 2 * Wide::kMostTerms;
    const int32_t* eb = b.exponents + Wide::column_at(next.n);
    Stages::template each<2>([&](auto v) __attribute__((always_inline)) {
      const double* va = a.value + (now.row + v.value * kLanes) * Wide::kMostTerms;
      const double* vb = b.value + Wide::column_at(now.n);
      Stages::hide(va), Stages::hide(vb);
      Stages::template each<kTerms>([&](auto k) __attribute__((always_inline)) {
        constexpr uint32_t kAt = v.value * kTerms + k.value;
        Stages::add_term(va, vb, k.value, sums);
        Stages::template spread<kColumnStep, 0, kTerms / 2, k.value>([&](auto j) __attribute__((always_inline)) {
          if constexpr (v.value == 1)
            finish(s, now.d[0], j.value, high[0][j.value], others);
          else if (before)
            finish(s, before->d[1], j.value, high[1][j.value], others);
        });
        Stages::template spread<kTerms, 0, kTerms * 3 / 2, kAt>([&](auto i) __attribute__((always_inline)) {
          look_at_term(ea, eb, i.value, s, most);
        });
        Stages::template spread<2 * kColumnStep, 0, kTerms, kAt>([&](auto i) __attribute__((always_inline)) {
          __builtin_prefetch(next.d[i.value % 2] + i.value / 2 * size_t(s.stride));
        });
        Stages::template spread<kColumnStep, kTerms / 2, kTerms, k.value>([&](auto j) __attribute__((always_inline)) {
          if constexpr (v.value == 0)
            begin<1>(s, a, b, now, now.most[j.value], j.value, known, high[1][j.value], others);
          else if (more)
            begin<0>(s, a, b, next, most[j.value], j.value, known, high[0][j.value], others);
        });
        Stages::pin(sums);
      });
      const Sums added = sums;
      sums = others, others = added;
    });
    for (uint32_t j = 0; j < kColumnStep; ++j) next.most[j] = most[j];
  }

  /// Rows `row` to `end` − 1, whole pairs, of columns n to n_end − 1, whole steps.
  [[gnu::noinline]] static void run(const MmaTile& t, const Panel& a, const Panel& b, uint32_t row, uint32_t end,
                                    uint32_t n, uint32_t n_end, KnownOutputs<V>& known) {
    const Constants s(t);
    const auto place = [&](Pair& p, uint32_t r, uint32_t column) {
      p.row = r, p.n = column;
      for (uint32_t v = 0; v < 2; ++v) p.d[v] = Specials<V>::word(t, r + v * kLanes, column);
    };
    Pair pairs[3];
    Pair *before = nullptr, *now = pairs;
    place(*now, row, n);
    for (uint32_t k = 0; k < kTerms; ++k)
      look_at_term(a.exponents + row / 2 * Wide::kMostTerms, b.exponents + Wide::column_at(n), k, s, now->most);
    I high[2][kColumnStep];
    Sums sums, others;
    Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      begin<0>(s, a, b, *now, now->most[j.value], j.value, known, high[0][j.value], sums);
    });
    others = sums;  // of nothing, which nobody finishes
    for (bool last = false; !last;) {
      Pair* const next = now == pairs + 2 ? pairs : now + 1;
      uint32_t r = now->row + kPair, column = now->n;
      if (r == end) r = row, column += kColumnStep;
      last = column == n_end;
      if (last) r = now->row, column = now->n;  // for nobody
      place(*next, r, column);
      steps(s, a, b, before, *now, *next, !last, known, high, sums, others);
      before = now, now = next;
    }
    Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      finish(s, before->d[1], j.value, high[1][j.value], others);
    });
  }
};

}  // namespace tinygpu::numerics
