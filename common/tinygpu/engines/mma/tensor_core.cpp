#include "common/tinygpu/engines/mma/tensor_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tinygpu {

struct TensorCore::Node {
  TensorWork work;
  bool is_commit = false;
  bool cancelled = false;  // its CTA is gone
  uint64_t planned = 0;    // completion time when nothing is reordered
  uint64_t begin = 0;      // when the unit takes it up
  ToldOperation told;
  uint32_t waits = 0;  // predecessors that are not complete
  std::vector<NodePtr> successors;
  bool followed = false;  // by an operation of the same thread and group that can't be complete before it
};

namespace {

AsyncOperation::Kind told_as(TensorWork::Kind kind) {
  switch (kind) {
    case TensorWork::Kind::mma: return AsyncOperation::Kind::mma;
    case TensorWork::Kind::shift: return AsyncOperation::Kind::tmem_shift;
    default: return AsyncOperation::Kind::tmem_copy;
  }
}

bool same_thread(const Origin& a, const Origin& b) { return a.cta == b.cta && a.warp == b.warp && a.lane == b.lane; }

}  // namespace

// PTX ISA 9.7.16.6.2 lists the pairs whose execution follows issue order. Whatever it does not list is unordered, which
// the `late` and `seeded` completion orders make visible and a check tells of. As timed, MMAs complete in the
// order of issue whatever their accumulators: CUTLASS's 77_blackwell_fmha relies on it and runs on a B200.
bool TensorCore::promised(const TensorWork& first, const TensorWork& second) {
  using Kind = TensorWork::Kind;
  if (first.cta_group != second.cta_group) return false;
  if (second.kind == Kind::mma) return first.kind != Kind::mma || (first.pipeline && first.pipeline == second.pipeline);
  if (second.kind == Kind::shift) return first.kind == Kind::mma;
  if (second.kind == Kind::copy_4x256b) return first.kind == Kind::shift;
  return false;
}

// Nor is a copy behind the MMA whose scales or metadata it overwrites listed. CUTLASS's block-scaled and sparse main
// loops have one place for them and copy block after block into it, so the copy comes second under every order.
bool TensorCore::overwrites(const TensorWork& first, const TensorWork& second) {
  using Kind = TensorWork::Kind;
  if (first.cta_group != second.cta_group || first.kind != Kind::mma) return false;
  if (second.kind != Kind::copy && second.kind != Kind::copy_4x256b) return false;
  for (const auto& a : first.cells)
    for (const auto& b : second.cells)
      if (b.writes && a.sm == b.sm && a.rect.overlaps(b.rect)) return true;
  return false;
}

uint64_t TensorCore::enqueue(SmPartition& partition, TensorWork work) {
  const bool on_mma_unit = work.kind == TensorWork::Kind::mma;
  uint64_t& free = on_mma_unit ? mma_free_ : copy_free_;
  const uint64_t start = std::max(work.issued, free);
  free = start + work.interval;
  if (on_mma_unit) mma_starts_.push_back(start);

  auto node = std::make_shared<Node>();
  node->work = std::move(work);
  node->begin = start;
  node->planned = start + node->work.latency;
  std::vector<uint64_t> after;
  for (auto it = pending_.rbegin(); it != pending_.rend(); ++it) {
    Node& p = **it;
    if (p.is_commit) continue;
    const bool by_rule = promised(p.work, node->work);
    if (!by_rule && !overwrites(p.work, node->work)) continue;
    p.successors.push_back(node);
    p.followed |= same_thread(p.work.origin, node->work.origin);
    ++node->waits;
    if (p.told && by_rule) after.push_back(p.told->id);
    node->planned = std::max(node->planned, p.planned);
    // An earlier MMA of the chain has itself waited for those before it.
    if (on_mma_unit && p.work.kind == TensorWork::Kind::mma) break;
  }
  if (on_mma_unit) node->planned = mma_done_ = std::max(node->planned, mma_done_);
  const auto more = [&](AsyncOperation& o) {
    o.busy = node->work.interval;
    o.after = std::move(after);
    o.pipeline = node->work.pipeline;
    for (const auto& c : node->work.cells) o.cells.push_back({c.sm->index, c.rect, c.writes, c.what});
  };
  node->told = tell_issue(partition, told_as(node->work.kind), node->work.origin, sm_, node->work.issued, 0, more);
  pending_.push_back(node);
  const uint64_t planned = node->planned;
  if (node->waits == 0) release(partition, node);
  return planned;
}

uint64_t TensorCore::room_at(uint64_t now, size_t depth) {
  while (!mma_starts_.empty() && mma_starts_.front() <= now) mma_starts_.pop_front();
  return mma_starts_.size() < depth ? now : mma_starts_[mma_starts_.size() - depth];
}

void TensorCore::commit(SmPartition& partition, const Origin& origin, uint8_t cta_group, uint64_t now, uint64_t latency,
                        std::function<void(uint64_t now, const Origin& who)> arrive) {
  auto node = std::make_shared<Node>();
  node->is_commit = true;
  node->work.origin = origin;
  node->work.cta_group = cta_group;
  node->work.execute = std::move(arrive);
  node->work.latency = latency;
  node->planned = now + latency;
  node->begin = now;
  node->told = tell_issue(partition, AsyncOperation::Kind::commit, node->work.origin, sm_, now);
  for (auto& p : pending_) {
    if (p->is_commit || p->followed || p->work.cta_group != cta_group || !same_thread(p->work.origin, origin)) continue;
    p->successors.push_back(node);
    ++node->waits;
    if (node->told) node->told->after.push_back(p->work.origin.operation);
  }
  pending_.push_back(node);
  if (node->waits == 0) release(partition, node);
}

void TensorCore::release(SmPartition& partition, const NodePtr& node) {
  partition.events.schedule(node->planned, partition.events.new_channel(), node->work.origin,
                            [this, &partition, node](uint64_t now) {
                              // Successors look at this time: an event may run later than planned, never earlier.
                              node->planned = std::max(node->planned, now);
                              finish(partition, node, node->planned);
                            });
}

void TensorCore::finish(SmPartition& partition, const NodePtr& node, uint64_t now) {
  if (!node->cancelled) node->work.execute(now, node->work.origin);
  tell_complete(partition, node->told, node->begin, now);
  if (!node->is_commit) ++executed_;
  pending_.erase(std::find(pending_.begin(), pending_.end(), node));
  for (auto& s : node->successors) {
    s->planned = std::max(s->planned, s->is_commit ? now + s->work.latency : now);
    if (--s->waits == 0) release(partition, s);
  }
  node->successors.clear();
}

TensorCore& TensorCore::of(Cta& cta, uint32_t cta_group) {
  TensorCore& mine = of(cta.sm);
  if (cta_group == 1) return mine;
  // Both CTAs get a tensor core, so that either's exit is seen.
  if (Cta* odd = cta.cluster.cta(cta.rank | 1)) of(odd->sm);
  return of(cta.cluster.cta(cta.rank & ~1u)->sm);
}

void TensorCore::on_cta_exit(Cta& cta) {
  cancel(cta);
  if (cta.rank & 1) of(cta, 2).cancel(cta);
}

void TensorCore::cancel(const Cta& cta) {
  bool told = false;
  for (auto& p : pending_) {
    const bool issued_it = p->work.origin.cta == cta.key;
    if (p->cancelled || (!issued_it && p->work.peer != &cta)) continue;
    p->cancelled = true;
    if (!p->is_commit && !told)
      p->work.origin.report(Severity::warning, "tensor-core-busy-at-exit",
                            "The CTA exits while this tcgen05 operation is under way; its results are lost.",
                            "Wait on the mbarrier of a tcgen05.commit before the kernel ends.");
    told |= !p->is_commit;
  }
}

}  // namespace tinygpu
