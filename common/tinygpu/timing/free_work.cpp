#include "common/tinygpu/timing/free_work.h"

#include <fmt/format.h>

#include <limits>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {
namespace {

constexpr FreeKind kKinds[] = {
    {"loads", "loads",
     "bytes that TMA, cp.async and load instructions read from global memory are there in the cycle in which they are "
     "asked for, and take nothing of TMA, L2 or device memory",
     &FreeWork::loads},
    {"mmas", "MMAs", "tensor cores finish each MMA in the cycle in which they are given it", &FreeWork::mmas},
    {"waits", "waits",
     "a wait ends in the cycle in which its last arrival comes: arrives, commits, barriers and fences take no time of "
     "their own. A thread still waits for what it needs",
     &FreeWork::waits},
    {"bank-conflicts", "bank conflicts",
     "an access to shared memory takes the passes of the banks that it would take without conflicts",
     &FreeWork::bank_conflicts},
};

/// A number that a machine lacks stays absent.
void set(MachineSpec& spec, std::initializer_list<const char*> keys, double value) {
  for (const char* key : keys)
    if (const auto n = spec.numbers.find(key); n != spec.numbers.end()) n->second = value;
}

void no_latency(MachineSpec& spec, CostClass c) { spec.costs[size_t(c)].latency = 1; }

void free_mmas(MachineSpec& spec) {
  constexpr double kForever = std::numeric_limits<double>::infinity();
  set(spec,
      {"tcgen05.mma.columns_per_cycle", "tcgen05.mma.smem_bytes_per_cycle", "wgmma.columns_per_cycle",
       "wgmma.smem_bytes_per_cycle"},
      kForever);
  set(spec, {"tcgen05.mma.interval_min.ts.cg2.m128", "tcgen05.mma.interval_fixed.ss.cg2.m256"}, -kForever);
  set(spec,
      {"tcgen05.mma.fixed.ss.cg1.m64", "tcgen05.mma.fixed.ss.cg1.m128", "tcgen05.mma.fixed.ss.cg2.m128",
       "tcgen05.mma.fixed.ss.cg2.m256", "tcgen05.mma.fixed.ts.cg1.m64", "tcgen05.mma.fixed.ts.cg1.m128",
       "tcgen05.mma.fixed.ts.cg2.m128", "tcgen05.mma.fixed.ts.cg2.m256", "tcgen05.mma.later.scaled.ss.cg1",
       "tcgen05.mma.later.scaled.ts.cg1", "tcgen05.mma.later.scaled.cg2", "wgmma.batch", "wgmma.wait.ss",
       "wgmma.wait.rs"},
      0);
  spec.costs[size_t(CostClass::mma_sync)].issue = 1;
  no_latency(spec, CostClass::mma_sync);
}

/// The rest of them is where loads are charged: engines/lsu, engines/tma.
void free_loads(MachineSpec& spec) { set(spec, {"tma.descriptor_fetch", "cp_async.latency"}, 0); }

void free_waits(MachineSpec& spec) {
  set(spec,
      {"mbarrier.arrive",
       "mbarrier.arrive.release",
       "mbarrier.expect_tx",
       "mbarrier.try_wait.ready",
       "mbarrier.try_wait.answer",
       "mbarrier.spin",
       "mbarrier.spin.end",
       "mbarrier.try_wait.hint",
       "mbarrier.wake",
       "mbarrier.remote_hop",
       "barrier.cta.per_warp",
       "barrier.cta.fixed",
       "barrier.cluster.relaxed",
       "barrier.cluster.per_warp",
       "fence.cta",
       "fence.gpu",
       "fence.sys",
       "fence.gpu.warp",
       "fence.proxy.global",
       "fence.stored",
       "fence.stored.bulk",
       "tcgen05.commit.arrive",
       "tcgen05.wait.ld",
       "tcgen05.wait.st",
       "tma.commit",
       "tma.wait"},
      0);
  for (const CostClass c : {CostClass::fence, CostClass::mbarrier, CostClass::barrier}) no_latency(spec, c);
}

}  // namespace

std::span<const FreeKind> free_kinds() { return kKinds; }

std::string read_free_work(FreeWork& to, std::string_view text) {
  FreeWork out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    bool known = false;
    for (const FreeKind& k : kKinds)
      if (k.name == text.substr(at, end - at)) known = out.*k.on = true;
    if (!known) {
      std::string all;
      for (const FreeKind& k : kKinds) all += fmt::format("{}{}", all.empty() ? "" : ", ", k.name);
      return fmt::format("write one or more of {}, with commas between", all);
    }
    at = end + 1;
  }
  to = out;
  return {};
}

void make_free(MachineSpec& spec, FreeWork work) {
  spec.free = work;
  if (work.loads) free_loads(spec);
  if (work.mmas) free_mmas(spec);
  if (work.waits) free_waits(spec);
}

}  // namespace tinygpu
