// clusterlaunchcontrol.* (PTX ISA 9.7.13.17): claims a cluster of the grid that has not been launched, asynchronously.
#include <fmt/format.h>

#include "common/tinygpu/engines/tma/bulk_engine.h"
#include "common/tinygpu/isa/address_list.h"
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

namespace {

/// Kept with a CTA that has received a refusal.
struct Refused final : Extension {};

struct CancelDetails {
  bool all;  // .multicast::cluster::all: every CTA of the cluster gets the answer
};

constexpr uint32_t kResponseBytes = 16;

void exec_try_cancel(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const char* verb = "clusterlaunchcontrol.try_cancel";
    uint32_t response = 0, signal = 0;
    Cta& owner = shared_owner(w, shared_address_at(w, op.list, lane, verb), response, lane, verb);
    Cta& signalled = shared_owner(w, shared_address_at(w, op.list + kAddressWords, lane, verb), signal, lane, verb);
    if (&owner != &w.cta() || &signalled != &w.cta())
      w.fault(FaultKind::illegal_address, "shared-window", fmt::format("{} with an address in another CTA", verb),
              "both operands are .shared::cta; use .multicast::cluster::all to answer every CTA", lane);
    if (response % kResponseBytes)
      w.fault(FaultKind::misaligned_address, "misaligned-address",
              fmt::format("the response of {} at shared offset {:#x} is not aligned to 16 bytes", verb, response),
              "align the response buffer to 16 bytes", lane);
    if (!owner.shared_at(response, kResponseBytes))
      w.fault(FaultKind::illegal_address, "shared-out-of-bounds",
              fmt::format("the response of {} at shared offset {:#x}", verb, response),
              "pass the address of a 16-byte shared buffer", lane);
    if (w.cta().extensions.find<Refused>())
      w.report(Severity::warning, "clc-after-failure", "a cancel request after an earlier one of this CTA was refused",
               "request no more when query_cancel.is_canceled has returned false: the manual leaves later requests "
               "undefined",
               lane);
    SmPartition& partition = w.partition();
    Origin who = origin_of(w, lane);
    Cluster* const cluster = &w.cluster();
    const uint32_t rank = w.cta().rank;
    const bool all = op.get<CancelDetails>().all;
    const ToldOperation told = tell_issue(
        partition, AsyncOperation::Kind::cancel, who, w.sm().index, w.time(), kResponseBytes, [&](AsyncOperation& o) {
          for (const auto& cta : cluster->ctas)
            if (all || cta->rank == rank)
              o.shared_uses.push_back({cta.get(), true, {{response, kResponseBytes, -1}}, cta.get(), signal});
        });
    // The grid's remaining clusters belong to all partitions, so the claim itself is made in the serial phase.
    BulkEngine::in_serial(
        partition, w.time() + w.timing().launch.cancel, partition.events.new_channel(), who,
        [=, &partition, issued = w.time()](uint64_t now) {
          Dim3 first;
          const bool claimed = who.launch->dispatcher.take(first);
          const uint32_t words[4] = {claimed ? first.x : 0, claimed ? first.y | first.z << 16 : 0, claimed, 0};
          std::vector<Cta*> answered;
          for (const auto& cta : cluster->ctas)
            if ((all || cta->rank == rank) && !cta->exited) answered.push_back(cta.get());
          for (Cta* cta : answered) {
            std::memcpy(cta->shared_at(response, kResponseBytes), words, kResponseBytes);
            tell_operation(partition, AccessKind::write, Proxy::async, who, cta, now, response, kResponseBytes);
          }
          tell_complete(partition, told, issued, now);
          for (Cta* cta : answered) {
            if (!claimed) cta->extensions.get<Refused>();
            mbarrier_complete_tx(*cta, signal, kResponseBytes, now, who);
          }
        });
  });
}

void exec_is_canceled(Warp& w, const Op& op) {
  const U128* q = w.at<U128>(op.a);
  each_pred(w, op.dst, [&](int i) { return q[i].hi & 1; });
}

/// op.imm selects x, y or z.
uint32_t coordinate(const U128& q, int64_t which) {
  if (which == 0) return uint32_t(q.lo);
  return which == 1 ? uint32_t(q.lo >> 32 & 0xffff) : uint32_t(q.lo >> 48);
}

void exec_first_ctaid(Warp& w, const Op& op) {
  const U128* q = w.at<U128>(op.a);
  each_lane<uint32_t>(w, op.dst, [&](int i) { return coordinate(q[i], op.imm); });
}

void exec_first_ctaid_vector(Warp& w, const Op& op) {
  const U128* q = w.at<U128>(op.a);
  for (uint32_t k = 0; k < op.list_size; ++k)
    if (op.list[k] != kNoSlot)
      each_lane<uint32_t>(w, op.list[k], [&](int i) { return k < 3 ? coordinate(q[i], k) : 0u; });
}

// ---- decoding

void decode_try_cancel(Decoder& d, Op& op) {
  d.set_list(op, addresses(d, {&d.operand("response"), &d.operand("mbarrier")}));
  op.set(CancelDetails{d.inst->has("multicast::cluster::all")});
  finish(d, op, exec_try_cancel, CostClass::async_issue);
}

void decode_query_cancel(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  op.a = d.src(d.operand("response"), ptx::Type::b128);
  if (i.has("is_canceled")) {
    op.dst = d.dst(d.operand("canceled"));
    op.fn = exec_is_canceled;
    return;
  }
  if (i.has("get_first_ctaid")) {
    OperandList list;
    add_destinations(d, d.operand("ctaid"), list);
    d.set_list(op, list);
    op.fn = exec_first_ctaid_vector;
    return;
  }
  op.imm = i.has("get_first_ctaid::x") ? 0 : i.has("get_first_ctaid::y") ? 1 : 2;
  op.dst = d.dst(d.operand("ctaid"));
  op.fn = exec_first_ctaid;
}

constexpr Entry kLaunchControlTable[] = {
    {Opcode::clusterlaunchcontrol_try_cancel, decode_try_cancel},
    {Opcode::clusterlaunchcontrol_query_cancel, decode_query_cancel},
};

}  // namespace

Table launch_control_table() { return {kLaunchControlTable}; }

}  // namespace tinygpu::isa
