// tcgen05.commit and tcgen05.fence (PTX ISA 9.7.16.11, 9.7.16.12): when asynchronous tensor-core work is done.
#include <fmt/format.h>

#include "common/tinygpu/engines/mma/tensor_core.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/tcgen05.h"

namespace tinygpu::isa {
namespace {

struct CommitDetails {
  uint8_t cta_group;
  bool wide;  // the address has 64 bits
  bool multicast;
};

/// One arrival at `offset` of the CTA with that rank. The cluster outlives its CTAs' work, not its CTAs.
void arrive(Cluster& cluster, uint32_t rank, uint32_t offset, uint64_t now, const Origin& who) {
  Cta* cta = cluster.cta(rank);
  if (!cta || cta->exited)
    who.fault(FaultKind::launch_failure, "commit-target-exited",
              fmt::format("tcgen05.commit arrives at shared offset {:#x} of CTA {} of the cluster, which {}.", offset,
                          rank, cta ? "has exited" : "does not exist"),
              "Name only CTAs of the cluster, and keep them alive (barrier.cluster) until the commit has arrived.");
  mbarrier_arrive(*cta, offset, 1, now, who);
}

void commit(Warp& w, const Op& op) {
  const CommitDetails details = op.get<CommitDetails>();
  const bool wide = details.wide;
  for_lanes(w.exec(), [&](int lane) {
    const Origin who = origin_of(w, lane);
    tmem_check_cta_group(w.cta(), details.cta_group, who);
    const uint64_t address = word_at(w, op.a, wide, lane) + uint64_t(op.imm);
    const uint32_t shared = to_shared(w, wide ? address : uint32_t(address), wide, lane, "tcgen05.commit's mbarrier");
    uint32_t offset = 0;
    const Cta& owner = shared_owner(w, shared, offset, lane, "arrival");
    uint32_t ranks = 1u << owner.rank;
    if (details.multicast) {
      ranks = w.at<uint16_t>(op.b)[lane];
      if (ranks >> w.cluster().ctas.size())
        w.fault(FaultKind::launch_failure, "commit-mask",
                fmt::format("tcgen05.commit's CTA mask is {:#x}; the cluster has {} CTA{}.", ranks,
                            w.cluster().ctas.size(), w.cluster().ctas.size() == 1 ? "" : "s"),
                "Set only bits of CTA ranks that exist; for a pair 3 << (rank & ~1).", lane);
    }
    Cluster* cluster = &w.cluster();
    TensorCore::of(w.cta(), details.cta_group)
        .commit(w.partition(), who, details.cta_group, w.time(), w.timing().mma.value().commit_arrive,
                [cluster, ranks, offset](uint64_t now, const Origin& who) {
                  for_lanes(ranks, [&](int rank) { arrive(*cluster, uint32_t(rank), offset, now, who); });
                });
  });
}

void decode_commit(Decoder& d, Op& op) {
  finish(d, op, commit, CostClass::async_issue);
  CommitDetails& details = op.edit<CommitDetails>();
  details.cta_group = cta_group_of(d);
  // A .shared::cluster address may come in a 64-bit register; without the state space the address is generic.
  details.wide = decode_base(d, op, d.operand("mbarrier"));
  if (const ptx::Operand* mask = d.find("mask")) {
    details.multicast = true;
    op.b = d.src(*mask, ptx::Type::b16);
  }
}

/// Both fences order issue, and this machine issues a thread's instructions in order: there is nothing to do but take
/// time, and to tell observers.
struct FenceDetails {
  bool after;  // after_thread_sync
};
void fence(Warp& w, const Op& op) { tell(w, Sync::Kind::tcgen05_fence, op.get<FenceDetails>().after); }

void decode_fence(Decoder& d, Op& op) {
  op.fn = fence;
  op.set(FenceDetails{d.inst->has("after_thread_sync")});
  op.cost = CostClass::fence;
}

constexpr Entry kTcgen05CommitTable[] = {
    {Opcode::tcgen05_commit, decode_commit},
    {Opcode::tcgen05_fence, decode_fence},
};

}  // namespace

Table tcgen05_commit_table() { return {kTcgen05CommitTable}; }

}  // namespace tinygpu::isa
