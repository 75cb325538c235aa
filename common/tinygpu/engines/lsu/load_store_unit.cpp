#include "common/tinygpu/engines/lsu/load_store_unit.h"

namespace tinygpu {
namespace {

uint32_t latency(const Warp& w, CostClass c) { return uint32_t(w.spec().costs[size_t(c)].latency); }

}  // namespace

LoadStoreUnit::LoadStoreUnit(const Warp& w)
    : timing(w.timing().memory),
      free_loads(w.spec().free.loads),
      shared_latency(latency(w, CostClass::shared_load)),
      shared_atomic_latency(latency(w, CostClass::shared_atomic)),
      global_latency(latency(w, CostClass::global_load)),
      global_atomic_latency(latency(w, CostClass::global_atomic)),
      constant_latency(latency(w, CostClass::constant_load)) {}

uint64_t LoadStoreUnit::shared(Warp& w, const SharedCost& cost) { return shared_inline(w, cost); }

uint8_t* LoadStoreUnit::global_bytes(Warp& w, uint64_t address, uint64_t length) {
  const GlobalMemory& memory = w.gpu().memory;
  if (epoch_ != memory.epoch()) {
    epoch_ = memory.epoch();
    for (auto& window : windows_) window = {};
  }
  const Window* hit = nullptr;
  for (const auto& window : windows_)
    if (inside(window.base, window.size, address, length)) hit = &window;
  if (!hit) {
    const Allocation* found = memory.find(address);
    if (!found || !inside(found->base, found->size, address, length)) return nullptr;
    Window& oldest = windows_[next_++ % 4];
    oldest = {found->base, found->size, found->host, host_writes(*found)};
    hit = &oldest;
  }
  if (hit->host_writes) ++w.partition().progress;
  return hit->host + (address - hit->base);
}

}  // namespace tinygpu
