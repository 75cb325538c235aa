// Group after group of the vector kernel's first way (mma_stages.h), overlapped. Adding keeps the multipliers busy and
// leaves half of the vector pipes idle (on Zen 4), which is just what the other stages need: while the products of a
// group are added, step by step of K, every step takes a part of the stages before for the group after. Here for 32
// vector registers, which hold the sums of two vectors of rows; mma_run16.h has it for 16.
//
// What else costs time on Zen 4, with vectors of 512 bits: of what is put between the multiplications, an addition, a
// shuffle or a conversion costs next to nothing; storing a vector 1.5 cycles; a rotation by a constant, a
// multiplication or vpermt2d a whole one, being the multipliers' own; a load a fifth of one where there are ten of them
// for eight multiplications. (Measured with one such loop for each instruction, 4 of it to 8 multiplications.) So
// windows and counts of signs share the words that they are stored in, signs are looked up, and C is read and scaled
// once more when sums start, two vectors of rows being under way.
#pragma once
#include <cstdint>

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
  using End = typename Stages::End;
  using C = typename Stages::C;
  static constexpr uint32_t kLanes = V::kLanes, kTerms = Panels::kTerms, kColumnStep = Panels::kColumnStep;
  static constexpr uint32_t kVectors = Stages::kVectors, kTiles = Stages::kTiles, kLines = Stages::kLines;

  /// Adds the products of `now`, but for its last vector's rounding, and begins `next`.
  template <uint32_t terms, C kC, bool kHalf>
  [[gnu::always_inline]] static void steps(const Constants& s, const Panel& a, const Signs& signs, const Panel& b,
                                           const Group* before, const Group& now, Group& next, Extremes& extremes,
                                           Sums& sums, Sums& others) {
    constexpr uint32_t kSteps = terms * kVectors, kLooked = kSteps * 3 / 8, kBegun = kSteps * 6 / 8;
    constexpr uint32_t kTasks = 1 + kTiles;  // a column's signs, and its tiles
    I most[kColumnStep][kTiles], negative[kTiles];
    const int8_t* ea = a.exponent8 + next.block * kTerms;
    const int32_t* eb = b.exponent8x4 + Panels::column_at(next.n);
    Stages::template each<kVectors>([&](auto v) __attribute__((always_inline)) {
      const double* va = a.value + (now.block + v.value * kLanes) * kTerms;
      const double* vb = b.value + Panels::column_at(now.n);
      Stages::hide(va), Stages::hide(vb);
      Stages::template each<terms>([&](auto k) __attribute__((always_inline)) {
        constexpr uint32_t kAt = v.value * terms + k.value;
        Stages::add_term(va, vb, k.value, sums);
        // The vector before is rounded, the vector behind started, in the registers that are left.
        Stages::template spread<kColumnStep, 0, terms / 2, k.value>([&](auto j) __attribute__((always_inline)) {
          if constexpr (v.value > 0)
            Stages::template finish<kHalf>(s, now, v.value - 1, j.value, others);
          else if (before)
            Stages::template finish<kHalf>(s, *before, kVectors - 1, j.value, others);
        });
        Stages::template spread<kColumnStep, terms / 2, terms, k.value>([&](auto j) __attribute__((always_inline)) {
          constexpr bool kLast = v.value + 1 == kVectors;
          Stages::template start<kC, kHalf>(s, kLast ? next : now, kLast ? 0 : v.value + 1, j.value, others);
        });
        Stages::template spread<kColumnStep * kLines, 0, kSteps, kAt>([&](auto i) __attribute__((always_inline)) {
          Stages::fetch(next, i.value / kLines, i.value % kLines);
        });
        Stages::template spread<terms, 0, kLooked, kAt>([&](auto i) __attribute__((always_inline)) {
          Stages::look_at_term(ea, eb, i.value, most);
        });
        Stages::template spread<kColumnStep * kTasks, kLooked, kBegun, kAt>([&](
            auto item) __attribute__((always_inline)) {
          constexpr uint32_t j = item.value / kTasks, task = item.value % kTasks;
          if constexpr (task == 0)
            Stages::template look_up_negative<terms>(signs, b.sign + next.n + j, negative);
          else
            Stages::template begin_tile<kC, kHalf>(s, next, j, task - 1, most[j][task - 1], negative[task - 1],
                                                   extremes);
        });
        Stages::pin(sums);
      });
      const Sums added = sums;
      sums = others, others = added;
    });
  }

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
    Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      Stages::template start<kC, kHalf>(s, *now, 0, j.value, sums);
    });
    others = sums;  // of nothing, which nobody finishes
    while (plain && now->n + kColumnStep < end && !Panels::special(b, now->n + kColumnStep)) {
      Group* const next = behind(now);
      next->n = now->n + kColumnStep;
      next->first = now->first + kColumnStep * now->stride;
      Extremes extremes;
      steps<terms, kC, kHalf>(s, a, signs, b, before, *now, *next, extremes, sums, others);
      plain = extremes.plain(s);
      before = now, now = next;
    }
    if (before)
      Stages::template each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
        Stages::template finish<kHalf>(s, *before, kVectors - 1, j.value, others);
      });
    if (!plain) return {now->n, now};
    for (uint32_t v = 0; v < kVectors; ++v) Stages::template add<terms, kC, kHalf>(s, a, b, *now, v);
    return {now->n + kColumnStep, nullptr};
  }
};

}  // namespace tinygpu::numerics
