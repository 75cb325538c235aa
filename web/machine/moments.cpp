#include "web/machine/moments.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::web {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kSms = 4;         // as timelines show
constexpr size_t kMost = 40'000;     // entries of a list
constexpr uint32_t kMostRanges = 8;  // of an operation's shared memory

}  // namespace

void Moments::on_launch(const Launch& l) {
  start_ = l.start_time;
  whole_until_ = ~0ull;
  names_.clear();
  numbers_.clear();
  mbarriers_.clear();
  states_.clear();
  columns_.clear();
  operations_.clear();
}

bool Moments::kept(uint32_t sm, uint64_t time, size_t entries) {
  if (sm >= kSms) return false;
  if (entries < kMost) return true;
  whole_until_ = std::min(whole_until_, time);
  return false;
}

/// −1: it is on an SM that is not shown.
int64_t Moments::number_of(const Cta& cta, uint32_t offset) {
  if (cta.sm.index >= kSms) return -1;
  const auto [it, added] = numbers_.try_emplace({&cta, offset}, int64_t(mbarriers_.size()));
  if (added) mbarriers_.push_back({cta.sm.index, cta.key.id, offset, {}});
  return it->second;
}

void Moments::name(const Cta& cta, uint32_t offset, int64_t number) {
  if (number >= 0 && mbarriers_[size_t(number)].name.empty()) mbarriers_[size_t(number)].name = names_.of(cta, offset);
}

void Moments::on_cta(const Cta& cta, bool starts, uint64_t) {
  if (starts) return;
  std::erase_if(numbers_, [&](const auto& entry) {
    if (entry.first.first != &cta) return false;
    name(cta, entry.first.second, entry.second);
    return true;
  });
}

void Moments::on_end(const Launch&, const LaunchStats*) {
  for (const auto& [place, number] : numbers_) name(*place.first, place.second, number);
  numbers_.clear();
}

void Moments::on_sync(const Sync& s) {
  using Kind = Sync::Kind;
  switch (s.kind) {
    case Kind::init:
    case Kind::arrive:
    case Kind::expect_tx:
    case Kind::complete_tx:
    case Kind::phase: break;
    case Kind::inval: numbers_.erase({s.cta, s.offset}); return;
    default: return;
  }
  const auto found = s.cta->mbarriers.all().find(s.offset);
  if (found == s.cta->mbarriers.all().end() || !kept(s.cta->sm.index, s.time, states_.size())) return;
  // A CTA that comes later may lie where one lay that has exited.
  if (s.kind == Kind::init) numbers_.erase({s.cta, s.offset});
  const auto number = size_t(number_of(*s.cta, s.offset));
  // Its line may initialise several: how many is known when it is first used.
  if (s.kind != Kind::init) name(*s.cta, s.offset, int64_t(number));
  const MBarrier& b = found->second;
  states_.push_back({s.time - start_, uint32_t(number), b.phase, b.pending, b.expected, b.tx});
}

void Moments::on_issue(const AsyncOperation& o) {
  if (!kept(o.sm, o.issued, operations_.size())) return;
  Operation made{o.shared_from_this(), o.who.op ? int(o.who.where().ptx_line) : 0, {}};
  for (const auto& use : o.shared_uses)
    for (const auto& r : use.ranges)
      if (made.shared.size() < kMostRanges)
        made.shared.push_back(
            {r.offset, r.bytes, use.writes, use.signalled ? number_of(*use.signalled, use.signal) : -1});
  operations_.push_back(std::move(made));
}

void Moments::on_tensor_allocation(const TmemAllocation& a) {
  if (kept(a.sm, a.time, columns_.size())) columns_.push_back({a.time - start_, a.sm, a.cells, a.taken});
}

Json Moments::json() const {
  Json out = {{"mbarriers", Json::array()},
              {"states", Json::array()},
              {"operations", Json::array()},
              {"columns", Json::array()}};
  for (const Named& m : mbarriers_)
    out["mbarriers"].push_back(
        {{"sm", m.sm}, {"cta", {m.cta.x, m.cta.y, m.cta.z}}, {"offset", m.offset}, {"name", m.name}});
  std::vector<State> states = states_;
  std::ranges::stable_sort(states, {}, &State::time);
  for (const State& s : states) out["states"].push_back({s.time, s.mbarrier, s.phase, s.pending, s.expected, s.bytes});
  for (const Operation& made : operations_) {
    const AsyncOperation& o = *made.operation;
    Json one = {{"kind", tinygpu::name_of(o.kind)},
                {"sm", o.sm},
                {"issued", o.issued - start_},
                {"begin", o.begin ? Json(o.begin - start_) : Json()},
                {"end", o.end ? Json(o.end - start_) : Json()},
                {"bytes", o.bytes},
                {"line", made.line}};
    if (!made.shared.empty()) one["shared"] = made.shared;
    for (const auto& use : o.cells)
      if (use.sm == o.sm)
        one["cells"].push_back({use.cells.lane, use.cells.lanes, use.cells.column, use.cells.columns, use.writes});
    out["operations"].push_back(std::move(one));
  }
  std::vector<Columns> columns = columns_;
  std::ranges::stable_sort(columns, {}, &Columns::time);
  for (const Columns& c : columns) out["columns"].push_back({c.time, c.sm, c.cells.column, c.cells.columns, c.taken});
  if (whole_until_ != ~0ull) out["whole_until"] = whole_until_ - start_;
  return out;
}

}  // namespace tinygpu::web
