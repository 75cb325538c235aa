#include "common/tinygpu/check/order_path.h"

#include <fmt/format.h>

#include <algorithm>

namespace tinygpu::checks {
namespace {

using Kind = AsyncOperation::Kind;

// Beyond so many events nothing more is followed: the first rounds of a loop tell what the others would.
constexpr size_t kMostEvents = 1'000'000, kMostPairs = 256;

/// Kinds of operations whose end a thread waits for by itself, without an mbarrier.
bool waited_for_by_thread(Kind kind) {
  return kind == Kind::bulk_store || kind == Kind::tensor_store || kind == Kind::tmem_load ||
         kind == Kind::tmem_store || kind == Kind::wgmma || kind == Kind::async_copy;
}

}  // namespace

OrderPath::OrderPath(SourcePlace a, SourcePlace b)
    : Observer(operations | synchronisation | accesses), lines_{std::move(a), std::move(b)} {}

void OrderPath::on_launch(const Launch& launch) {
  first_ = launch.config.cluster;
  events_.clear();
  for (auto& marked : marked_) marked.clear();
  known_.clear();
  last_.clear();
  operations_.clear();
  tensor_.clear();
  rounds_.clear();
  clusters_.clear();
  arrivals_.clear();
  phases_.clear();
  released_.clear();
}

// ---- Events

OrderPath::Id OrderPath::add(const Origin& who, uint64_t time, const char* what, std::vector<Id> before) {
  std::erase(before, kNone);
  events_.push_back({who, time, what, std::move(before)});
  return Id(events_.size() - 1);
}

OrderPath::Id OrderPath::in_program(const Origin& who, uint64_t time, const char* what, std::vector<Id> before) {
  const auto [last, added] = last_.try_emplace({who.cta, who.warp}, kNone);
  before.push_back(last->second);
  return last->second = add(who, time, what, std::move(before));
}

bool OrderPath::at(size_t line, const Origin& who) {
  const auto [known, added] = known_.try_emplace(who.op, uint8_t(0));
  if (added) {
    const Where where = who.where();
    known->second = uint8_t(lines_[0].names(where) | lines_[1].names(where) << 1);
  }
  return known->second >> line & 1;
}

void OrderPath::keep(size_t line, const Origin& who, Id event, std::vector<Touch> touches) {
  if (at(line, who)) marked_[line].push_back({event, std::move(touches)});
}

bool OrderPath::Touch::meets(const Touch& o) const {
  if (shared != o.shared || (cells.lanes > 0) != (o.cells.lanes > 0)) return false;
  return cells.lanes ? low == o.low && cells.overlaps(o.cells) : low < o.high && o.low < high;
}

/// They are about the same memory, or it is not known.
bool OrderPath::Marked::meets(const Marked& o) const {
  if (touches.empty() || o.touches.empty()) return true;
  return std::ranges::any_of(touches, [&](const Touch& a) {
    return std::ranges::any_of(o.touches, [&](const Touch& b) { return a.meets(b); });
  });
}

void OrderPath::end_round(Round& round, uint64_t time, const char* what) {
  const std::vector<Id> arrivals = std::exchange(round.arrivals, {});
  for (const Origin& who : std::exchange(round.waits, {})) in_program(who, time, what, arrivals);
}

// ---- What happens

void OrderPath::on_issue(const AsyncOperation& o) {
  if (!followed(o.who.cta) || events_.size() > kMostEvents) return;
  std::vector<Id>& tensor = tensor_[{o.who.cta, o.who.warp}];
  Origin thread = o.who;
  thread.operation = 0;
  const Id issue = in_program(thread, o.issued, nullptr);
  // A commit is over when all that its thread has issued before is.
  const Id effect = add(o.who, o.issued, nullptr, o.kind == Kind::commit ? tensor : std::vector<Id>());
  if (o.kind == Kind::mma || o.kind == Kind::tmem_copy || o.kind == Kind::tmem_shift) tensor.push_back(effect);
  operations_[o.id] = {effect, o.kind, o.who.warp, o.who.cta};
  if (o.kind == Kind::commit) return;
  std::vector<Touch> touches;
  for (const auto& u : o.shared_uses)
    for (const auto& r : u.ranges) touches.push_back({u.cta, r.offset, uint64_t(r.offset) + r.bytes, {}});
  for (const auto& c : o.cells) touches.push_back({nullptr, c.sm, c.sm, c.cells});
  keep(0, o.who, effect, touches);
  keep(1, o.who, issue, touches);  // it cannot do anything before
}

void OrderPath::on_access(const MemoryAccess& a) {
  if (!a.lanes && (!a.operation || a.operation->operation)) return;
  const Origin who = a.who();
  if (!followed(who.cta) || events_.size() > kMostEvents) return;
  const bool strong = a.order.strong() || a.kind == AccessKind::atomic;
  const bool wanted = at(0, who) || at(1, who);
  if (!strong && !wanted) return;
  std::vector<Id> before;
  if (strong && a.kind != AccessKind::write && a.order.acquires())
    a.each([&](uint64_t address, uint64_t, int) {
      if (const auto r = released_.find(address); r != released_.end()) before.push_back(r->second);
    });
  const Id event = in_program(who, a.time, before.empty() ? nullptr : "has acquired what that one released", before);
  if (strong && a.kind != AccessKind::read && a.order.releases())
    a.each([&](uint64_t address, uint64_t, int) {
      Id& last = released_.try_emplace(address, kNone).first->second;
      last = a.kind == AccessKind::atomic ? add(who, a.time, "releases", {event, last}) : event;
    });
  if (!wanted) return;
  std::vector<Touch> touches;
  a.each([&](uint64_t address, uint64_t bytes, int) { touches.push_back({a.cta, address, address + bytes, {}}); });
  keep(0, who, event, touches);
  keep(1, who, event, touches);
}

void OrderPath::on_sync(const Sync& s) {
  if (!followed(s.cta->key) || events_.size() > kMostEvents) return;
  using SyncKind = Sync::Kind;
  const Object object{s.cta, s.offset};
  const auto warp = [&] { return std::pair{s.who->cta, s.who->warp}; };
  switch (s.kind) {
    case SyncKind::init: phases_.erase(phases_.lower_bound({object, 0}), phases_.upper_bound({object, ~0ull})); break;
    case SyncKind::arrive: {
      if (!s.who) break;
      Id from = kNone;
      if (!s.who->operation && s.order().semantics == ptx::Semantics::relaxed) break;  // releases nothing
      if (!s.who->operation)
        from = in_program(*s.who, s.time, "arrives");
      else if (const auto o = operations_.find(s.who->operation); o != operations_.end())
        from = add(*s.who, s.time, "arrives when the operations that it covers have ended", {o->second.effect});
      if (from != kNone) arrivals_[object].push_back(from);
      break;
    }
    case SyncKind::complete_tx:
      if (!s.who || !s.who->operation) break;
      if (const auto o = operations_.find(s.who->operation); o != operations_.end())
        arrivals_[object].push_back(add(*s.who, s.time, "lands, and counts its bytes", {o->second.effect}));
      break;
    case SyncKind::phase: {
      // Whoever has seen this phase has seen those before.
      const auto earlier = phases_.find({object, s.value - 1});
      std::vector<Id> before = std::exchange(arrivals_[object], {});
      if (s.value && earlier != phases_.end()) before.push_back(earlier->second);
      Origin last = before.empty() ? Origin{} : events_[before.front()].who;
      phases_[{object, s.value}] = add(last, s.time, nullptr, std::move(before));
      break;
    }
    case SyncKind::passed:
      if (!s.who || s.value == ~0ull || !s.order().acquires()) break;
      if (const auto phase = phases_.find({object, s.value}); phase != phases_.end())
        in_program(*s.who, s.time, "has seen the phase end", {phase->second});
      break;
    case SyncKind::barrier_arrive: {
      Round& round = rounds_[object];
      round.arrivals.push_back(in_program(*s.who, s.time, "arrives"));
      if (s.value) round.waits.push_back(*s.who);
      break;
    }
    case SyncKind::barrier: end_round(rounds_[object], s.time, "goes on when the round is complete"); break;
    case SyncKind::cluster_arrive: {
      Round& round = clusters_[&s.cta->cluster];
      round.arrivals.push_back(in_program(*s.who, s.time, "arrives"));
      round.over[warp()].clear();
      break;
    }
    case SyncKind::cluster_wait: {
      Round& round = clusters_[&s.cta->cluster];
      std::vector<Id>& over = round.over[warp()];
      if (over.empty())
        round.waits.push_back(*s.who);
      else
        in_program(*s.who, s.time, "goes on when the round is complete", std::exchange(over, {}));
      break;
    }
    case SyncKind::cluster: {
      if (s.cta->rank) break;  // told of each CTA
      Round& round = clusters_[&s.cta->cluster];
      for (auto& [who, over] : round.over) over = round.arrivals;
      for (const Origin& who : round.waits) round.over[{who.cta, who.warp}].clear();
      end_round(round, s.time, "goes on when the round is complete");
      break;
    }
    case SyncKind::wait_group: {
      std::vector<Id> over;
      for (const auto& [id, o] : operations_)
        if (o.warp == s.who->warp && o.cta == s.who->cta && waited_for_by_thread(o.kind)) over.push_back(o.effect);
      in_program(*s.who, s.time, "waits for its operations", std::move(over));
      break;
    }
    default: break;
  }
}

// ---- What is told

std::string OrderPath::name_of(const Origin& who) const {
  const std::string name(who.function->instruction(*who.op).name());
  return who.operation ? "the " + name : name;
}

LabelledPlace OrderPath::place(Id event, const std::string& label) const {
  const Event& e = events_[event];
  return {e.who.where(e.time), label};
}

void OrderPath::on_end(const Launch&, const LaunchStats*) {
  const auto& [a, b] = marked_;
  if (a.empty() && b.empty()) return;
  const Origin& any = events_[a.empty() ? b.front().event : a.front().event].who;
  if (a.empty() || b.empty())
    return any.report(Severity::note, "order-explained",
                      "only this line has done work in the first cluster: the other line has not",
                      "name lines that access memory or issue an operation; build with -lineinfo");
  // For each of B the last of A by somebody else, at the same memory, that had happened by then.
  uint64_t pairs = 0;
  std::vector<Id> chain;
  for (const Marked& later : b) {
    const Event& end = events_[later.event];
    const auto before = [&](const Marked& m) {
      const Event& e = events_[m.event];
      const bool other = e.who.operation || std::pair(e.who.cta, e.who.warp) != std::pair(end.who.cta, end.who.warp);
      return e.time <= end.time && m.event < later.event && other && m.meets(later);
    };
    const auto found = std::find_if(a.rbegin(), a.rend(), before);
    if (found == a.rend()) continue;
    if (++pairs > kMostPairs) break;
    const Id begin = found->event;
    std::vector<Id> next(later.event + 1 - begin, kNone);  // by event, from `begin` on: the one that leads there
    std::vector<bool> from(next.size());
    from[0] = true;
    for (Id e = begin + 1; e <= later.event; ++e)  // what comes before stands before
      for (const Id p : events_[e].before)
        if (p >= begin && from[p - begin] && !from[e - begin]) {
          from[e - begin] = true;
          next[e - begin] = p;
        }
    if (!from.back()) return tell_break(begin, later.event, from, pairs);
    if (!chain.empty()) continue;
    for (Id e = later.event; e != kNone; e = next[e - begin]) chain.push_back(e);
    std::ranges::reverse(chain);
  }
  if (!chain.empty()) return tell_chain(chain, std::min<uint64_t>(pairs, kMostPairs));
  any.report(Severity::note, "order-explained",
             "both lines belong to one warp, or access different memory, or the second comes first",
             "name lines of two warps that access one place in memory, the earlier one first");
}

void OrderPath::tell_chain(const std::vector<Id>& chain, uint64_t pairs) {
  const Origin &first = events_[chain.front()].who, &last = events_[chain.back()].who;
  Diagnosis d{
      .code = "order-explained",
      .severity = Severity::note,
      .message = fmt::format("{} comes before {}: the chain of synchronisation is below ({} of {} pairs have one)",
                             name_of(first), name_of(last), pairs, pairs),
      .help = "nothing to mend: without one of these steps the two lines could run at the same time",
      .where = place(chain.front(), "first").where,
      .label = "first"};
  for (size_t i = 1; i + 1 < chain.size(); ++i)
    if (events_[chain[i]].what) d.others.push_back(place(chain[i], events_[chain[i]].what));
  d.others.push_back(place(chain.back(), "then"));
  first.report(std::move(d));
}

void OrderPath::tell_break(Id a, Id b, const std::vector<bool>& from_a, uint64_t pairs) {
  const Origin &first = events_[a].who, &last = events_[b].who;
  Diagnosis d{.code = "order-explained",
              .severity = Severity::note,
              .message = fmt::format("nothing orders {} before {}: the chain breaks ({} of {} pairs have one)",
                                     name_of(first), name_of(last), pairs - 1, pairs),
              .help =
                  "let the first signal the second: put an arrive or a barrier after the first, and let the second "
                  "wait for it",
              .where = place(a, "this one").where,
              .label = "this one"};
  // How far the chain comes, and what the other side has waited for last.
  for (Id e = b; e > a; --e)
    if (from_a[e - a] && events_[e].what) {
      d.others.push_back(
          place(e, fmt::format("{}: the last link of the chain before the other line", events_[e].what)));
      break;
    }
  if (d.others.empty()) d.label += "; no synchronisation after it is complete before the other line";
  const Id none = kNone;
  for (Id e = b; e != none;) {
    Id program = none;
    for (const Id p : events_[e].before)
      if (std::pair(events_[p].who.cta, events_[p].who.warp) == std::pair(last.cta, last.warp) &&
          !events_[p].who.operation)
        program = p;
    if (program != none && events_[program].what && events_[program].before.size() > 1) {
      d.others.push_back(place(program, fmt::format("{}: the last wait before the other line", events_[program].what)));
      break;
    }
    e = program;
  }
  d.others.push_back(place(b, "the other line, which could run first"));
  first.report(std::move(d));
}

}  // namespace tinygpu::checks
