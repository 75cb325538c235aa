#include "common/tinygpu/machine/memory/access.h"

#include <fmt/format.h>

#include <algorithm>

namespace tinygpu {
namespace {

[[noreturn]] void outside(Warp& w, const char* what, uint64_t offset, uint64_t size, uint32_t bytes, int lane,
                          const char* verb) {
  w.fault(FaultKind::illegal_address, "illegal-address",
          fmt::format("{} of {} bytes at {} offset {:#x}, which has {:#x} bytes", verb, bytes, what, offset, size),
          "compare the address with the size that the launch or the declaration gives this memory", lane);
}

Place shared_place(Warp& w, uint32_t address, ptx::Space space, uint32_t bytes, AccessKind kind, int lane,
                   const char* verb) {
  const uint32_t rank = address >> 24;
  // An H200 says so of a rank that its cluster lacks, too, as of an address below 0.
  if (rank != w.cta().rank && (space == ptx::Space::shared || space == ptx::Space::shared_cta))
    w.fault(
        FaultKind::illegal_instruction, "shared-window",
        fmt::format("{} through .shared{} at {:#x}, which names the shared memory of CTA rank {}; this CTA has rank {}",
                    verb, space == ptx::Space::shared_cta ? "::cta" : "", address, rank, w.cta().rank),
        rank < w.cluster().ctas.size() ? "use .shared::cluster (or a generic address) for another CTA's shared memory"
                                       : "compare the index with the array's bounds: is it negative?",
        lane);
  uint32_t offset;
  Cta& owner = shared_owner(w, address, offset, lane, verb, kind == AccessKind::write);
  uint8_t* host = owner.shared_at(offset, bytes);
  if (!host) outside(w, "shared memory", offset, owner.shared.size(), bytes, lane, verb);
  return {ptx::Space::shared, host, &owner, offset};
}

}  // namespace

Cta& shared_owner(Warp& w, uint32_t address, uint32_t& offset, int lane, const char* verb, bool plain_store) {
  offset = address & 0xffffff;
  const uint32_t rank = address >> 24;
  if (rank == w.cta().rank) return w.cta();
  Cta* owner = w.cluster().cta(rank);
  if (!owner)
    w.fault(FaultKind::launch_failure, "cluster-rank",
            fmt::format("{} at shared address {:#x} names CTA rank {}, but the cluster has {} CTAs", verb, address,
                        rank, w.cluster().ctas.size()),
            "make the address with mapa from a rank below %cluster_nctarank", lane);
  if (owner->exited) {
    std::string message = fmt::format("{} in the shared memory of CTA rank {}, which has exited", verb, rank);
    const char* help =
        "end with barrier.cluster.arrive and .wait so that no CTA exits while other CTAs still access its shared "
        "memory";
    if (!plain_store) w.fault(FaultKind::launch_failure, "exit-with-remote-access", std::move(message), help, lane);
    // An H200 reports 719 when the storing CTA lives on, and mostly nothing when it ends: its bytes are lost.
    w.report(Severity::warning, "exit-with-remote-access", std::move(message), help, lane);
  }
  return *owner;
}

uint32_t to_shared(Warp& w, uint64_t address, bool wide, int lane, const char* what) {
  if (!wide || address < (1ull << 32)) return uint32_t(address);
  if (address - kSharedWindow >= kWindowSize)
    w.fault(FaultKind::illegal_instruction, "not-shared",
            fmt::format("{}: generic address {:#x} is not in shared memory", what, address),
            "pass a shared address (cvta.to.shared) or a generic address of a __shared__ object", lane);
  return uint32_t(address - kSharedWindow);
}

Place locate(Warp& w, ptx::Space space, uint64_t address, uint32_t bytes, uint32_t align, AccessKind kind, int lane,
             const char* verb) {
  using ptx::Space;
  if (align > 1 && (address & (align - 1)))
    w.fault(FaultKind::misaligned_address, "misaligned-address",
            fmt::format("{} of {} bytes at {:#x}, which is not a multiple of {}", verb, bytes, address, align),
            "align the pointer, or use a narrower access", lane);
  switch (space) {
    case Space::shared:
    case Space::shared_cta:
    case Space::shared_cluster: return shared_place(w, uint32_t(address), space, bytes, kind, lane, verb);
    case Space::local: return {Space::local, w.local(uint32_t(lane), uint32_t(address), bytes), nullptr, address};
    case Space::param:
    case Space::param_entry: {
      auto& params = const_cast<std::vector<uint8_t>&>(w.partition().launch.config.params);
      if (!inside(0, params.size(), address, bytes))
        outside(w, "the kernel's parameters", address, params.size(), bytes, lane, verb);
      return {Space::param, params.data() + address, nullptr, address};
    }
    default: break;
  }
  if (space == Space::generic) {
    if (address - kSharedWindow < kWindowSize)
      return shared_place(w, uint32_t(address - kSharedWindow), Space::shared_cluster, bytes, kind, lane, verb);
    if (address - kLocalWindow < kWindowSize)
      return {Space::local, w.local(uint32_t(lane), uint32_t(address - kLocalWindow), bytes), nullptr,
              address - kLocalWindow};
    if (address - kParamWindow < kWindowSize)
      return locate(w, Space::param, address - kParamWindow, bytes, 1, kind, lane, verb);
  }
  const GlobalMemory& memory = w.gpu().memory;
  const Allocation* a = memory.find(address);
  if (!a || !inside(a->base, a->size, address, bytes)) {
    if (uint8_t* behind = w.gpu().allocation_blocks.behind(memory, address, bytes)) {
      w.report(
          Severity::warning, "illegal-address",
          fmt::format("{} of {} bytes at global address {:#x}: {}. The allocator gives blocks of {} bytes, so these "
                      "belong to nobody else, and a GPU shows nothing; that is not promised",
                      verb, bytes, address, memory.describe(address), w.gpu().allocation_blocks.bytes()),
          "check the index against the allocation", lane);
      return {Space::global, behind, nullptr, address};
    }
    w.fault(FaultKind::illegal_address, "illegal-address",
            fmt::format("{} of {} bytes at global address {:#x}: {}", verb, bytes, address, memory.describe(address)),
            "check the index against the allocation; a host pointer that was never registered is not a device pointer",
            lane);
  }
  if (host_writes(*a)) ++w.partition().progress;
  return {Space::global, a->host + (address - a->base), nullptr, address};
}

}  // namespace tinygpu
