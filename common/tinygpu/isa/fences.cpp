// fence, membar and their proxy forms (PTX ISA 9.7.13.4). In the model every access of a partition happens in program
// order and strong global accesses meet in the serial phase, so a fence moves nothing: it costs time (fence_wait.h).
// TMA checks that a tensor map was acquired; observers see every fence.
#include "common/tinygpu/engines/tma/bulk_engine.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/machine/memory/fence_wait.h"

namespace tinygpu::isa {

namespace {

/// How far a fence's effect reaches.
enum Reach : uint8_t { kCta, kCluster, kGpu, kSystem };

struct FenceDetails {
  Reach reach;
  bool wide;        // of a tensor map's address: 64 bits
  uint64_t spaces;  // of fence.proxy.async: as Sync::proxy_fence has them
};

/// A CTA's fence waits for nothing that leaves the SM; wider ones wait until earlier stores have reached L2, and those
/// of the GPU and the system for the SM's loads. The cluster's is the GPU's in the code of ptxas; that it waits for
/// loads, too, was not measured.
void memory_fence(Warp& w, Reach reach) {
  const FenceTiming& t = w.timing().fences;
  if (reach == kCta) return w.charge(t.cta);
  w.sm().l1.empty();
  w.charge(fence_wait(w, reach == kSystem ? t.system : t.gpu, reach != kCluster));
}

void fence(Warp& w, const Op& op) {
  memory_fence(w, op.get<FenceDetails>().reach);
  tell(w, Sync::Kind::fence);
}

/// fence.proxy.async and its one-directional forms: generic and async proxy of shared or global memory. In the code of
/// ptxas one of shared::cluster has a fence of the GPU before it.
void proxy_async(Warp& w, const Op& op) {
  const FenceDetails& details = op.get<FenceDetails>();
  if (details.reach == kCluster) memory_fence(w, kCluster);
  w.charge(details.reach == kGpu ? fence_wait(w, w.timing().fences.proxy)
                                 : w.spec().costs[size_t(CostClass::fence)].latency);
  tell(w, Sync::Kind::proxy_fence, details.spaces);
}

/// fence.proxy.alias: virtual aliases of one location, which the model keeps as one location.
void proxy_alias(Warp& w, const Op&) { memory_fence(w, kGpu); }

/// fence.proxy.tensormap::generic.release / .acquire [map], 128: descriptor writes against TMA's reads of them.
void proxy_tensormap(Warp& w, const Op& op) {
  memory_fence(w, op.get<FenceDetails>().reach);
  if (op.a == kNoSlot) return;
  for_lanes(w.exec(), [&](int i) {
    BulkEngine::of(w).map_acquired(word_at(w, op.a, op.get<FenceDetails>().wide, i) + uint64_t(op.imm));
  });
}

/// fence.mbarrier_init.release.cluster (earlier mbarrier.init of this thread, towards the cluster) and
/// fence.{acquire,release}.sync_restrict (synchronisation objects in shared memory): no instruction in the code of
/// ptxas.
void ordered_anyway(Warp& w, const Op&) { tell(w, Sync::Kind::fence); }

Reach reach_of(const ptx::Instruction& inst) {
  if (inst.has("cta")) return kCta;
  if (inst.has("cluster")) return kCluster;
  if (inst.has("gpu") || inst.has("gl")) return kGpu;
  return kSystem;
}

bool restricted(const ptx::Instruction& inst) { return !inst.after("sync_restrict::").empty(); }

/// Fences that wait for stores need their turn: see fence_wait.
void decode_as(Decoder& d, Op& op, ExecFn fn, Reach reach) {
  op.edit<FenceDetails>().reach = reach;
  if (reach != kCta) op.flags |= Op::serial;
  finish(d, op, fn, CostClass::fence);
}

void decode_fence(Decoder& d, Op& op) {
  if (restricted(*d.inst)) return finish(d, op, ordered_anyway, CostClass::fence);
  decode_as(d, op, fence, reach_of(*d.inst));
}

void decode_proxy(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  if (i.has("alias")) return decode_as(d, op, proxy_alias, kGpu);
  if (i.has("async") || i.has("async::generic")) {
    const bool shared = restricted(i) || i.has("shared::cta"), cluster = i.has("shared::cluster");
    op.edit<FenceDetails>().spaces =
        (i.has("global") ? 0 : Sync::kSharedMemory) | (shared || cluster ? 0 : Sync::kGlobalMemory);
    return decode_as(d, op, proxy_async, shared ? kCta : cluster ? kCluster : kGpu);
  }
  if (!i.has("tensormap::generic")) d.not_modelled();
  decode_as(d, op, proxy_tensormap, reach_of(i));
  if (!d.find("map")) return;
  op.edit<FenceDetails>().wide = decode_base(d, op, d.operand("map"));
}

void decode_mbarrier_init(Decoder& d, Op& op) { finish(d, op, ordered_anyway, CostClass::fence); }

constexpr Entry kFencesTable[] = {
    {Opcode::fence, decode_fence},
    {Opcode::fence_proxy, decode_proxy},
    {Opcode::fence_mbarrier_init, decode_mbarrier_init},
    {Opcode::membar, decode_fence},
    {Opcode::membar_proxy, decode_proxy},
};

}  // namespace

Table fences_table() { return {kFencesTable}; }

}  // namespace tinygpu::isa
