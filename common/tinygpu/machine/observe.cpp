#include "common/tinygpu/machine/observe.h"

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {

const char* name_of(AsyncOperation::Kind kind) {
  using Kind = AsyncOperation::Kind;
  switch (kind) {
    case Kind::bulk_load: return "cp.async.bulk load";
    case Kind::bulk_store: return "cp.async.bulk store";
    case Kind::tensor_load: return "cp.async.bulk.tensor load";
    case Kind::tensor_store: return "cp.async.bulk.tensor store";
    case Kind::mma: return "tcgen05.mma";
    case Kind::tmem_copy: return "tcgen05.cp";
    case Kind::tmem_shift: return "tcgen05.shift";
    case Kind::tmem_load: return "tcgen05.ld";
    case Kind::tmem_store: return "tcgen05.st";
    case Kind::commit: return "tcgen05.commit";
    case Kind::copies_arrive: return "cp.async.mbarrier.arrive";
    case Kind::wgmma: return "wgmma.mma_async";
    case Kind::async_copy: return "cp.async";
    case Kind::async_store: return "st.async";
    case Kind::cancel: return "clusterlaunchcontrol.try_cancel";
  }
  return "";
}

ptx::MemoryOrder Sync::order() const {
  return who && who->op ? ptx::memory_order(who->function->instruction(*who->op)) : ptx::MemoryOrder{};
}

Observers::Observers(const std::vector<Observer*>& all, const LaunchConfig& launch) {
  for (Observer* o : all) {
    all_.push_back({o, o->interests_in(launch)});
    wanted_ |= all_.back().interests;
  }
}

ToldOperation tell_issue(SmPartition& partition, AsyncOperation::Kind kind, Origin& who, uint32_t sm, uint64_t now,
                         uint64_t bytes, FunctionRef<void(AsyncOperation&)> more) {
  const Observers& observers = partition.launch.observers;
  if (!observers.want(Observer::operations)) return nullptr;
  // Unique in the launch: partitions count by themselves, so that numbers do not depend on host threads.
  who.operation = uint64_t(partition.index) << AsyncOperation::kPartitionShift | ++partition.operations;
  auto told = std::make_shared<AsyncOperation>();
  told->kind = kind;
  told->id = who.operation;
  told->who = who;
  told->sm = sm;
  told->bytes = bytes;
  told->issued = now;
  more(*told);
  observers.tell(Observer::operations, [&](Observer& o) { o.on_issue(*told); });
  return told;
}

void tell_complete(SmPartition& partition, const ToldOperation& operation, uint64_t begin, uint64_t end) {
  if (!operation || --operation->parts) return;
  operation->begin = begin;
  operation->end = end;
  partition.launch.observers.tell(Observer::operations, [&](Observer& o) { o.on_complete(*operation); });
}

void tell(const Cta& cta, Sync::Kind kind, uint32_t offset, uint64_t value, uint64_t time, const Origin* who) {
  cta.cluster.partition.launch.observers.tell(Observer::synchronisation, [&](Observer& o) {
    o.on_sync({kind, &cta, offset, value, time, who});
  });
}

void tell(const Warp& warp, Sync::Kind kind, uint64_t value) {
  if (!warp.told(Observer::synchronisation)) return;
  const Origin who = origin_of(warp);
  tell(warp.cta(), kind, 0, value, warp.time(), &who);
}

Origin MemoryAccess::who() const { return lanes ? origin_of(lanes->warp) : *operation; }

bool wanted(const SmPartition& partition, ptx::Space space) {
  return partition.launch.observers.want(space == ptx::Space::global ? Observer::global_accesses
                                                                     : Observer::shared_accesses);
}

void tell(const MemoryAccess& access) {
  access.partition.launch.observers.tell(
      access.space == ptx::Space::global ? Observer::global_accesses : Observer::shared_accesses,
      [&](Observer& o) { o.on_access(access); });
}

void tell(const TmemAccess& access) {
  access.partition.launch.observers.tell(Observer::tensor_accesses, [&](Observer& o) { o.on_tensor_access(access); });
}

void tell(const TmemAllocation& allocation) {
  allocation.partition.launch.observers.tell(Observer::tensor_allocations,
                                             [&](Observer& o) { o.on_tensor_allocation(allocation); });
}

void tell(const MemoryTraffic& traffic) {
  traffic.partition.launch.observers.tell(Observer::traffic, [&](Observer& o) { o.on_traffic(traffic); });
}

}  // namespace tinygpu
