// Group after group of the vector kernel's first way (mma_stages.h), overlapped. Adding keeps the multipliers busy and
// leaves half of the vector pipes idle (on Zen 4), which is just what the other stages need: while the products of a
// group are added, step by step of K, every step takes a part of the stages before for the group after.
//
// What else costs time on Zen 4: of what is put between the multiplications, an addition, a shuffle or a conversion costs
// next to nothing; storing a vector 1.5 cycles; a rotation by a constant, a multiplication or vpermt2d a whole one, being
// the multipliers' own; a load a fifth of one where there are ten of them for eight multiplications. (Measured with one
// such loop for each instruction, 4 of it to 8 multiplications.) So windows and counts of signs share the words that
// they are stored in, signs are looked up, and C is read and scaled once more when sums start, two vectors of rows being
// under way. Where registers are too few for that, it is instructions that are too many.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

#include "common/tinygpu/numerics/mma_stages.h"

namespace tinygpu::numerics {

template <class V, uint32_t kMostTerms>
struct SumRun {
  using Stages = SumStages<V, kMostTerms>;
  using I = typename V::I;
  using Panels = NarrowPanel<V, kMostTerms>;
  using Panel = typename Panels::Panel;
  using Signs = typename Stages::Signs;
  using Constants = typename Stages::Constants;
  using Group = typename Stages::Group;
  using Sums = typename Stages::Sums;
  using Extremes = typename Stages::Extremes;
  using C = typename Stages::C;
  static constexpr uint32_t kLanes = V::kLanes, kTerms = Panels::kTerms, kColumnStep = Panels::kColumnStep;
  static constexpr uint32_t kVectors = Stages::kVectors, kTiles = Stages::kTiles;

  /// There are registers for the sums of two vectors; else what they start with waits in memory.
  static constexpr bool kAhead = V::kManyRegisters;

  template <uint32_t i>
  using Index = typename Stages::template Index<i>;

  /// Calls body(Index<i>()) for those of `items` that fall to step `at` when they are spread over steps `from` to `to`.
  template <uint32_t items, uint32_t from, uint32_t to, uint32_t at, class Body>
  [[gnu::always_inline]] static void spread(const Body& body) {
    if constexpr (at >= from && at < to) {
      constexpr uint32_t kFirst = (at - from) * items / (to - from), kEnd = (at - from + 1) * items / (to - from);
      Stages::template each<kEnd - kFirst>([&](auto i) __attribute__((always_inline)) {
        body(Index<kFirst + decltype(i)::value>());
      });
    }
  }

  /// Columns n to n + 3 of B have an element for the wide way.
  static bool special(const Panel& b, uint32_t n) {
    uint32_t any;
    static_assert(sizeof any == kColumnStep * sizeof b.special[0]);
    std::memcpy(&any, b.special + n, sizeof any);
    return any;
  }

  // A stretch of steps takes some columns of the group behind through its stages: as many as there are registers for.
  // What is done for a stretch is written out.
  static constexpr uint32_t kTogether = V::kManyRegisters ? kColumnStep : 1, kStretches = kColumnStep / kTogether;
  static constexpr uint32_t kLong = kVectors / kStretches;     // vectors of rows whose products are added meanwhile
  static constexpr uint32_t kLines = Panels::kBlock * 4 / 64;  // of the host's cache, in a column of a group

  /// Adds the products of `now`, but for its last vector's rounding if kAhead, and begins `next`.
  template <uint32_t terms, C kC, bool kHalf>
  [[gnu::always_inline]] static void steps(const Constants& s, const Panel& a, const Signs& signs, const Panel& b,
                                           const Group* before, const Group& now, Group& next, Extremes& extremes,
                                           Sums& sums, Sums& others) {
    constexpr uint32_t kSteps = terms * kLong, kLooked = kSteps * 3 / 8, kBegun = kSteps * (kAhead ? 6 : 5) / 8;
    constexpr uint32_t kTasks = 1 + kTiles;  // a column's signs, and its tiles
    for (uint32_t stretch = 0; stretch < kStretches; ++stretch) {
      const uint32_t column = stretch * kTogether;
      I most[kTogether][kTiles], negative[kTiles];
      Stages::template each<kLong>([&](auto c) __attribute__((always_inline)) {
        const uint32_t v = stretch * kLong + c.value;
        const double* va = a.value + (now.block + v * kLanes) * kTerms;
        const double* vb = b.value + Panels::column_at(now.n);
        hide(va), hide(vb);
        if constexpr (!kAhead)
          Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
            Stages::template start<kC, kHalf, true>(s, now, v, j.value, sums);
          });
        Stages::template each<terms>([&](auto k) __attribute__((always_inline)) {
          constexpr uint32_t kAt = c.value * terms + k.value;
          Stages::add_term(va, vb, k.value, sums);
          if constexpr (kAhead) {
            // The vector before is rounded, the vector behind started, in the registers that are left.
            spread<kColumnStep, 0, terms / 2, k.value>([&](auto j) __attribute__((always_inline)) {
              if constexpr (c.value > 0)
                Stages::template finish<kHalf>(s, now, c.value - 1, j.value, others);
              else if (before)
                Stages::template finish<kHalf>(s, *before, kVectors - 1, j.value, others);
            });
            spread<kColumnStep, terms / 2, terms, k.value>([&](auto j) __attribute__((always_inline)) {
              constexpr bool kLast = c.value + 1 == kVectors;
              Stages::template start<kC, kHalf>(s, kLast ? next : now, kLast ? 0 : c.value + 1, j.value, others);
            });
          }
          spread<kTogether * kLines, 0, kSteps, kAt>([&](auto i) __attribute__((always_inline)) {
            fetch(next, column + i.value / kLines, i.value % kLines);
          });
          spread<terms, 0, kLooked, kAt>([&](auto i) __attribute__((always_inline)) {
            Stages::look_at_term(a, b, next, column, i.value, most);
          });
          spread<kTogether * kTasks, kLooked, kBegun, kAt>([&](auto item) __attribute__((always_inline)) {
            constexpr uint32_t j = item.value / kTasks, task = item.value % kTasks;
            if constexpr (task == 0)
              Stages::template look_up_negative<terms>(signs, b, next, column + j, negative);
            else
              Stages::template begin_tile<kC, kHalf>(s, next, column + j, task - 1, most[j][task - 1],
                                                     negative[task - 1], extremes);
          });
          if constexpr (!kAhead)
            spread<kVectors, kBegun, kSteps, kAt>([&](auto w) __attribute__((always_inline)) {
              Stages::template prepare<kC, kHalf>(s, next, w.value, column);
            });
          pin(sums);
        });
        if constexpr (kAhead)
          std::swap(sums, others);
        else
          Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
            Stages::template finish<kHalf, true>(s, now, v, j.value, sums);
          });
      });
    }
  }

  /// The host is told that the accumulators of the group behind `g` come next: those of many SMs don't fit its inner
  /// caches. Behind the last group lies what nobody reads.
  [[gnu::always_inline]] static void fetch(const Group& g, uint32_t column, uint32_t line) {
    __builtin_prefetch(g.d(kColumnStep + column, line * (kVectors / kLines)));
  }

  struct End {
    uint32_t n;    // the first column that has not been added
    Group* begun;  // it has begun, and is not plain; or null
  };
  /// Adds the products of `first`, which has begun, and of the groups behind it, up to column `end`, as long as they
  /// are plain. `groups` have their rows.
  template <uint32_t terms, C kC, bool kHalf>
  [[gnu::noinline]] static End run(const Constants& constants, const Panel& a, const Signs& signs, const Panel& b,
                                   uint32_t end, Group (&groups)[3], Group* first) {
    const Constants s = constants;  // not memory that a store might change
    const auto behind = [&](Group* g) { return g == groups + 2 ? groups : g + 1; };
    Group *before = nullptr, *now = first;
    Sums sums, others;
    bool plain = true;
    if constexpr (kAhead) {
      Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
        Stages::template start<kC, kHalf>(s, *now, 0, j.value, sums);
      });
      others = sums;  // of nothing, which nobody finishes
    } else {
      for (uint32_t i = 0; i < kColumnStep * kVectors; ++i)
        Stages::template prepare<kC, kHalf>(s, *now, i / kColumnStep, i % kColumnStep);
    }
    while (plain && now->n + kColumnStep < end && !special(b, now->n + kColumnStep)) {
      Group* const next = behind(now);
      next->n = now->n + kColumnStep;
      next->first = now->first + kColumnStep * now->stride;
      Extremes extremes;
      steps<terms, kC, kHalf>(s, a, signs, b, before, *now, *next, extremes, sums, others);
      plain = extremes.plain(s);
      before = now, now = next;
    }
    if (kAhead && before)
      Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
        Stages::template finish<kHalf>(s, *before, kVectors - 1, j.value, others);
      });
    if (!plain) return {now->n, now};
    for (uint32_t v = 0; v < kVectors; ++v) Stages::template add<terms, kC, kHalf>(s, a, b, *now, v);
    return {now->n + kColumnStep, nullptr};
  }

 private:
  /// Keeps the compiler from computing all addresses beforehand, which would cost more registers than there are.
  template <class T>
  [[gnu::always_inline]] static void hide(const T*& p) {
    asm("" : "+r"(p));
  }
  /// Keeps the compiler from moving work from step to step.
  [[gnu::always_inline]] static void pin(Sums& s) {
    V::pin(s.low[0], s.high[0], s.low[1], s.high[1], s.low[2], s.high[2], s.low[3], s.high[3]);
  }
};

}  // namespace tinygpu::numerics
