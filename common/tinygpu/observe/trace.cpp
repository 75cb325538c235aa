#include "common/tinygpu/observe/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/machine/gpu.h"

namespace tinygpu::observe {
namespace {

using Json = nlohmann::json;

/// The viewer's clock counts microseconds; a cycle is shown as a nanosecond.
double ruler(uint64_t cycles) { return double(cycles) / 1000; }

bool is_copy(AsyncOperation::Kind kind) {
  using Kind = AsyncOperation::Kind;
  return kind == Kind::tensor_load || kind == Kind::bulk_load || kind == Kind::tensor_store || kind == Kind::bulk_store;
}
bool is_mma(AsyncOperation::Kind kind) {
  return kind == AsyncOperation::Kind::mma || kind == AsyncOperation::Kind::wgmma;
}

}  // namespace

Trace::Trace(std::ostream& out, TraceLimits limits)
    : Observer(operations | synchronisation | waits), out_(out), limits_(limits) {
  out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
}

Trace::~Trace() {
  write_rows();
  out_ << "\n]}\n";
  out_.flush();
}

void Trace::write(const Json& event) {
  out_ << (first_ ? "\n" : ",\n") << event.dump();
  first_ = false;
}

void Trace::on_launch(const Launch& launch) {
  active_ = kernels_++ < limits_.kernels;
  parts_.clear();
  parts_.resize(launch.domains().size());
}

void Trace::on_end(const Launch& launch, const LaunchStats*) {
  if (active_) write_kernel(launch);
  active_ = false;
}

Trace::Part& Trace::part_of(const Cta& cta) { return parts_[cta.cluster.domain.index]; }

void Trace::add(Part& part, Span span) {
  if (part.spans.size() >= limits_.spans) {
    ++part.left_out;
    return;
  }
  part.spans.push_back(std::move(span));
}

void Trace::on_cta(const Cta& cta, bool starts, uint64_t) {
  if (!active_) return;
  Part& part = part_of(cta);
  const CtaId id{cta.id.x, cta.id.y, cta.id.z};
  std::vector<bool>& taken = part.taken[cta.sm.index];
  if (starts) {
    const auto free = std::find(taken.begin(), taken.end(), false);
    const uint32_t slot = uint32_t(free - taken.begin());
    if (free == taken.end())
      taken.push_back(true);
    else
      *free = true;
    part.places[id] = {cta.sm.index, slot};
    return;
  }
  if (const auto place = part.places.find(id); place != part.places.end()) taken[place->second.slot] = false;
}

void Trace::on_issue(const AsyncOperation& o) {
  if (!active_) return;
  Part& part = parts_[o.domain()];
  const auto place = part.places.find({o.who.cta.x, o.who.cta.y, o.who.cta.z});
  if (place != part.places.end() && shown(place->second.sm))
    part.roles[{Track::Kind::warp, place->second.sm, place->second.slot, uint32_t(o.who.warp)}].add(o.kind);
  if (!shown(o.sm)) return;
  if (is_copy(o.kind)) part.changes.push_back({o.sm, o.issued, int64_t(o.bytes), 0});
  if (is_mma(o.kind)) part.changes.push_back({o.sm, o.issued, 0, 1});
}

void Trace::on_complete(const AsyncOperation& o) {
  if (!shown(o.sm)) return;
  Part& part = parts_[o.domain()];
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
  span.operation = o.id;
  // Of a commit's operations the one issued last is complete last.
  if (!o.after.empty()) span.caused_by.push_back(o.after.back());
  add(part, std::move(span));
}

void Trace::on_sync(const Sync& s) {
  if (!shown(s.cta->sm.index)) return;
  Part& part = part_of(*s.cta);
  switch (s.kind) {
    case Sync::Kind::init: part.barriers[{s.cta, s.offset}] = {s.time, {}, ~0ull, {}}; break;
    case Sync::Kind::inval: part.barriers.erase({s.cta, s.offset}); break;
    case Sync::Kind::arrive:
    case Sync::Kind::complete_tx:
      if (s.who && s.who->operation) part.barriers[{s.cta, s.offset}].operations.push_back(s.who->operation);
      break;
    case Sync::Kind::phase: {
      Barrier& b = part.barriers[{s.cta, s.offset}];
      const auto place = part.places.find({s.cta->id.x, s.cta->id.y, s.cta->id.z});
      Span span;
      span.track = {Track::Kind::mbarrier, s.cta->sm.index, place == part.places.end() ? 0 : place->second.slot,
                    s.offset};
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
      const auto wait = part.waits.find({{s.who->cta.x, s.who->cta.y, s.who->cta.z}, s.who->warp});
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

void Trace::on_wait(const Wait& w) {
  const Cta& cta = w.warp.cta();
  if (!shown(cta.sm.index)) return;
  Part& part = part_of(cta);
  const CtaId id{cta.id.x, cta.id.y, cta.id.z};
  const auto place = part.places.find(id);
  Span span;
  span.track = {Track::Kind::warp, cta.sm.index, place == part.places.end() ? 0 : place->second.slot, w.warp.index()};
  span.name = name_of(w.group.reason);
  span.who = origin_of(w);
  span.begin = w.begin;
  span.end = w.end;
  const size_t index = part.spans.size();
  add(part, std::move(span));
  if (w.group.reason.kind == BlockReason::Kind::mbarrier && index < part.spans.size())
    part.waits[{id, int(w.warp.index())}] = {index, w.group.reason.address};
}

void Trace::write_kernel(const Launch& launch) {
  uint64_t end = launch.start_time, left_out = 0;
  std::vector<const Span*> spans;
  std::vector<Change> changes;
  for (const Part& part : parts_) {
    for (const Span& s : part.spans) spans.push_back(&s);
    changes.insert(changes.end(), part.changes.begin(), part.changes.end());
    for (const auto& [track, role] : part.roles) roles_[track].add(role);
    left_out += part.left_out;
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
    return std::tie(a->track, a->begin, a->end) < std::tie(b->track, b->begin, b->end);
  });

  struct Shown {
    uint32_t pid, tid;
    uint64_t at;  // a moment within the span
  };
  std::unordered_map<uint64_t, Shown> operations;
  std::vector<std::pair<const Span*, Shown>> waiting;
  std::vector<uint64_t> free;  // by row of the present track
  const Track* track = nullptr;
  for (const Span* s : spans) {
    end = std::max(end, s->end);
    if (!track || *track != s->track) free.clear();
    track = &s->track;
    size_t row = 0;
    while (row < free.size() && free[row] > s->begin) ++row;
    if (row == free.size()) free.push_back(0);
    free[row] = std::max(s->end, s->begin + 1);
    const uint32_t tid = rows_.try_emplace({s->track, uint32_t(row)}, uint32_t(rows_.size() + 1)).first->second;
    Json args = {{"cycles", s->end - s->begin}};
    if (s->who.launch) {
      const Where where = s->who.where();
      args["ptx"] = where.ptx_text;
      args["at"] = place_of(where);
      args["thread"] = fmt::format("CTA ({},{},{}), warp {}{}", where.cta[0], where.cta[1], where.cta[2], where.warp,
                                   s->who.lane < 0 ? "" : fmt::format(", lane {}", s->who.lane));
    }
    if (s->bytes) args["bytes"] = s->bytes;
    if (s->operation) args["issued"] = s->issued;
    const uint32_t pid = s->track.sm + 1;
    write({{"ph", "X"},
           {"pid", pid},
           {"tid", tid},
           {"ts", ruler(s->begin)},
           {"dur", ruler(std::max(s->end, s->begin + 1) - s->begin)},
           {"name", s->name},
           {"args", args}});
    const Shown here{pid, tid, std::max(s->begin, s->end - (s->end > s->begin))};
    if (s->operation) operations[s->operation] = here;
    if (!s->caused_by.empty()) waiting.push_back({s, here});
  }
  for (const auto& [s, here] : waiting)
    for (const uint64_t id : s->caused_by) {
      const auto from = operations.find(id);
      if (from == operations.end()) continue;
      const Json common = {{"name", "ends"}, {"cat", "ends"}, {"id", ++arrows_}};
      Json start = common, finish = common;
      start.update({{"ph", "s"}, {"pid", from->second.pid}, {"tid", from->second.tid}, {"ts", ruler(from->second.at)}});
      finish.update({{"ph", "f"}, {"bp", "e"}, {"pid", here.pid}, {"tid", here.tid}, {"ts", ruler(here.at)}});
      write(start);
      write(finish);
    }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return std::tie(a.sm, a.time) < std::tie(b.sm, b.time); });
  int64_t bytes = 0, mmas = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    const Change& c = changes[i];
    if (i && changes[i - 1].sm != c.sm) bytes = mmas = 0;
    bytes += c.bytes;
    mmas += c.mmas;
    if (i + 1 < changes.size() && changes[i + 1].sm == c.sm && changes[i + 1].time == c.time) continue;
    const Json common = {{"ph", "C"}, {"pid", c.sm + 1}, {"ts", ruler(c.time)}};
    Json copies = common, products = common;
    copies.update({{"name", "bytes in flight"}, {"args", {{"TMA", bytes}}}});
    products.update({{"name", "MMAs in flight"}, {"args", {{"MMAs", mmas}}}});
    write(copies);
    write(products);
  }
  const uint32_t tid =
      rows_.try_emplace({Track{Track::Kind::kernel, 0, 0, 0}, 0}, uint32_t(rows_.size() + 1)).first->second;
  Json args = {{"cycles", end - launch.start_time}, {"spans left out", left_out}};
  write({{"ph", "X"},
         {"pid", 1},
         {"tid", tid},
         {"ts", ruler(launch.start_time)},
         {"dur", ruler(std::max<uint64_t>(1, end - launch.start_time))},
         {"name", readable_name(launch.config.kernel->name)},
         {"args", args}});
}

void Trace::write_rows() {
  std::map<uint32_t, bool> named;
  uint32_t order = 0;
  for (const auto& [key, tid] : rows_) {
    const auto& [track, row] = key;
    const uint32_t pid = track.sm + 1;
    if (!named[pid]) {
      named[pid] = true;
      write({{"ph", "M"},
             {"pid", pid},
             {"name", "process_name"},
             {"args", {{"name", fmt::format("SM {} (1 ns is 1 cycle)", track.sm)}}}});
      write({{"ph", "M"}, {"pid", pid}, {"name", "process_sort_index"}, {"args", {{"sort_index", pid}}}});
    }
    std::string name;
    switch (track.kind) {
      case Track::Kind::kernel: name = "kernel"; break;
      case Track::Kind::tma: name = "TMA"; break;
      case Track::Kind::tensor_core: name = "tensor core"; break;
      case Track::Kind::commit: name = "commits"; break;
      case Track::Kind::tmem: name = "Tensor Memory port"; break;
      case Track::Kind::other: name = "other copies"; break;
      case Track::Kind::warp: {
        const auto role = roles_.find(track);
        const std::string text = role == roles_.end() ? "" : role->second.name();
        name = fmt::format("CTA slot {} warp {}{}{}", track.slot, track.index, text.empty() ? "" : ": ", text);
        break;
      }
      case Track::Kind::mbarrier: name = fmt::format("CTA slot {} mbarrier {:#x}", track.slot, track.index); break;
    }
    if (row) name += fmt::format(" ({})", row + 1);
    write({{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", "thread_name"}, {"args", {{"name", name}}}});
    write(
        {{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", "thread_sort_index"}, {"args", {{"sort_index", ++order}}}});
  }
}

}  // namespace tinygpu::observe
