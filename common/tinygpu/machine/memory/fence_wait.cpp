#include "common/tinygpu/machine/memory/fence_wait.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/loads_on_their_way.h"
#include "common/tinygpu/machine/memory/stores_on_their_way.h"

namespace tinygpu {
namespace {

/// When each sub-partition's next fence can set out, and when the last one of the SM that waits for loads did.
struct FencePorts final : Extension {
  explicit FencePorts(const MachineSpec& spec) : loaded(uint64_t(spec.number("fence.loaded"))) {}
  const uint64_t loaded;  // how long one waits at least if the SM has loaded anything since
  uint64_t free[4] = {}, last = 0;
};

}  // namespace

uint64_t fence_wait(Warp& w, uint64_t own, bool loads) {
  const FenceTiming& t = w.timing().fences;
  uint64_t start = w.time();
  // Bulk copies' stores hold up every warp's fence; that the stores of one warp hold up another's is inferred.
  if (const StoresOnTheirWay* s = w.sm().extensions.find<StoresOnTheirWay>()) {
    if (s->written) start = std::max(start, std::max(s->written, s->translated) + t.stored);
    if (s->updated) start = std::max(start, s->updated + t.updated);
    if (s->written_bulk) start = std::max(start, s->written_bulk + t.stored_bulk);
  }
  FencePorts& ports = w.sm().extensions.get<FencePorts>(w.spec());
  uint64_t& port = ports.free[w.sub_partition()];
  if (const LoadsOnTheirWay* l = loads ? w.sm().extensions.find<LoadsOnTheirWay>() : nullptr) {
    const bool since = l->landed > ports.last;
    ports.last = std::max(start, l->landed);
    // It waits for stores and for a warp's loads meanwhile (an H200: 406 cycles behind a load that has landed, 415
    // behind a store, 417 behind both, 571 to 573 behind a load on its way, whatever else there is).
    if (since) start = std::max(start, std::max(w.time(), l->copied) + ports.loaded);
    start = std::max(start, l->landed);
  }
  start = std::max(start, port);
  port = start + t.gpu_warp;
  return start + own - w.time();
}

uint64_t release_wait(Warp& w, ptx::Scope scope) {
  const FenceTiming& t = w.timing().fences;
  if (scope <= ptx::Scope::cta) return 0;
  return fence_wait(w, scope == ptx::Scope::sys ? t.system : t.gpu, scope > ptx::Scope::cluster);
}

}  // namespace tinygpu
