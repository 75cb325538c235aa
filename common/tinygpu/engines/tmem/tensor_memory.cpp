#include "common/tinygpu/engines/tmem/tensor_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tinygpu {
namespace {

/// Bits of the lanes [lane, lane+lanes) that fall into partition p.
uint32_t partition_bits(uint32_t lane, uint32_t lanes, uint32_t p) {
  const uint32_t low = std::max(lane, p * 32), high = std::min(lane + lanes, p * 32 + 32);
  if (low >= high) return 0;
  return uint32_t(((uint64_t(1) << (high - low)) - 1) << (low - p * 32));
}

}  // namespace

TensorMemory::TensorMemory() : storage_(new uint32_t[kTmemLanes * kTmemColumns + 16]) {
  const auto raw = reinterpret_cast<uintptr_t>(storage_.get());
  cells_ = reinterpret_cast<uint32_t*>((raw + 63) & ~uintptr_t(63));
  for (uint32_t c = 0; c < kTmemColumns; ++c)
    for (uint32_t l = 0; l < kTmemLanes; ++l) cells_[c * kTmemLanes + l] = tmem_poison(l, c);
}

TensorMemory::~TensorMemory() = default;

// 8x8 blocks keep both sides of the transposition in cache lines.
void TensorMemory::read_rows(const TmemRect& rect, uint32_t* out, size_t stride) const {
  const uint32_t* base = cells_ + rect.column * kTmemLanes + rect.lane;
  for (uint32_t i = 0; i < rect.lanes; i += 8)
    for (uint32_t j = 0; j < rect.columns; j += 8) {
      const uint32_t ni = std::min(8u, rect.lanes - i), nj = std::min(8u, rect.columns - j);
      for (uint32_t a = 0; a < ni; ++a)
        for (uint32_t b = 0; b < nj; ++b) out[(i + a) * stride + j + b] = base[(j + b) * kTmemLanes + i + a];
    }
}

void TensorMemory::write_rows(const TmemRect& rect, const uint32_t* in, size_t stride) {
  uint32_t* base = cells_ + rect.column * kTmemLanes + rect.lane;
  for (uint32_t i = 0; i < rect.lanes; i += 8)
    for (uint32_t j = 0; j < rect.columns; j += 8) {
      const uint32_t ni = std::min(8u, rect.lanes - i), nj = std::min(8u, rect.columns - j);
      for (uint32_t b = 0; b < nj; ++b)
        for (uint32_t a = 0; a < ni; ++a) base[(j + b) * kTmemLanes + i + a] = in[(i + a) * stride + j + b];
    }
  mark_written(rect);
}

void TensorMemory::mark_written(const TmemRect& rect) {
  // MMAs of a tile write the same cells again and again.
  if (std::ranges::find(marked_, rect) != marked_.end()) return;
  marked_[next_mark_++ % marked_.size()] = rect;
  uint32_t bits[4];
  for (uint32_t p = 0; p < 4; ++p) bits[p] = partition_bits(rect.lane, rect.lanes, p);
  for (uint32_t c = rect.column; c < rect.column + rect.columns; ++c)
    for (uint32_t p = 0; p < 4; ++p) written_[c][p] |= bits[p];
}

bool TensorMemory::all_written(const TmemRect& rect) const {
  uint32_t bits[4], missing[4] = {};
  for (uint32_t p = 0; p < 4; ++p) bits[p] = partition_bits(rect.lane, rect.lanes, p);
  // Without an early exit: one vector operation for each column.
  for (uint32_t c = rect.column; c < rect.column + rect.columns; ++c)
    for (uint32_t p = 0; p < 4; ++p) missing[p] |= bits[p] & ~written_[c][p];
  return !(missing[0] | missing[1] | missing[2] | missing[3]);
}

bool TensorMemory::any_written(const TmemRect& rect) const {
  for (uint32_t p = 0; p < 4; ++p) {
    const uint32_t bits = partition_bits(rect.lane, rect.lanes, p);
    for (uint32_t c = rect.column; bits && c < rect.column + rect.columns; ++c)
      if (written_[c][p] & bits) return true;
  }
  return false;
}

int TensorMemory::find_free(uint32_t taken, uint32_t units) {
  const uint32_t block = (1u << units) - 1;
  for (uint32_t first = 0; first + units <= kTmemUnits; first += units)
    if (!(taken & block << first)) return int(first);
  return -1;
}

void TensorMemory::take(Cta& owner, uint32_t first, uint32_t units, uint32_t cta_group, const Origin& who) {
  blocks_.push_back({&owner, first, units, cta_group, who});
  marked_ = {};
  for (uint32_t u = first; u < first + units; ++u) {
    taken_ |= 1u << u;
    unit_owner_[u] = &owner;
  }
  for (uint32_t c = first * kTmemUnit; c < (first + units) * kTmemUnit; ++c) {
    uint32_t* cells = column(c);
    for (uint32_t l = 0; l < kTmemLanes; ++l) cells[l] = tmem_poison(l, c);
    written_[c] = {};
  }
}

const TensorMemory::Block* TensorMemory::block_at(const Cta& owner, uint32_t first) const {
  for (const Block& b : blocks_)
    if (b.owner == &owner && b.first == first) return &b;
  return nullptr;
}

void TensorMemory::release(const Cta& owner, uint32_t first, uint32_t units) {
  for (uint32_t u = first; u < std::min(first + units, kTmemUnits); ++u)
    if (unit_owner_[u] == &owner) {
      unit_owner_[u] = nullptr;
      taken_ &= ~(1u << u);
    }
  std::vector<Block> kept;
  for (Block b : blocks_) {
    // A block shrinks to what is still taken of it.
    while (b.units && unit_owner_[b.first] != b.owner) ++b.first, --b.units;
    while (b.units && unit_owner_[b.first + b.units - 1] != b.owner) --b.units;
    if (b.units) kept.push_back(std::move(b));
  }
  blocks_ = std::move(kept);
}

TensorMemory::Request* TensorMemory::CtaState::request_of(const Warp& w) {
  for (Request& r : requests)
    if (r.warp == &w) return &r;
  return nullptr;
}

TensorMemory::Request* TensorMemory::CtaState::waiting(Request::Kind kind) {
  for (Request& r : requests)
    if (r.kind == kind && r.stage == Request::Stage::waiting) return &r;
  return nullptr;
}

void TensorMemory::on_cta_exit(Cta& cta) {
  for (size_t i = 0; i < blocks_.size();) {
    Block& b = blocks_[i];
    if (b.owner != &cta) {
      ++i;
      continue;
    }
    const Block lost = b;
    // The columns stay taken: no CTA owns them, and none can free them.
    for (uint32_t u = b.first; u < b.first + b.units; ++u) unit_owner_[u] = nullptr;
    blocks_.erase(blocks_.begin() + long(i));
    tmem_violation(
        lost.who, "tmem-leak",
        fmt::format("The CTA exits with {} columns of Tensor Memory still allocated, from column {} on.",
                    lost.units * kTmemUnit, lost.first * kTmemUnit),
        "Free every block with tcgen05.dealloc before the kernel ends: one whole warp, after all users of the "
        "columns have passed a barrier.");
  }
  auto it = states_.find(&cta);
  if (it != states_.end()) states_.erase(it);
  // A peer that waits in a handshake would wait forever.
  Cta* peer = cta.cluster.cta(cta.rank ^ 1);
  if (!peer || peer == &cta || peer->exited || !peer->sm.extensions.find<TensorMemory>()) return;
  CtaState& other = of(peer->sm).state_of(*peer);
  for (const Request& r : other.requests)
    if (other.cta_group == 2 && r.stage == Request::Stage::waiting)
      r.who.fault(FaultKind::deadlock, "cta-pair-exited",
                  fmt::format("CTA {} of the pair exits while CTA {} waits for it in {}.cta_group::2.", cta.rank,
                              peer->rank, r.kind == Request::Kind::alloc ? "tcgen05.alloc" : "tcgen05.dealloc"),
                  "One warp in each CTA of the pair executes every cta_group::2 alloc and dealloc.");
}

void tmem_violation(const Origin& who, std::string code, std::string message, std::string help) {
  if (who.launch->options.strict_tmem)
    who.fault(FaultKind::launch_failure, std::move(code), std::move(message), std::move(help));
  who.report(Severity::warning, std::move(code), std::move(message), std::move(help));
}

TmemRect tmem_check(TensorMemory& memory, const Cta& cta, TmemAddress at, uint32_t lanes, uint32_t columns,
                    const Origin& who, const char* what, bool owned) {
  TmemRect rect{at.lane, lanes, at.column, columns};
  if (at.column >= kTmemColumns || at.column + columns > kTmemColumns) {
    tmem_violation(who, "tmem-out-of-bounds",
                   fmt::format("{} touches columns {} to {}; Tensor Memory has columns 0 to {}.", what, at.column,
                               at.column + columns - 1, kTmemColumns - 1),
                   "Keep the column field (bits 15:0) plus the width of the access at or below 512.");
    rect.column = std::min(at.column % kTmemColumns, kTmemColumns - columns);
  }
  if (at.lane >= kTmemLanes || at.lane + lanes > kTmemLanes) {
    tmem_violation(who, "tmem-out-of-bounds",
                   fmt::format("{} touches lanes {} to {}; Tensor Memory has lanes 0 to {}.", what, at.lane,
                               at.lane + lanes - 1, kTmemLanes - 1),
                   "Keep the lane field (bits 31:16) plus the height of the access at or below 128.");
    rect.lane = std::min(at.lane % kTmemLanes, kTmemLanes - lanes);
  }
  for (uint32_t u = rect.column / kTmemUnit; u <= (rect.column + columns - 1) / kTmemUnit; ++u) {
    const Cta* owner = memory.owner(u * kTmemUnit);
    if (owner == &cta) continue;
    std::string mine;
    for (const TensorMemory::Block& b : memory.blocks())
      if (b.owner == &cta)
        mine += fmt::format("{}{} to {}", mine.empty() ? "" : ", ", b.first * kTmemUnit,
                            (b.first + b.units) * kTmemUnit - 1);
    std::string message =
        fmt::format("{} touches columns {} to {}, but columns {} to {} {}. This CTA has {}.", what, rect.column,
                    rect.column + columns - 1, u * kTmemUnit, u * kTmemUnit + kTmemUnit - 1,
                    owner ? "belong to another CTA" : "are not allocated",
                    mine.empty() ? std::string("no columns") : "columns " + mine);
    const char* help =
        "Use the address that tcgen05.alloc wrote to shared memory as the base, and allocate as many columns as "
        "the kernel touches.";
    if (owned) who.fault(FaultKind::trap, "tmem-unallocated", std::move(message), help);
    tmem_violation(who, "tmem-unallocated", std::move(message), help);
    break;
  }
  return rect;
}

void tmem_check_cta_group(Cta& cta, uint32_t cta_group, const Origin& who) {
  uint32_t& first = TensorMemory::of(cta.sm).state_of(cta).cta_group;
  if (!first) first = cta_group;
  if (first != cta_group) {
    const uint32_t before = first;
    first = cta_group;
    tmem_violation(who, "cta-group-mixed",
                   fmt::format("This instruction has .cta_group::{}, an earlier one of the CTA .cta_group::{}.",
                               cta_group, before),
                   "Use one .cta_group for every tcgen05 instruction of a kernel.");
  }
}

Cta& tmem_peer(Cta& cta, const Origin& who, const char* what) {
  Cta* peer = cta.cluster.cta(cta.rank ^ 1);
  if (!peer || peer == &cta)
    who.fault(FaultKind::launch_failure, "cta-pair-missing",
              fmt::format("{}.cta_group::2 runs in a cluster of {} CTA{}: CTA {} has no peer.", what,
                          cta.cluster.ctas.size(), cta.cluster.ctas.size() == 1 ? "" : "s", cta.rank),
              "Launch with a cluster size that is a multiple of two, or use .cta_group::1.");
  if (peer->exited)
    who.fault(
        FaultKind::launch_failure, "cta-pair-exited",
        fmt::format("{}.cta_group::2 in CTA {} needs CTA {} of the pair, which has exited.", what, cta.rank,
                    peer->rank),
        "Let both CTAs of a pair pass barrier.cluster after their last cta_group::2 instruction before either exits.");
  if (&peer->sm == &cta.sm)
    who.fault(FaultKind::not_modelled, "cta-pair-shares-sm",
              "Both CTAs of the pair are on one SM, which happens on no "
              "GPU.",
              "Choose a machine with at least two SMs.");
  return *peer;
}

}  // namespace tinygpu
