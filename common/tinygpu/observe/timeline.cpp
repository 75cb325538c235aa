#include "common/tinygpu/observe/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu::observe {

std::string Track::name(const std::string& what) const {
  switch (kind) {
    case Kind::kernel: return "kernel";
    case Kind::tma: return "TMA";
    case Kind::tensor_core: return "tensor core";
    case Kind::commit: return "commits";
    case Kind::tmem: return "Tensor Memory port";
    case Kind::other: return "other copies";
    case Kind::warp: return fmt::format("CTA slot {} warp {}{}{}", slot, index, what.empty() ? "" : ": ", what);
    case Kind::mbarrier: return fmt::format("CTA slot {} {}", slot, what);
  }
  return {};
}

std::string name_of(const Track& track, const std::map<Track, Role>& roles,
                    const std::map<Track, std::string>& mbarriers) {
  if (const auto role = roles.find(track); role != roles.end()) return track.name(role->second.name());
  const auto mbarrier = mbarriers.find(track);
  return track.name(mbarrier != mbarriers.end() ? mbarrier->second : "");
}

Timeline::Timeline(TimelineLimits limits) : Observer(operations | synchronisation | waits | traffic), limits_(limits) {}

class Timeline::Another final : public Timeline {
 public:
  explicit Another(Timeline& main) : Timeline(main.limits_) {
    constexpr uint32_t kMostCtas = 32;
    main_ = &main;
    first_slot_ = kMostCtas * ++main.beside_;
  }

 private:
  void take(const Launch& launch, const KernelTimeline& timeline) override { main_->take(launch, timeline); }
};

std::unique_ptr<Observer> Timeline::another() { return std::make_unique<Another>(*this); }

void Timeline::on_launch(const Launch& launch) {
  active_ = (main_ ? main_ : this)->kernels_++ < limits_.kernels;
  parts_.clear(launch);
  mbarriers_.clear();
}

void Timeline::on_end(const Launch& launch, const LaunchStats*) {
  if (active_) take(launch, whole(launch));
  active_ = false;
}

void Timeline::add(Part& part, Span span) {
  if (part.spans.size() >= limits_.spans) {
    ++part.left_out;
    return;
  }
  part.spans.push_back(std::move(span));
}

void Timeline::on_cta(const Cta& cta, bool starts, uint64_t time) {
  if (!active_) return;
  Part& part = parts_.of(cta);
  std::vector<bool>& taken = part.taken[cta.sm.index];
  if (starts) {
    const auto free = std::find(taken.begin(), taken.end(), false);
    const uint32_t slot = uint32_t(free - taken.begin());
    if (free == taken.end())
      taken.push_back(true);
    else
      *free = true;
    part.places[cta.key] = {cta.sm.index, first_slot_ + slot, time, false};
    return;
  }
  const auto place = part.places.find(cta.key);
  if (place == part.places.end()) return;
  const auto [sm, slot, begin, ended] = place->second;
  place->second.ended = true;
  taken[slot - first_slot_] = false;
  if (shown(sm)) part.stays.push_back({sm, slot, cta.key, begin, time});
}

void Timeline::on_issue(const AsyncOperation& o) {
  if (!active_) return;
  Part& part = parts_.of(o);
  const auto place = part.places.find(o.who.cta);
  if (place != part.places.end() && shown(place->second.sm))
    part.roles[{Track::Kind::warp, place->second.sm, place->second.slot, uint32_t(o.who.warp)}].add(o.kind);
  if (!shown(o.sm)) return;
  if (is_copy(o.kind)) part.changes.push_back({o.sm, o.issued, int64_t(o.bytes), 0});
  if (is_mma(o.kind)) part.changes.push_back({o.sm, o.issued, 0, 1});
}

void Timeline::on_complete(const AsyncOperation& o) {
  if (!shown(o.sm)) return;
  Part& part = parts_.of(o);
  if (is_copy(o.kind)) part.changes.push_back({o.sm, o.end, -int64_t(o.bytes), 0});
  if (is_mma(o.kind)) part.changes.push_back({o.sm, o.end, 0, -1});
  using Kind = AsyncOperation::Kind;
  Track::Kind track = Track::Kind::other;
  if (is_copy(o.kind)) track = Track::Kind::tma;
  if (is_mma(o.kind) || o.kind == Kind::tmem_copy || o.kind == Kind::tmem_shift) track = Track::Kind::tensor_core;
  if (o.kind == Kind::commit) track = Track::Kind::commit;
  if (o.kind == Kind::tmem_load || o.kind == Kind::tmem_store) track = Track::Kind::tmem;
  Span span;
  span.track = {track, o.sm, 0, 0};
  span.name = tinygpu::name_of(o.kind);
  span.who = o.who;
  span.begin = o.begin;
  span.end = o.end;
  span.bytes = o.bytes;
  span.issued = o.issued;
  span.busy = o.busy;
  span.operation = o.id;
  // Of a commit's operations the one issued last is complete last.
  if (o.kind == Kind::commit && !o.after.empty()) span.caused_by.push_back(o.after.back());
  add(part, std::move(span));
}

void Timeline::on_sync(const Sync& s) {
  if (!shown(s.cta->sm.index)) return;
  Part& part = parts_.of(*s.cta);
  switch (s.kind) {
    case Sync::Kind::init: part.barriers[{s.cta, s.offset}] = {s.time, {}, ~0ull, {}}; break;
    case Sync::Kind::inval: part.barriers.erase({s.cta, s.offset}); break;
    case Sync::Kind::arrive:
    case Sync::Kind::complete_tx:
      if (s.who && s.who->operation) part.barriers[{s.cta, s.offset}].operations.push_back(s.who->operation);
      break;
    case Sync::Kind::phase: {
      Barrier& b = part.barriers[{s.cta, s.offset}];
      const auto place = part.places.find(s.cta->key);
      Span span;
      span.track = {Track::Kind::mbarrier, s.cta->sm.index, place == part.places.end() ? 0 : place->second.slot,
                    s.offset};
      if (std::string& name = part.mbarriers[span.track]; name.empty()) name = mbarriers_.of(*s.cta, s.offset);
      span.name = fmt::format("phase {}", s.value);
      span.begin = b.begin;
      span.end = s.time;
      add(part, std::move(span));
      b.begin = s.time;
      b.last_phase = s.value;
      b.ended_by = std::move(b.operations);
      b.operations.clear();
      break;
    }
    case Sync::Kind::passed: {
      if (!s.who) break;
      const auto wait = part.waits.find({s.who->cta, s.who->warp});
      if (wait == part.waits.end() || wait->second.offset != s.offset) break;
      const auto b = part.barriers.find({s.cta, s.offset});
      if (b != part.barriers.end() && b->second.last_phase == s.value)
        part.spans[wait->second.span].caused_by = b->second.ended_by;
      part.waits.erase(wait);
      break;
    }
    default: break;
  }
}

void Timeline::on_wait(const Wait& w) {
  const Cta& cta = w.warp.cta();
  if (!shown(cta.sm.index)) return;
  Part& part = parts_.of(cta);
  const auto place = part.places.find(cta.key);
  Span span;
  span.track = {Track::Kind::warp, cta.sm.index, place == part.places.end() ? 0 : place->second.slot, w.warp.index()};
  span.name = name_of(w.group.reason, mbarriers_);
  span.who = origin_of(w);
  span.begin = w.begin;
  span.end = w.end;
  const size_t index = part.spans.size();
  add(part, std::move(span));
  if (w.group.reason.kind == BlockReason::Kind::mbarrier && index < part.spans.size())
    part.waits[{cta.key, int(w.warp.index())}] = {index, w.group.reason.address};
}

void Timeline::on_traffic(const MemoryTraffic& t) {
  if (!shown(t.sm) || !(t.l2_bytes || t.missed)) return;
  const uint64_t time = t.time - t.time % KernelTimeline::kTrafficCycles;
  auto& sum =
      parts_.of(t.partition).traffic.try_emplace({t.sm, time}, KernelTimeline::Traffic{t.sm, time, 0, 0}).first->second;
  sum.l2 += t.l2_bytes;
  sum.device += uint64_t(L2Cache::kLine) * t.missed;
}

KernelTimeline Timeline::whole(const Launch& launch) {
  KernelTimeline t;
  t.begin = t.end = launch.start_time;
  for (Part& part : parts_) {
    t.spans.insert(t.spans.end(), std::make_move_iterator(part.spans.begin()),
                   std::make_move_iterator(part.spans.end()));
    t.changes.insert(t.changes.end(), part.changes.begin(), part.changes.end());
    for (const auto& [key, traffic] : part.traffic) t.traffic.push_back(traffic);
    t.stays.insert(t.stays.end(), part.stays.begin(), part.stays.end());
    for (const auto& [track, role] : part.roles) t.roles[track].add(role);
    t.mbarriers.insert(part.mbarriers.begin(), part.mbarriers.end());
    t.left_out += part.left_out;
  }
  std::stable_sort(t.spans.begin(), t.spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.track, a.begin, a.end) < std::tie(b.track, b.begin, b.end);
  });
  std::stable_sort(t.changes.begin(), t.changes.end(),
                   [](const auto& a, const auto& b) { return std::tie(a.sm, a.time) < std::tie(b.sm, b.time); });
  std::stable_sort(t.traffic.begin(), t.traffic.end(),
                   [](const auto& a, const auto& b) { return std::tie(a.sm, a.time) < std::tie(b.sm, b.time); });
  std::unordered_map<uint64_t, size_t> operations;
  std::vector<uint64_t> free;  // by row of the present track
  for (size_t i = 0; i < t.spans.size(); ++i) {
    Span& s = t.spans[i];
    t.end = std::max(t.end, s.end);
    if (i && t.spans[i - 1].track != s.track) free.clear();
    while (s.row < free.size() && free[s.row] > s.begin) ++s.row;
    if (s.row == free.size()) free.push_back(0);
    free[s.row] = std::max(s.end, s.begin + 1);
    if (s.operation) operations[s.operation] = i;
  }
  // A fault ends a launch while CTAs are on their SMs.
  for (const Part& part : parts_)
    for (const auto& [id, place] : part.places)
      if (!place.ended && shown(place.sm))
        t.stays.push_back({place.sm, place.slot, id, place.begin, std::max(place.begin, t.end)});
  for (size_t i = 0; i < t.spans.size(); ++i)
    for (const uint64_t id : t.spans[i].caused_by)
      if (const auto from = operations.find(id); from != operations.end()) t.arrows.push_back({from->second, i});
  return t;
}

}  // namespace tinygpu::observe
