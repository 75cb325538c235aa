// What the bulk copies of bulk_copy.cpp and tensor_copy.cpp share: destinations, their mbarriers, reductions.
#pragma once
#include <fmt/format.h>

#include <string_view>

#include "common/tinygpu/engines/tma/bulk_engine.h"
#include "common/tinygpu/isa/address_list.h"

namespace tinygpu::isa {

/// What the bulk copies, st.async and red.async say besides their operands.
struct BulkDetails {
  bool multicast;
  bool pair;  // .cta_group::2
  bool reduces;
  ReduceOperation operation;
  ReduceType type;
  const ReduceOperation* reduction() const { return reduces ? &operation : nullptr; }
};
inline const BulkDetails& bulk(const Op& op) { return op.get<BulkDetails>(); }

inline ReduceOperation reduce_operation(const ptx::Instruction& i) {
  constexpr std::string_view names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  for (size_t k = 0; k < std::size(names); ++k)
    if (i.has(names[k])) return ReduceOperation(k);
  throw NotModelled("a reduction without an operation");
}

inline ReduceType reduce_type(ptx::Type t) {
  switch (t) {
    case ptx::Type::u32:
    case ptx::Type::b32: return ReduceType::u32;
    case ptx::Type::s32: return ReduceType::s32;
    case ptx::Type::u64:
    case ptx::Type::b64: return ReduceType::u64;
    case ptx::Type::s64: return ReduceType::s64;
    case ptx::Type::f16: return ReduceType::f16;
    case ptx::Type::bf16: return ReduceType::bf16;
    case ptx::Type::f32: return ReduceType::f32;
    case ptx::Type::f64: return ReduceType::f64;
    default: throw NotModelled("a reduction of this type");
  }
}

inline void set_reduction(Op& op, ReduceOperation operation, ReduceType type) {
  BulkDetails& details = op.edit<BulkDetails>();
  details.reduces = true;
  details.operation = operation;
  details.type = type;
}

/// The mbarrier that `what` into `owner` is to signal lies in another CTA. An H200 takes the address's offset, in the
/// destination's CTA.
inline void report_elsewhere(Warp& w, int lane, const char* what, const Cta& owner, const Cta& signalled) {
  w.report(Severity::warning, "bulk-mbarrier-elsewhere",
           fmt::format("{} into CTA rank {} that signals an mbarrier of CTA rank {}: hardware signals the mbarrier at "
                       "that offset in CTA rank {}",
                       what, owner.rank, signalled.rank, owner.rank),
           "the mbarrier must be in the destination's CTA: make both addresses with one rank", lane);
}

/// Where one lane's load lands and which mbarrier each landing signals (PTX ISA 9.7.9.25.4.1, 9.7.9.27.1.2): `to` and
/// `mbarrier` are shared::cluster addresses. Multicast goes to the same offsets in every CTA of `mask`; .cta_group::2
/// lets the signal go to the CTA of the destination's pair whose rank has the parity of the given mbarrier's.
inline std::vector<BulkEngine::Landing> landings_of(Warp& w, const Op& op, int lane, uint32_t to, uint32_t mbarrier,
                                                    uint32_t mask) {
  uint32_t offset = 0, signal_offset = 0;
  Cta& owner = shared_owner(w, to, offset, lane, "a bulk copy's destination");
  Cta& signalled = shared_owner(w, mbarrier, signal_offset, lane, "a bulk copy's mbarrier");
  if (offset % 16)
    w.fault(FaultKind::misaligned_address, "bulk-misaligned",
            fmt::format("a bulk copy to shared offset {:#x}, which is not a multiple of 16", offset),
            "align the buffer to 128 bytes (1024 for a 128-byte swizzle whose phase should start at 0)", lane);
  const bool pair = bulk(op).pair;
  if (!bulk(op).multicast) {
    if (pair && &owner != &signalled && (owner.rank ^ signalled.rank) != 1)
      w.fault(FaultKind::launch_failure, "bulk-mbarrier-elsewhere",
              fmt::format("a bulk copy into CTA rank {} that signals an mbarrier of CTA rank {}", owner.rank,
                          signalled.rank),
              "the mbarrier must be in the destination's CTA or, with .cta_group::2, in its pair", lane);
    if (!pair && &owner != &signalled) report_elsewhere(w, lane, "a bulk copy", owner, signalled);
    return {{&owner, offset, {pair ? &signalled : &owner, signal_offset}}};
  }
  std::vector<BulkEngine::Landing> out;
  const uint32_t ctas = uint32_t(w.cluster().ctas.size());
  if (mask >> ctas)
    w.fault(FaultKind::launch_failure, "multicast-mask-wrong",
            fmt::format("a multicast mask of {:#x} in a cluster of {} CTAs", mask, ctas),
            "bit i names the CTA with %cluster_ctarank i; set only bits below %cluster_nctarank", lane);
  if (!mask)
    w.report(Severity::warning, "multicast-mask-wrong", "a multicast copy to no CTA at all",
             "bit i of the mask names the CTA with %cluster_ctarank i", lane);
  for (uint32_t rank = 0; rank < ctas; ++rank) {
    if (!(mask >> rank & 1)) continue;
    uint32_t unused;
    Cta& destination = shared_owner(w, rank << 24 | offset, unused, lane, "a multicast copy");
    Cta* signal = &destination;
    if (pair)
      signal =
          &shared_owner(w, ((rank & ~1u) | (signalled.rank & 1)) << 24, unused, lane, "a multicast copy's mbarrier");
    out.push_back({&destination, offset, {signal, signal_offset}});
  }
  return out;
}

/// Calls `copy(lanes)` for every store to global memory that the executing lanes make. Lanes with the same operands
/// make one together: ptxas lets a value of R2UR serve all lanes that have it, and stores write the same bytes to the
/// same place as often as one likes. Reductions do not, each lane makes its own (ptxas has them behind ELECT, as
/// loads).
template <class Same, class Copy>
void for_stores(uint32_t lanes, bool reduces, Same&& same, Copy&& copy) {
  while (lanes) {
    const uint32_t others = lanes & (lanes - 1), first = lanes ^ others;
    uint32_t together = first;
    if (!reduces)
      for_lanes(others, [&](int i) {
        if (same(__builtin_ctz(first), i)) together |= 1u << i;
      });
    copy(together);
    lanes &= ~together;
  }
}

/// The lines that `add` names come into L2.
template <class Add>
void prefetch_lines(Warp& w, int lane, Add&& add) {
  MemoryRequests& memory = w.partition().memory;
  add(memory);
  if (w.told(Observer::traffic)) memory.tell_missed(origin_of(w, lane));
  memory.ask(MemoryRequests::Kind::read, w.sm(), w.time(), {});
}

/// A shared::cta source operand: offset in the warp's own CTA.
inline uint32_t own_offset(Warp& w, uint32_t address, int lane, const char* what) {
  uint32_t offset = 0;
  Cta& owner = shared_owner(w, address, offset, lane, what);
  if (&owner != &w.cta())
    w.fault(
        FaultKind::illegal_address, "shared-window",
        fmt::format("{} names the shared memory of CTA rank {}; this CTA has rank {}", what, owner.rank, w.cta().rank),
        "a .shared::cta source must be in the issuing thread's own CTA", lane);
  if (offset % 16)
    w.fault(FaultKind::misaligned_address, "bulk-misaligned",
            fmt::format("{} at shared offset {:#x}, which is not a multiple of 16", what, offset),
            "align the buffer to 128 bytes", lane);
  return offset;
}

}  // namespace tinygpu::isa
