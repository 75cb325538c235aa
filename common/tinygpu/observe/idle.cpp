#include "common/tinygpu/observe/idle.h"

#include <algorithm>

#include "common/tinygpu/program/lower/decoder.h"

namespace tinygpu::observe {
namespace {

/// An operation's number in its partition, from 0 on.
size_t number_of(uint64_t id) { return size_t(id & ((uint64_t(1) << AsyncOperation::kPartitionShift) - 1)) - 1; }

}  // namespace

const char* name_of(IdleCause cause) {
  switch (cause) {
    case IdleCause::loads: return "loads";
    case IdleCause::threads: return "other threads";
    case IdleCause::mmas: return "MMAs under way";
    case IdleCause::instructions: return "instructions";
    case IdleCause::epilogue: return "epilogue";
    case IdleCause::set_up: return "set-up";
    case IdleCause::no_cta: return "no CTA";
  }
  return "";
}

void IdleCauses::Sum::add(const Sum& other) {
  all += other.all;
  busy += other.busy;
  for (const auto& [cause, cycles] : other.idle) idle[cause] += cycles;
  for (const auto& [cause, places] : other.waits)
    for (const auto& [place, cycles] : places) waits[cause][place] += cycles;
}

void IdleCauses::on_cta(const Cta& cta, bool starts, uint64_t time) {
  Part& part = parts_.of(cta);
  if (starts) {
    part.ctas[cta.key].start = time;
    return;
  }
  fold(part, part.ctas[cta.key], time);
  part.ctas.erase(cta.key);
  std::erase_if(part.barriers, [&](const auto& b) { return b.first.first == cta.key; });
}

void IdleCauses::on_issue(const AsyncOperation& o) {
  Part& part = parts_.of(o);
  part.operations.resize(number_of(o.id) + 1);
  part.operations.back() = o.kind;
  const auto it = part.ctas.find(o.who.cta);
  if (it == part.ctas.end()) return;
  WarpRecord& warp = it->second.warps[o.who.warp];
  warp.role.add(o.kind);
  if (!is_mma(o.kind)) return;
  warp.feeds = true;
  warp.tensor_core = o.sm;
  it->second.first_mma = std::min(it->second.first_mma, o.issued);
}

void IdleCauses::on_complete(const AsyncOperation& o) {
  if (!is_mma(o.kind)) return;
  Part& part = parts_.of(o);
  const auto it = part.ctas.find(o.who.cta);
  if (it != part.ctas.end()) it->second.last_mma = std::max(it->second.last_mma, o.end);
  std::vector<Interval>& busy = part.sms[o.sm].busy;
  // MMAs of a chain follow each other without a gap.
  if (!busy.empty() && busy.back().end == o.begin)
    busy.back().end += o.busy;
  else
    busy.push_back({o.begin, o.begin + o.busy});
}

IdleCause IdleCauses::cause_of(Part& part, const Origin& who) {
  using Kind = AsyncOperation::Kind;
  if (who.operation) {
    const size_t number = number_of(who.operation);
    if (number >= part.operations.size()) return IdleCause::threads;
    return part.operations[number] == Kind::commit ? IdleCause::mmas : IdleCause::loads;
  }
  const auto cta = part.ctas.find(who.cta);
  if (cta == part.ctas.end()) return IdleCause::threads;
  return cta->second.warps[who.warp].role.has(Kind::tmem_load) ? IdleCause::epilogue : IdleCause::threads;
}

void IdleCauses::on_sync(const Sync& s) {
  Part& part = parts_.of(*s.cta);
  switch (s.kind) {
    case Sync::Kind::arrive:
    case Sync::Kind::complete_tx:
      if (s.who) part.barriers[{s.cta->key, s.offset}].signalled = cause_of(part, *s.who);
      break;
    case Sync::Kind::phase: {
      Barrier& b = part.barriers[{s.cta->key, s.offset}];
      b.ended = b.signalled;
      break;
    }
    case Sync::Kind::passed: {
      const auto cta = s.who ? part.ctas.find(s.who->cta) : part.ctas.end();
      if (cta == part.ctas.end()) break;
      WarpRecord& warp = cta->second.warps[s.who->warp];
      if (!warp.open || warp.offset != s.offset) break;
      warp.blocked.back().cause = part.barriers[{s.cta->key, s.offset}].ended;
      warp.open = false;
      break;
    }
    default: break;
  }
}

void IdleCauses::on_wait(const Wait& w, MbarrierNames& mbarriers) {
  using Kind = BlockReason::Kind;
  Part& part = parts_.of(w.warp.cta());
  WarpRecord& warp = part.ctas[w.warp.cta().key].warps[int(w.warp.index())];
  const BlockReason& reason = w.group.reason;
  IdleCause cause = IdleCause::instructions;
  if (reason.kind == Kind::mbarrier || reason.kind == Kind::cta_barrier || reason.kind == Kind::cluster_barrier)
    cause = IdleCause::threads;
  // PTX ISA 9.7.15.7.3; tcgen05.wait and wait_group of copies are what a warp does for its own epilogue.
  if (reason.kind == Kind::async_group && reason.id == kAsyncWgmma) cause = IdleCause::mmas;
  warp.open = reason.kind == Kind::mbarrier;
  SiteCost& site = part.sites[{w.group.function, &w.op, warp.open ? reason.address : ~0u}];
  if (site.what.empty()) site.what = name_of(reason, mbarriers);
  warp.blocked.push_back({{w.begin, w.end}, cause, &site});
  warp.offset = reason.address;
}

void IdleCauses::fold(Part& part, const CtaRecord& cta, uint64_t end) {
  for (const auto& [index, warp] : cta.warps) {
    if (!warp.feeds) continue;
    std::vector<Blocked>& states = part.sms[warp.tensor_core].states;
    SiteCost* site = nullptr;
    const auto add = [&](uint64_t from, uint64_t to, IdleCause cause) {
      if (from >= to) return;
      states.push_back({{from, to}, cause});
      if (site) site->cycles[cause] += to - from;
    };
    const uint64_t first = std::max(cta.start, std::min(cta.first_mma, end)),
                   last = std::max(first, std::min(cta.last_mma, end));
    uint64_t at = cta.start;
    // What lies before the first MMA is set-up or its load, what lies behind the last one the epilogue.
    const auto state = [&](uint64_t from, uint64_t to, IdleCause cause) {
      add(from, std::min(to, first), cause == IdleCause::loads ? cause : IdleCause::set_up);
      add(std::max(from, first), std::min(to, last), cause);
      add(std::max(from, last), to, IdleCause::epilogue);
    };
    for (const Blocked& b : warp.blocked) {
      if (b.end <= at) continue;  // another group of the warp waited meanwhile
      state(at, std::max(at, b.begin), IdleCause::instructions);
      site = b.site;
      state(std::max(at, b.begin), b.end, b.cause);
      site = nullptr;
      at = b.end;
    }
    state(at, end, IdleCause::instructions);
  }
}

IdleCauses::Sum IdleCauses::sum(const Launch& launch, uint64_t cycles) const {
  const uint64_t begin = launch.start_time, end = begin + cycles;
  constexpr int kCauses = int(IdleCause::no_cta);
  struct Edge {
    uint64_t time;
    int state;  // a cause, or kCauses: an MMA
    int change;
  };
  Sum out;
  for (const Part& part : parts_) {
    for (const auto& [site, cost] : part.sites)
      for (const auto& [cause, waited] : cost.cycles)
        out.waits[cause][{cost.what, place_of(where_at(launch, *site.function, *site.op))}] += waited;
    for (const auto& [index, sm] : part.sms) {
      std::vector<Edge> edges;
      const auto add = [&](const Interval& i, int state) {
        edges.push_back({std::clamp(i.begin, begin, end), state, 1});
        edges.push_back({std::clamp(i.end, begin, end), state, -1});
      };
      for (const Interval& i : sm.busy) add(i, kCauses);
      for (const Blocked& b : sm.states) add(b, int(b.cause));
      edges.push_back({end, kCauses, 0});
      std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
      std::array<int, kCauses + 1> active{};
      uint64_t at = begin;
      for (const Edge& e : edges) {
        const uint64_t cycles = e.time - at;
        if (active[kCauses])
          out.busy += cycles;
        else if (cycles)
          out.idle[IdleCause(std::find_if(active.begin(), active.begin() + kCauses, [](int n) { return n > 0; }) -
                             active.begin())] += cycles;
        active[size_t(e.state)] += e.change;
        at = e.time;
      }
      out.all += end - begin;
    }
  }
  return out;
}

}  // namespace tinygpu::observe
