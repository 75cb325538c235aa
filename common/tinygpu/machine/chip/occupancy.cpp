#include "common/tinygpu/machine/chip/occupancy.h"

#include <algorithm>

namespace tinygpu {

namespace {

struct Need {
  uint64_t warps, used, shared, registers;
};
Need need_of(const MachineSpec& spec, const Function& f, uint32_t threads, uint32_t dynamic_shared) {
  const uint64_t warps = (uint64_t(threads) + 31) / 32;
  // Shared memory is handed out in units of 128 bytes, registers per warp in units of 256 (CUDA occupancy rules).
  const uint64_t used = uint64_t(f.static_shared) + dynamic_shared;
  return {warps, used, (used + spec.reserved_shared_per_block + 127) / 128 * 128,
          (uint64_t(f.registers_per_thread) * 32 + 255) / 256 * 256 * warps};
}

uint32_t clamped(uint64_t n) { return uint32_t(std::min<uint64_t>(n, ~0u)); }

}  // namespace

CtaResources whole_sm(const MachineSpec& spec) {
  return {spec.max_blocks_per_sm, clamped(uint64_t(spec.max_warps_per_sm)), clamped(uint64_t(spec.shared_per_sm)),
          clamped(uint64_t(spec.registers_per_sm))};
}

CtaResources share_of(const MachineSpec& spec, const Function& f, uint32_t threads, uint32_t dynamic_shared) {
  const Need need = need_of(spec, f, threads, dynamic_shared);
  return {1, clamped(need.warps), clamped(need.shared), clamped(need.registers)};
}

Occupancy occupancy(const MachineSpec& spec, const Function& f, uint32_t threads, uint32_t dynamic_shared) {
  Occupancy o;
  const auto [warps, used, shared, registers] = need_of(spec, f, threads, dynamic_shared);
  o.shared_bytes = clamped(shared);
  o.blocks_per_sm = spec.max_blocks_per_sm;
  o.limit = "blocks";
  auto limit = [&](uint64_t n, const char* why) {
    if (n < o.blocks_per_sm) {
      o.blocks_per_sm = uint32_t(n);
      o.limit = why;
    }
  };
  if (warps) limit(spec.max_warps_per_sm / warps, "warps");
  limit(shared ? spec.shared_per_sm / shared : ~uint64_t(0), "shared memory");
  if (registers) limit(spec.registers_per_sm / registers, "registers");
  if (threads > spec.max_threads_per_block) limit(0, "threads");
  if (used > spec.shared_per_block_optin) limit(0, "shared memory");
  return o;
}

uint32_t carveout(const Occupancy& fit) {
  const uint64_t used = uint64_t(fit.blocks_per_sm) * fit.shared_bytes;
  for (const uint32_t kib : {0u, 8u, 16u, 32u, 64u, 100u, 132u, 164u, 196u, 228u})
    if (used <= kib * 1024u) return kib * 1024u;
  return ~0u;
}

uint32_t l1_bytes(uint32_t unified, const Occupancy& fit) { return unified - std::min(unified, carveout(fit)); }

}  // namespace tinygpu
