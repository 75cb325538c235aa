// A product on the tiny machine: the roles of the kernel in common/kernels/gemm_blackwell.cuh, in the machine's
// instructions, on an SM that has as many tiles as any.
#pragma once
#include <cmath>
#include <deque>
#include <vector>

#include "chapters/15_search/space.h"
#include "chapters/15_search/tiny_machine.h"

namespace tiny {

/// What the roles know of a point.
struct Plan {
  Point p;
  size_t tiles = 0, blocks = 0, boxes = 0;       // of one SM; of a tile, along K; of a tile, in D
  Cycles multiply = 0, commit = 0;               // a block; from its last MMA to the arrival
  double load_boxes = 0, box_bytes = 0;          // TMA instructions of a block; bytes of a box of D
  Cycles share_of_load = 0, share_of_store = 0;  // of L2: what all SMs together take of it for a block, for a box
};

/// The mbarriers of a CTA, or of one CTA after the other in the same place.
struct Cta {
  explicit Cta(const Point& p) : full(p.stages), empty(p.stages), done(p.accumulators), drained(p.accumulators) {}
  std::vector<Barrier> full, empty, done, drained;
  Barrier born, stored;
};

}  // namespace tiny

namespace search {

using namespace tiny;

/// A role's begin, if it begins with this tile: those of a CTA that stays begin once.
inline void begin(Role& role, const Plan& plan, Cta& cta, size_t tile, Cause cause = other) {
  if (plan.p.persistent && tile > 0) return;
  role.wait(cta.born, tile + 1, cause);
  role.begin_cta();
}

inline void produce(Role& role, const Plan& plan, Cta& cta) {
  size_t n = 0;  // blocks so far
  for (size_t tile = 0; tile < plan.tiles; ++tile) {
    begin(role, plan, cta, tile);
    for (size_t block = 0; block < plan.blocks; ++block, ++n) {
      const size_t stage = n % plan.p.stages, round = n / plan.p.stages;
      role.wait(cta.empty[stage], round);
      role.load_tile(plan.p.stage_bytes(), plan.load_boxes, plan.share_of_load, cta.full[stage]);
    }
  }
}

inline void multiply(Role& role, const Plan& plan, Cta& cta) {
  size_t n = 0;
  for (size_t tile = 0; tile < plan.tiles; ++tile) {
    begin(role, plan, cta, tile, begins);
    const size_t into = tile % plan.p.accumulators;
    role.wait(cta.drained[into], tile / plan.p.accumulators, epilogue);
    for (size_t block = 0; block < plan.blocks; ++block, ++n) {
      const size_t stage = n % plan.p.stages, round = n / plan.p.stages;
      role.wait(cta.full[stage], round + 1, loads);
      role.mma_tile(plan.multiply);
      role.commit(cta.empty[stage], plan.commit);
    }
    role.commit(cta.done[into], plan.commit);
  }
}

inline void drain(Role& role, const Plan& plan, Cta& cta) {
  size_t n = 0;  // boxes so far
  for (size_t tile = 0; tile < plan.tiles; ++tile) {
    begin(role, plan, cta, tile);
    const size_t from = tile % plan.p.accumulators;
    role.wait(cta.done[from], tile / plan.p.accumulators + 1);
    for (size_t box = 0; box < plan.boxes; ++box, ++n) {
      role.load_accumulator(kBoxColumns);
      role.wait(cta.stored, n < 2 ? 0 : n - 1);  // shared memory has room for two boxes
      role.stage_tile(plan.box_bytes);
      role.store_tile(plan.box_bytes, plan.share_of_store, cta.stored);
    }
    role.arrive(cta.drained[from]);
    if (plan.p.persistent && tile + 1 < plan.tiles) continue;
    role.wait(cta.stored, n);
    role.end_cta(cta.born);
  }
}

/// How many tiles an SM has, and what each instruction takes.
inline Plan plan_of(const Problem& problem, const Point& p) {
  const uint32_t slots = ctas_of_sm(p), at_once = kSms / p.ctas * slots;  // tiles of the chip
  const uint32_t tiles_m = ceil_div(problem.m, p.m), tiles = tiles_m * ceil_div(problem.n, p.n);
  Plan plan{.p = p, .tiles = ceil_div(tiles, at_once), .blocks = ceil_div(problem.k * 2, p.block)};
  // An MMA takes 32 bytes of K: as long as D's columns need, or the operands' bytes.
  const double rows = p.mma_rows(), bands = p.rows() / rows;
  const Cycles mma = std::max(p.n / kMmaColumns, 32 * (rows + p.n / p.ctas) / kMmaBytes);
  plan.multiply = p.block / 32 * bands * mma;
  plan.commit = p.ctas == 2 ? kPairLatency : kMmaLatency;
  plan.boxes = size_t(bands) * p.n / kBoxColumns;
  plan.box_bytes = rows * kBoxColumns * 4;
  plan.load_boxes = 2.0 * (p.block / p.span);
  // Loads of all SMs reach them through the GPCs. A GPC takes in a block that several of its SMs need once.
  const double active = std::min(tiles, at_once), high = std::min(kBand, tiles_m), wide = std::ceil(active / high);
  const double different = (high * p.m + wide * p.n) * p.block, all = active * p.ctas * p.stage_bytes();
  plan.share_of_load = std::min(all / kGpcs, different) / kGpcBytes / slots;
  plan.share_of_store = active * p.ctas * plan.box_bytes / kWriteBytes / slots;
  return plan;
}

/// The kernel's cycles, and what its tensor core does meanwhile.
inline Result estimate(const Problem& problem, const Point& p) {
  const Plan plan = plan_of(problem, p);
  std::vector<Role> roles;
  std::deque<Cta> ctas;
  for (uint32_t slot = 0; slot < ctas_of_sm(p); ++slot) {
    Cta& cta = ctas.emplace_back(p);
    cta.born.ended = {kLaunch + kFirstCta + kParameters + kTranslate + kSms * kTranslateSm + kMapFetch};
    for (auto* role : {produce, multiply, drain}) role(roles.emplace_back(), plan, cta);
  }
  Result r = run(roles);
  r.cycles += kEnd;
  for (Cycles& lost : r.lost) lost /= double(ctas.size());  // several CTAs may wait at the same time
  return r;
}

}  // namespace search
