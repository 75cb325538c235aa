// Group after group as in mma_run.h, where there are 16 vector registers: the sums of one vector of rows take half of
// them, so what sums start with waits in memory. A window is found and its sum's start made at once, and everything is
// read where it is used, for instructions and loads are what is short here.
//
// On Zen 4, with vectors of 256 bits, a term's 8 multiplications and 6 loads take 4.3 cycles: eight sums just cover the
// multipliers' latency. 6 additions more make it 4.5, 2 loads with them 5.0, a third load 5.4; a store costs 0.1 and a
// multiplication or a shuffle 0.2 to 0.4 where there is as much besides. (Measured with one such loop for each.) A
// whole group written out, or five columns a group for ten sums, takes longer: inferred, for it no longer fits the
// host's cache of decoded instructions.
#pragma once
#include <cstdint>

#include "common/tinygpu/numerics/mma_stages.h"

namespace tinygpu::numerics {

template <class V, uint32_t kMostTerms>
struct SumRun16 {
  using Stages = SumStages<V, kMostTerms>;
  using I = typename V::I;
  using Panels = NarrowPanel<V, kMostTerms>;
  using Panel = typename Panels::Panel;
  using Signs = typename Stages::Signs;
  using Constants = typename Stages::Constants;
  using Group = typename Stages::Group;
  using Sums = typename Stages::Sums;
  using End = typename Stages::End;
  using C = typename Stages::C;
  static constexpr uint32_t kLanes = V::kLanes, kTerms = Panels::kTerms, kColumnStep = Panels::kColumnStep;
  static constexpr uint32_t kVectors = Stages::kVectors, kTiles = Stages::kTiles, kLines = Stages::kLines;
  static constexpr uint32_t kLong = kVectors / kColumnStep;  // vectors of rows for which a column is made ready
  static constexpr uint32_t kWords = 4;                      // vectors of words in a tile of bytes

  /// What the sums of a column start with, and their windows.
  struct Ready {
    alignas(64) int32_t low[kVectors][kLanes];
    alignas(64) int32_t window[kVectors][kLanes];
  };
  /// The windows of a group are between these.
  struct Extremes {
    I least = V::set8(127), largest = V::zero();  // of the products' bytes; of the windows
    [[gnu::always_inline]] bool plain(const Constants& s) const {
      return !V::any_below8(least, s.least8) && !V::any(V::greater(largest, s.most_window));
    }
  };
  /// Where the accumulators of a column are.
  struct Column {
    int32_t* first;
    const size_t* lane;
    [[gnu::always_inline]] int32_t* at(uint32_t v) const { return first + lane[v]; }
  };

  /// The windows of a vector of rows of a column, and what sums start with. `word`: (e + 127) << 23 of the products'
  /// window, and in the low 7 bits how many are negative.
  template <C kC, bool kHalf>
  [[gnu::always_inline]] static void make_ready(const Constants& s, Ready& to, uint32_t v, const int32_t* d, I word,
                                                Extremes& extremes) {
    const I field = V::set(0x7f800000), negative = V::bit_and(word, V::set(0x7f));
    I window = word;
    if constexpr (kC != C::none)
      window = V::max(window, V::bit_and(Stages::template load_c<kC, kHalf>(s, d).magnitude, field));
    window = V::bit_and(window, field);
    Stages::hide(d);  // C is read once more rather than kept
    extremes.largest = V::max(extremes.largest, window);
    V::store(to.low[v], Stages::template low_start<kC, kHalf>(s, d, window, negative));
    V::store(to.window[v], window);
  }

  /// The sums of vector v of rows, rounded and stored in the end. `first`: where the first column's go.
  [[gnu::always_inline]] static void start(const Constants& s, const Ready* ready, uint32_t v, Sums& sums) {
    Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      Stages::start(s, V::load(ready[j.value].window[v]), V::load(ready[j.value].low[v]), j.value, sums);
    });
  }
  template <bool kHalf>
  [[gnu::always_inline]] static void finish(const Constants& s, const Ready* ready, uint32_t v, int32_t* first,
                                            size_t stride, const Sums& sums) {
    Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      Stages::template finish<kHalf>(s, V::load(ready[j.value].window[v]), first + j.value * stride, j.value, sums);
    });
  }

  /// Adds the products of `now`, whose sums `ready` has, and makes the group behind it ready.
  template <uint32_t terms, C kC, bool kHalf>
  [[gnu::always_inline]] static void steps(const Constants& s, const Panel& a, const Signs& signs, const Panel& b,
                                           const Group& now, const Ready* ready, Ready* next, Extremes& extremes) {
    constexpr uint32_t kSteps = terms * kLong, kLooked = kSteps * 3 / 8;
    constexpr uint32_t kTasks = 1 + kWords;  // a tile's bytes, their vectors of words
    static_assert(2 * terms <= UINT8_MAX);   // what is negative, twice, is a byte
    const size_t stride = now.stride;
    const int8_t* const ea = a.exponent8 + now.block * kTerms;
    const int32_t* eb = b.exponent8x4 + Panels::column_at(now.n + kColumnStep);
    const uint8_t* scalars = b.sign + now.n + kColumnStep;
    const double* va = a.value + now.block * kTerms;
    const double* vb = b.value + Panels::column_at(now.n);
    const Column first{now.first, now.lane};
    Column c{now.first + kColumnStep * stride, now.lane};
    uint32_t v0 = 0;
    for (uint32_t column = 0; column < kColumnStep; ++column) {
      I most[1][kTiles], negative[kTiles], low, high;
      Stages::template each<kLong>([&](auto w) __attribute__((always_inline)) {
        Sums sums;
        Stages::hide(va), Stages::hide(vb);
        const uint32_t v = v0 + w.value;
        start(s, ready, v, sums);
        Stages::template each<terms>([&](auto k) __attribute__((always_inline)) {
          constexpr uint32_t kAt = w.value * terms + k.value;
          Stages::add_term(va, vb, k.value, sums);
          Stages::template spread<kLines, 0, kSteps, kAt>([&](auto i) __attribute__((always_inline)) {
            __builtin_prefetch(c.at(i.value * (kVectors / kLines)) + kColumnStep * stride);
          });
          Stages::template spread<terms, 0, kLooked, kAt>([&](auto i) __attribute__((always_inline)) {
            Stages::look_at_term(ea, eb, i.value, most);
          });
          if constexpr (kAt == kLooked) Stages::template look_up_negative<terms>(signs, scalars, negative);
          Stages::template spread<kTiles * kTasks, kLooked, kSteps, kAt>([&](auto item) __attribute__((always_inline)) {
            constexpr uint32_t tile = item.value / kTasks, task = item.value % kTasks;
            if constexpr (task == 0) {
              extremes.least = V::min8(extremes.least, most[0][tile]);
              const I top = V::add8(V::max8(most[0][tile], s.least_most8), s.base8);
              const I twice = V::add8(negative[tile], negative[tile]);
              low = V::template shr16<1>(V::bytes_low(twice, top));
              high = V::template shr16<1>(V::bytes_high(twice, top));
            } else {
              constexpr uint32_t word = task - 1, at = tile * kWords + word;
              const I from = word < 2 ? low : high;
              make_ready<kC, kHalf>(s, next[column], at, c.at(at),
                                    word % 2 == 0 ? V::twice16_low(from) : V::twice16_high(from), extremes);
            }
          });
          Stages::pin(sums);
        });
        finish<kHalf>(s, ready, v, first.at(v), stride, sums);
        va += kLanes * kTerms;
      });
      v0 += kLong, eb += 1, scalars += 1, c.first += stride;
    }
  }

  /// As SumRun::run(); a group that is not plain has to begin anew.
  template <uint32_t terms, C kC, bool kHalf>
  [[gnu::noinline]] static End run(const Constants& constants, const Panel& a, const Signs& signs, const Panel& b,
                                   uint32_t end, Group (&)[3], const Group* first) {
    const Constants s = constants;  // not memory that a store might change
    Group now = *first;
    Ready ready[2][kColumnStep];
    uint32_t at = 0;
    for (uint32_t j = 0; j < kColumnStep; ++j)
      for (uint32_t v = 0; v < kVectors; ++v) {
        const auto from = Stages::split(now, j, v);
        V::store(ready[0][j].window[v], from.window);
        V::store(ready[0][j].low[v], Stages::template low_start<kC, kHalf>(s, now.d(j, v), from.window, from.negative));
      }
    bool plain = true;
    while (plain && now.n + kColumnStep < end && !Panels::special(b, now.n + kColumnStep)) {
      Extremes extremes;
      steps<terms, kC, kHalf>(s, a, signs, b, now, ready[at], ready[at ^ 1], extremes);
      plain = extremes.plain(s);
      at ^= 1;
      now.n += kColumnStep;
      now.first += kColumnStep * now.stride;
    }
    if (!plain) return {now.n, nullptr};
    const double* va = a.value + now.block * kTerms;
    const double* const vb = b.value + Panels::column_at(now.n);
    for (uint32_t v = 0; v < kVectors; ++v, va += kLanes * kTerms) {
      Sums sums;
      start(s, ready[at], v, sums);
      for (uint32_t k = 0; k < terms; k += 8)
        Stages::template each<8>([&](auto i) { Stages::add_term(va, vb, k + i.value, sums); });
      finish<kHalf>(s, ready[at], v, now.d(0, v), now.stride, sums);
    }
    return {now.n + kColumnStep, nullptr};
  }
};

}  // namespace tinygpu::numerics
