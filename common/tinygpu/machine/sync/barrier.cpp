// Rounds of CTA barriers (PTX ISA 9.7.13.1) and of the cluster barrier (9.7.13.3). isa/barriers.cpp brings arrivals,
// exits of threads bring the rest: both end in barrier_check.
#include <algorithm>
#include <cstring>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {
namespace {

constexpr uint8_t kRedPopc = 2, kRedAnd = 3;

void write_result(Warp& w, const NamedBarrier& b, const NamedBarrier::Result& r) {
  uint8_t* slot = w.register_file() + r.slot;
  if (b.operation == kRedPopc) {
    for (uint32_t m = r.lanes; m; m &= m - 1)
      std::memcpy(slot + 4 * size_t(__builtin_ctz(m)), &b.reduce_count, sizeof b.reduce_count);
    return;
  }
  const bool truth = b.operation == kRedAnd ? b.reduce_count == b.reduce_threads : b.reduce_count != 0;
  uint32_t mask;
  std::memcpy(&mask, slot, sizeof mask);
  mask = truth ? mask | r.lanes : mask & ~r.lanes;
  std::memcpy(slot, &mask, sizeof mask);
}

// Warps may arrive several times in a round, and a thread count says how often: up to 2^27 times.
constexpr size_t kKept = 4096;

/// The arrivals that are kept are taken, one after the other.
void take(NamedBarrier& b, double each) {
  std::ranges::sort(b.times);
  for (const uint64_t time : b.times) b.taken = std::max(b.taken, double(time)) + each;
  b.times.clear();
}

bool waits_here(const Group& g, uint32_t id) {
  return g.reason.kind == BlockReason::Kind::cta_barrier && g.reason.id == id;
}

}  // namespace

void Cta::barrier_check(uint32_t id, uint64_t now) {
  NamedBarrier& b = barriers[id];
  if (b.parts.empty()) return;
  const BarrierTiming& timing = cluster.partition.launch.gpu.timing.barriers;
  // Warps all of whose live lanes are here arrive.
  bool missing = false;
  for (size_t i = 0; i < warps.size(); ++i) {
    Warp& w = *warps[i];
    NamedBarrier::Part& part = b.parts[i];
    if (part.here && (w.live() & ~part.here) == 0) {
      b.arrived += 32;
      b.times.push_back(now);
      if (b.times.size() == kKept) take(b, timing.cta_per_warp);
      b.reduce_count += uint32_t(__builtin_popcount(part.truth));
      b.reduce_threads += uint32_t(__builtin_popcount(part.here));
      part.arrived = true;
      part.waiting |= part.sync;
      if (w.told(Observer::synchronisation)) {
        const Function* function = &w.function();
        for (const Group& g : w.groups())
          if (g.mask & part.here) function = g.function;
        const Origin who{&cluster.partition.launch, function, part.op, key, int(i), -1, 0, part.here};
        tell(*this, Sync::Kind::barrier_arrive, id, part.sync, now, &who);
      }
      const uint32_t only_arrive = part.here & ~part.sync;
      part.here = part.sync = part.truth = 0;
      if (only_arrive) w.wake(now, [&](const Group& g) { return waits_here(g, id) && (g.mask & ~only_arrive) == 0; });
    }
    missing |= w.live() && !part.arrived;
  }
  if (b.arrived == 0) return;
  if (b.whole ? missing && b.arrived < b.expected : b.arrived < b.expected) return;

  // The round ends: results, then everybody who waits goes on.
  for (const NamedBarrier::Result& r : b.results) write_result(*warps[r.warp], b, r);
  take(b, timing.cta_per_warp);
  const uint64_t when = std::max(now, uint64_t(b.taken)) + timing.cta_fixed;
  for (size_t i = 0; i < warps.size(); ++i) {
    const uint32_t waiting = b.parts[i].waiting;
    if (waiting) warps[i]->wake(when, [&](const Group& g) { return waits_here(g, id) && (g.mask & ~waiting) == 0; });
    b.parts[i].waiting = 0;
    b.parts[i].arrived = false;
  }
  tell(*this, Sync::Kind::barrier, id, b.round, when, nullptr);
  ++b.round;
  b.results.clear();
  b.taken = 0;
  b.arrived = b.expected = b.reduce_count = b.reduce_threads = 0;
  b.whole = false;
  b.operation = 0;
  b.ended = when;
  cluster.partition.made_progress();
}

void Cluster::barrier_check(uint64_t now) {
  if (barrier_arrived == 0 || barrier_arrived < live_threads()) return;
  // Threads that arrived and exited still count in barrier_arrived: look who is really missing.
  for (const auto& cta : ctas)
    for (const auto& w : cta->warps)
      if (w->live() & ~w->cluster_arrived) return;
  const uint64_t when =
      std::max(now, barrier_last) + partition.launch.gpu.timing.barriers.cluster_of(uint32_t(ctas[0]->warps.size()));
  for (const auto& cta : ctas)
    for (const auto& w : cta->warps) {
      w->cluster_released |= w->cluster_arrived;
      w->cluster_arrived = 0;
      w->wake(when, [&](const Group& g) {
        if (g.reason.kind != BlockReason::Kind::cluster_barrier) return false;
        w->cluster_released &= ~g.mask;
        return true;
      });
    }
  for (const auto& cta : ctas) tell(*cta, Sync::Kind::cluster, 0, barrier_round, when, nullptr);
  ++barrier_round;
  barrier_arrived = 0;
  barrier_last = when;
  partition.made_progress();
}

}  // namespace tinygpu
