// st.async, red.async, st.bulk (PTX ISA 9.7.9.12, 9.7.13.7, 9.7.9.13): stores and reductions that land later, in
// another CTA's shared memory with a complete_tx behind them, or in global memory with release semantics.
#include <fmt/format.h>

#include "common/tinygpu/engines/remote_mbarriers.h"
#include "common/tinygpu/engines/tma/bulk_engine.h"
#include "common/tinygpu/isa/address_list.h"
#include "common/tinygpu/isa/bulk_operands.h"
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

namespace {

// Op::list: destination, mbarrier (absent for .global), then the slots of the values. Op::imm: bytes of one value.
constexpr uint32_t kDestination = 0, kMbarrier = kAddressWords, kValues = 2 * kAddressWords;

/// One lane's value, and what it does to memory.
struct Update {
  uint8_t bytes[16] = {};
  uint32_t size = 0;
  BulkDetails details;

  Update(Warp& w, const Op& op, int lane) : details(bulk(op)) {
    const uint32_t each = uint32_t(op.imm);
    for (uint32_t k = 0; kValues + k < op.list_size; ++k, size += each)
      std::memcpy(bytes + size, w.at<uint8_t>(op.list[kValues + k]) + size_t(lane) * each, each);
  }
  const char* verb() const { return details.reduces ? "red.async" : "st.async"; }
  AccessKind access() const { return details.reduces ? AccessKind::atomic : AccessKind::write; }
  void apply(uint8_t* to) const {
    if (details.reduces)
      reduce(details.operation, details.type, to, bytes, size);
    else
      std::memcpy(to, bytes, size);
  }
};

void exec_to_cluster(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const Update v(w, op, lane);
    const char* verb = v.verb();
    uint32_t offset = 0, signal = 0;
    Cta& owner = shared_owner(w, shared_address_at(w, op.list + kDestination, lane, verb), offset, lane, verb);
    Cta& signalled = shared_owner(w, shared_address_at(w, op.list + kMbarrier, lane, verb), signal, lane, verb);
    if (&owner != &signalled) report_elsewhere(w, lane, verb, owner, signalled);
    if (offset % v.size)
      w.fault(FaultKind::misaligned_address, "misaligned-address",
              fmt::format("{} of {} bytes at shared offset {:#x}", verb, v.size, offset),
              "align the destination to the access", lane);
    if (!owner.shared_at(offset, v.size))
      w.fault(FaultKind::illegal_address, "shared-out-of-bounds",
              fmt::format("{} of {} bytes at shared offset {:#x}; the CTA's shared memory ends at {:#x}", verb, v.size,
                          offset, owner.shared.size()),
              "compare the address with the buffer that the kernel declares", lane);
    Origin who = origin_of(w, lane);
    Cta* const target = &owner;
    SmPartition& partition = w.partition();
    const ToldOperation told = tell_issue(
        partition, AsyncOperation::Kind::async_store, who, w.sm().index, w.time(), v.size, [&](AsyncOperation& o) {
          o.shared_uses.push_back({target, true, {{offset, v.size, lane}}, target, signal});
        });
    partition.events.schedule(
        w.time() + w.timing().mbarrier.remote_hop, partition.events.new_channel(), who,
        [=, &partition, issued = w.time()](uint64_t now) {
          if (target->exited)
            who.fault(
                FaultKind::launch_failure, "exit-with-remote-access",
                fmt::format("this store lands in the shared memory of CTA rank {}, which has exited", target->rank),
                "end with barrier.cluster.arrive and .wait so that no CTA exits while other CTAs still access its "
                "shared memory");
          v.apply(target->shared_at(offset, v.size));
          tell_operation(partition, v.access(), Proxy::generic, who, target, now, offset, v.size);
          tell_complete(partition, told, issued, now);
          mbarrier_complete_tx(*target, signal, v.size, now, who);
        });
  });
}

void exec_to_global(Warp& w, const Op& op) {
  const uint64_t when = w.time() + w.timing().tma.visible_latency;
  for_lanes(w.exec(), [&](int lane) {
    const Update v(w, op, lane);
    const Place place = locate(w, ptx::Space::generic, address_at(w, op.list + kDestination, lane), v.size, v.size,
                               v.access(), lane, v.verb());
    if (place.space != ptx::Space::global)
      w.fault(FaultKind::invalid_address_space, "not-global", fmt::format("{}.release outside global memory", v.verb()),
              "pass a global address", lane);
    SmPartition& partition = w.partition();
    Origin who = origin_of(w, lane);
    const ToldOperation told =
        tell_issue(partition, AsyncOperation::Kind::async_store, who, w.sm().index, w.time(), v.size);
    BulkEngine::in_serial(
        partition, when, partition.events.new_channel(), who, [=, &partition, issued = w.time()](uint64_t now) {
          v.apply(place.host);
          tell_operation(partition, v.access(), Proxy::generic, who, nullptr, now, place.address, v.size);
          tell_complete(partition, told, issued, now);
        });
  });
}

void exec_bulk_fill(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const uint64_t bytes = w.at<uint64_t>(op.b)[lane];
    if (bytes % 8 || bytes > 16777216)
      w.fault(FaultKind::misaligned_address, "bulk-size", fmt::format("st.bulk of {} bytes", bytes),
              "the size is a multiple of 8, at most 16777216", lane);
    const uint32_t address = shared_address_at(w, op.list, lane, "st.bulk");
    uint32_t offset = 0;
    Cta& owner = shared_owner(w, address, offset, lane, "st.bulk");
    if (offset % 8)
      w.fault(FaultKind::misaligned_address, "misaligned-address",
              fmt::format("st.bulk at shared offset {:#x}", offset), "align the destination to 8 bytes", lane);
    if (!bytes) return;
    uint8_t* host = owner.shared_at(offset, bytes);
    if (!host)
      w.fault(FaultKind::illegal_address, "shared-out-of-bounds",
              fmt::format("st.bulk of {} bytes at shared offset {:#x}; the CTA's shared memory ends at {:#x}", bytes,
                          offset, owner.shared.size()),
              "compare the size with the buffer that the kernel declares", lane);
    tell_operation(w.partition(), AccessKind::write, Proxy::generic, origin_of(w, lane), &owner, w.time(), offset,
                   bytes);
    std::memset(host, 0, bytes);
    w.partition().made_progress();
    charge_issue(w, op, uint32_t(bytes / 128));
  });
}

// ---- decoding

void decode_async(Decoder& d, Op& op) {
  const ptx::Operand* mbarrier = d.find("mbarrier");
  OperandList list = addresses(d, {&d.operand("dst"), mbarrier});
  add_sources(d, d.operand("value"), d.inst->type(), list);
  d.set_list(op, list);
  op.imm = ptx::size_of(d.inst->type());
  finish(d, op, mbarrier ? exec_to_cluster : exec_to_global, CostClass::async_issue);
}

void decode_reduce(Decoder& d, Op& op) {
  decode_async(d, op);
  set_reduction(op, reduce_operation(*d.inst), reduce_type(d.inst->type()));
}

void decode_bulk_fill(Decoder& d, Op& op) {
  d.set_list(op, addresses(d, {&d.operand("dst")}));
  op.b = d.src(d.operand("size"), ptx::Type::u64);
  finish(d, op, exec_bulk_fill, CostClass::shared_store);
}

constexpr Entry kStAsyncTable[] = {
    {Opcode::st_async, decode_async},
    {Opcode::red_async, decode_reduce},
    {Opcode::st_bulk, decode_bulk_fill},
};

}  // namespace

Table st_async_table() { return {kStAsyncTable}; }

}  // namespace tinygpu::isa
