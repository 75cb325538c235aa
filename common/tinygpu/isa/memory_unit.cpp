#include "common/tinygpu/isa/memory_unit.h"

namespace tinygpu::isa {
namespace {

uint32_t latency(const Warp& w, CostClass c) { return uint32_t(w.spec().costs[size_t(c)].latency); }

}  // namespace

MemoryUnit::MemoryUnit(const Warp& w)
    : timing(w.timing().memory),
      shared_latency(latency(w, CostClass::shared_load)),
      shared_atomic_latency(latency(w, CostClass::shared_atomic)),
      global_latency(latency(w, CostClass::global_load)),
      global_atomic_latency(latency(w, CostClass::global_atomic)),
      constant_latency(latency(w, CostClass::constant_load)) {}

uint64_t Turn::shared(Warp& w, MemoryUnit& unit, const SharedCharge& charge) { return shared_here(w, unit, charge); }

uint8_t* global_bytes(Warp& w, uint64_t address, uint64_t length) {
  MemoryUnit& unit = memory_unit(w);
  const GlobalMemory& memory = w.gpu().memory;
  if (unit.epoch != memory.epoch()) {
    unit.epoch = memory.epoch();
    for (auto& r : unit.recent) r = {};
  }
  const MemoryUnit::Window* hit = nullptr;
  for (const auto& r : unit.recent)
    if (inside(r.base, r.size, address, length)) hit = &r;
  if (!hit) {
    const Allocation* found = memory.find(address);
    if (!found || !inside(found->base, found->size, address, length)) return nullptr;
    MemoryUnit::Window& oldest = unit.recent[unit.next++ % 4];
    oldest = {found->base, found->size, found->host, host_writes(*found)};
    hit = &oldest;
  }
  if (hit->host_writes) ++w.partition().progress;
  return hit->host + (address - hit->base);
}

}  // namespace tinygpu::isa
