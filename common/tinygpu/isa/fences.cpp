// fence, membar and their proxy forms (PTX ISA 9.7.13.4). In the model every access of a partition happens in program
// order and strong global accesses meet in the serial phase, so a fence moves nothing: it costs time (fence_wait.h).
// TMA checks that a tensor map was acquired; observers are told of every fence.
#include "common/tinygpu/engines/tma/bulk_engine.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/machine/memory/fence_wait.h"

namespace tinygpu::isa {

namespace {

/// What a fence orders, by how far its effect reaches.
enum Reach : uint8_t { kCta, kCluster, kGpu, kSystem };

struct AsyncDetails {
  uint64_t spaces;  // as Sync::proxy_fence has them
};
struct MapDetails {
  bool wide;  // address of 64 bits
};

/// A CTA's fence waits for nothing that leaves the SM; wider ones wait until earlier stores have reached L2, and the
/// cluster's is the GPU's in the code of ptxas.
template <Reach reach>
void memory_fence(Warp& w, const Op&) {
  const FenceTiming& t = w.timing().fences;
  if constexpr (reach == kCta) return w.charge(t.cta);
  w.sm().l1.empty();
  w.charge(fence_wait(w, reach == kSystem ? t.system : t.gpu));
}

template <Reach reach>
void fence(Warp& w, const Op& op) {
  memory_fence<reach>(w, op);
  tell(w, Sync::Kind::fence);
}

/// fence.proxy.async and its one-directional forms: generic and async proxy of shared or global memory. In the code of
/// ptxas one of shared::cluster has a fence of the GPU before it.
template <Reach reach>
void proxy_async(Warp& w, const Op& op) {
  if constexpr (reach == kCluster) memory_fence<reach>(w, op);
  if constexpr (reach == kGpu) w.charge(fence_wait(w, w.timing().fences.proxy));
  if constexpr (reach != kGpu) w.charge(w.spec().costs[size_t(CostClass::fence)].latency);
  tell(w, Sync::Kind::proxy_fence, op.get<AsyncDetails>().spaces);
}

/// fence.proxy.alias: virtual aliases of one location, which the model keeps as one location.
void proxy_alias(Warp& w, const Op& op) { memory_fence<kGpu>(w, op); }

/// fence.proxy.tensormap::generic.release / .acquire [map], 128: descriptor writes against TMA's reads of them.
template <Reach reach>
void proxy_tensormap(Warp& w, const Op& op) {
  memory_fence<reach>(w, op);
  if (op.a == kNoSlot) return;
  for_lanes(w.exec(), [&](int i) {
    const uint64_t base = op.get<MapDetails>().wide ? w.at<uint64_t>(op.a)[i] : w.at<uint32_t>(op.a)[i];
    BulkEngine::of(w).map_acquired(base + uint64_t(op.imm));
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
void decode_memory_fence(Op& op, Reach r) {
  if (r != kCta) op.flags |= Op::serial;
  switch (r) {
    case kCta: op.fn = fence<kCta>; break;
    case kCluster: op.fn = fence<kCluster>; break;
    case kGpu: op.fn = fence<kGpu>; break;
    default: op.fn = fence<kSystem>; break;
  }
}

void decode_fence(Decoder& d, Op& op) {
  op.cost = CostClass::fence;
  if (restricted(*d.inst))
    op.fn = ordered_anyway;
  else
    decode_memory_fence(op, reach_of(*d.inst));
}

void decode_membar(Decoder& d, Op& op) {
  op.cost = CostClass::fence;
  if (d.inst->has("proxy")) {
    op.fn = proxy_alias;
    op.flags |= Op::serial;
    return;
  }
  decode_memory_fence(op, d.inst->has("sys") ? kSystem : reach_of(*d.inst));
}

void decode_proxy(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  op.cost = CostClass::fence;
  Reach reach = kGpu;
  if (i.has("alias")) {
    op.fn = proxy_alias;
  } else if (i.has("async") || i.has("async::generic")) {
    const bool shared = restricted(i) || i.has("shared::cta");
    const bool global = !shared && !i.has("shared::cluster");
    op.set(AsyncDetails{(i.has("global") ? 0 : Sync::kSharedMemory) | (global ? Sync::kGlobalMemory : 0)});
    reach = shared ? kCta : i.has("shared::cluster") ? kCluster : kGpu;
    op.fn = shared ? proxy_async<kCta> : reach == kCluster ? proxy_async<kCluster> : proxy_async<kGpu>;
  } else if (i.has("tensormap::generic")) {
    reach = reach_of(i);
    switch (reach) {
      case kCta: op.fn = proxy_tensormap<kCta>; break;
      case kCluster: op.fn = proxy_tensormap<kCluster>; break;
      case kGpu: op.fn = proxy_tensormap<kGpu>; break;
      default: op.fn = proxy_tensormap<kSystem>; break;
    }
    if (d.has(0)) {
      const AddressOperand a = d.address(d.operand(0));
      op.a = a.base;
      op.imm = a.offset;
      op.set(MapDetails{a.wide});
    }
  } else {
    d.not_modelled();
  }
  if (reach != kCta) op.flags |= Op::serial;
}

void decode_mbarrier_init(Decoder&, Op& op) {
  op.cost = CostClass::fence;
  op.fn = ordered_anyway;
}

constexpr Entry kFencesTable[] = {
    {Opcode::fence, decode_fence},
    {Opcode::fence_proxy, decode_proxy},
    {Opcode::fence_mbarrier_init, decode_mbarrier_init},
    {Opcode::membar, decode_membar},
    {Opcode::membar_proxy, decode_proxy},
};

}  // namespace

Table fences_table() { return {std::begin(kFencesTable), std::end(kFencesTable)}; }

}  // namespace tinygpu::isa
