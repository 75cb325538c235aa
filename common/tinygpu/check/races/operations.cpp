// Asynchronous operations from their issue to their completion: what says that one is over, and what it releases.
#include <algorithm>
#include <utility>

#include "common/tinygpu/check/races/races.h"

namespace tinygpu::races {

namespace {

using Channel = Threads::Channel;

void end_with(Operation& op, Component channel, Epoch count) {
  op.reads = op.writes = channel;
  op.read = op.written = count;
}

/// Lanes that have issued one store together all have it in their groups.
void enter_bulk_groups(Operation& op, Threads& t, int lane) {
  op.ends = Ends::bulk_group;
  for (uint32_t m = op.lanes; m; m &= m - 1) {
    ++t.count(Channel::bulk_read, __builtin_ctz(m));
    ++t.count(Channel::bulk_write, __builtin_ctz(m));
  }
  op.reads = t.channel(Channel::bulk_read, lane);
  op.writes = t.channel(Channel::bulk_write, lane);
  op.read = t.count(Channel::bulk_read, lane);
  op.written = t.count(Channel::bulk_write, lane);
}

/// A commit's arrival says that the MMAs which its thread has issued are over.
void commit_tensor_work(Operation& op, Threads& t, int lane, uint32_t group) {
  const Epoch issued = t.count(Channel::tensor_issued, lane, group);
  const Component done = t.channel(Channel::tensor_done, lane, group);
  if (!issued) return;
  op.steps = {{done, issued}};
  op.released.of[tensor].here =
      advanced(op.sees.of[tensor].here, {{done, issued}, {t.channel(Channel::tensor_issued, lane, group), issued}});
}

/// cp.async.mbarrier.arrive says that the earlier copies of its lanes are over.
void arrive_behind_copies(Operation& op, Threads& t, ClusterState& c) {
  if (!t.copies->whole) return;
  if ((op.lanes & t.live()) == t.live()) {
    op.steps = {{t.copies->whole, t.copies_issued}};
    return;
  }
  for (uint32_t m = op.lanes; m; m &= m - 1) {
    Component& of_lane = t.copies->lane[size_t(__builtin_ctz(m))];
    if (!of_lane) of_lane = c.components.make();
    op.steps.emplace_back(of_lane, t.copies_issued);
  }
}

/// All four warps issue a wgmma; their own accesses come before it.
void join_warpgroup(Operation& op, const Origin& who, ClusterState& c) {
  op.ends = Ends::wgmma;
  CtaState& cta = *c.cta(who.cta);
  const uint32_t number = uint32_t(who.warp) / 4;
  CtaState::Channel& channel = cta.warpgroups[number];
  if (!channel.component) channel.component = c.components.make();
  end_with(op, channel.component, ++channel.count);
  op.threads = nullptr;
  op.sees = {};
  for (uint32_t w = number * 4; w < number * 4 + 4 && w < cta.warps.size(); ++w)
    op.sees.join(cta.warps[w].release(~0u));
}

/// What says that the operation is over, and what it releases. `group`: a tensor core's, of one CTA or two.
void begin_operation(Operation& op, const AsyncOperation& o, Threads& t, ClusterState& c, uint32_t group) {
  using Kind = AsyncOperation::Kind;
  const int lane = o.who.lane;
  switch (o.kind) {
    case Kind::bulk_load:
    case Kind::tensor_load:
    case Kind::cancel:
      op.ends = Ends::mbarrier;
      // What reaches several CTAs tells each of them that it has been issued.
      if (op.uses.size() > 1) op.before = t.release(op.lanes).of[happened];
      break;
    case Kind::async_store:
      // One without an mbarrier releases: to global memory.
      op.ends = op.uses.empty() ? Ends::never : Ends::mbarrier;
      if (op.uses.empty())
        op.released = t.release(op.lanes);
      else
        op.before = t.release(op.lanes).of[happened];
      break;
    case Kind::bulk_store:
    case Kind::tensor_store:
      if (std::ranges::any_of(o.shared_uses, [](const auto& u) { return u.signalled != nullptr; })) {
        op.ends = Ends::mbarrier;
        op.before = t.release(op.lanes).of[happened];
        break;
      }
      enter_bulk_groups(op, t, lane);
      break;
    case Kind::mma:
    case Kind::tmem_copy:
    case Kind::tmem_shift:
      op.ends = Ends::commit;
      end_with(op, t.channel(Channel::tensor_done, lane, group), ++t.count(Channel::tensor_issued, lane, group));
      break;
    case Kind::tmem_load: end_with(op, t.channel(Channel::tmem_load, -1), ++t.count(Channel::tmem_load, -1)); break;
    case Kind::tmem_store: end_with(op, t.channel(Channel::tmem_store, -1), ++t.count(Channel::tmem_store, -1)); break;
    case Kind::commit:
      op.before = t.release(op.lanes).of[happened];
      commit_tensor_work(op, t, lane, group);
      break;
    case Kind::async_copy:
      if (!t.copies->whole) t.copies->whole = c.components.make();
      op.ends = Ends::copies;
      op.lane_components = t.copies;
      end_with(op, t.copies->whole, ++t.copies_issued);
      break;
    case Kind::copies_arrive: arrive_behind_copies(op, t, c); break;
    case Kind::wgmma: join_warpgroup(op, o.who, c); break;
  }
}

void tell_missing_fence(const AsyncOperation& o) {
  o.who.report({.code = "wgmma-fence-missing",
                .severity = Severity::warning,
                .message = "this warp issues wgmma.mma_async and has not executed wgmma.fence before",
                .help = "execute wgmma.fence before the first wgmma, and again after each access to its registers",
                .where = o.who.where(o.issued),
                .label = "the first one of this warp",
                .example = "wgmma.fence.sync.aligned;"});
}

}  // namespace

void Races::on_issue(const AsyncOperation& o) {
  using Kind = AsyncOperation::Kind;
  PartitionState& d = partitions_[o.partition()];
  if (d.clusters.empty()) return;
  std::shared_ptr<ClusterState> c;
  Threads* const t = d.find(o.who, c);
  if (!t) return;
  Operation op;
  op.kind = o.kind;
  op.who = o.who;
  op.cluster = c;
  op.threads = t;
  op.lanes = o.who.lanes;
  op.issued = o.issued;
  op.uses = o.shared_uses;
  op.copies = t->row_of(__builtin_ctz(op.lanes | 1u << 31)).copies;
  op.sees = t->fork(op.lanes ? op.lanes : ~0u, op.now);
  if (o.kind == Kind::wgmma && !t->wgmma_fenced && first("wgmma.fence", o.who.op)) tell_missing_fence(o);
  begin_operation(op, o, *t, *c, d.facts.of(o.who).pair);
  if (!o.cells.empty()) tensor_use(d, o, op);
  for (const auto& use : op.uses)
    if (use.signalled) check_signal(*c, op, use);
  d.operations.emplace(o.id, std::move(op));
  if (o.kind == Kind::tensor_load || o.kind == Kind::tensor_store) map_access(o, d);
}

void Races::check_signal(ClusterState& c, const Operation& op, const AsyncOperation::SharedUse& use) {
  CtaState* const cta = c.cta(*use.signalled);
  if (!cta) return;
  MbarrierState& m = cta->mbarrier(c.components, use.signal);
  if (!m.live && op.threads) {
    Record use;
    use.who = op.who;
    use.cluster = c.number;
    use.component = op.threads->program->whole;
    use.epoch = op.now;
    use.lane_components = op.threads->program;
    use.map.lanes = op.lanes;
    m.used_early(use);
  }
  if (!m.init) return;
  const Actor by{c.number, op.threads, op.lanes, op.now, op.copies, &op.sees};
  const auto seen = [&](View view) { return !not_seen(*m.init, m.init->map.lanes, by, op.lanes, view); };
  if (seen(async_shared) || seen(initialised)) return;
  if (!seen(happened)) {
    tell_unpublished(*m.init, op.who, *use.signalled, use.signal, Unpublished::to_thread);
    m.init = nullptr;                              // once
  } else if (!std::exchange(m.copy_told, true)) {  // threads that use it need still see it
    tell_unpublished(*m.init, op.who, *use.signalled, use.signal, Unpublished::to_copy);
  }
}

void Races::on_complete(const AsyncOperation& o) { partitions_[o.partition()].operations.erase(o.id); }

}  // namespace tinygpu::races
