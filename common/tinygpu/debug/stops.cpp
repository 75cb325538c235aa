#include "common/tinygpu/debug/stops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu::debug {
namespace {

Dim3 dim3_of(const Json& j) { return {j.at(0), j.at(1), j.at(2)}; }

std::string text_of(const Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

/// The ops of a function by the lines that they stand for, inlined calls' too.
using OpsOfLines = std::unordered_map<uint32_t, std::map<int, std::vector<uint32_t>>>;
OpsOfLines ops_of_lines(const std::vector<SourceLines::Op>& places) {
  OpsOfLines out;
  const auto add = [&](SourceLine l, uint32_t op) {
    if (!l.line) return;
    std::vector<uint32_t>& ops = out[l.file][l.line];
    if (ops.empty() || ops.back() != op) ops.push_back(op);
  };
  for (uint32_t op = 0; op < places.size(); ++op) {
    add(places[op].own, op);
    for (const SourceLine& l : places[op].callers) add(l, op);
  }
  return out;
}

/// The first line from `wanted` on that has code; 0: the function is not around that line.
int line_with_code(const OpsOfLines& lines, const std::vector<uint32_t>& files, int wanted) {
  bool before = false;
  int best = 0;
  for (const uint32_t file : files) {
    const auto all = lines.find(file);
    if (all == lines.end()) continue;
    before |= all->second.begin()->first <= wanted;
    const auto from = all->second.lower_bound(wanted);
    if (from != all->second.end() && (!best || from->first < best)) best = from->first;
  }
  return best == wanted || before ? best : 0;
}

}  // namespace

bool WarpName::is(const Warp& w) const { return w.index() == warp && w.cta().key == CtaKey{grid, cta}; }

void to_json(Json& j, const WarpName& w) {
  j = {{"grid", w.grid}, {"cta", {w.cta.x, w.cta.y, w.cta.z}}, {"warp", w.warp}};
}
void from_json(const Json& j, WarpName& w) { w = {j.at("grid"), dim3_of(j.at("cta")), j.at("warp")}; }
void from_json(const Json& j, Condition& c) { c = {j.at("what"), j.at("comparison"), j.at("value")}; }
void from_json(const Json& j, Breakpoint& b) {
  b = {j.value("id", 0),
       j.value("file", ""),
       j.value("line", 0),
       j.value("ptx_line", 0),
       j.value("kernel", ""),
       j.value("conditions", std::vector<Condition>()),
       j.value("skip", uint64_t(0))};
}
void from_json(const Json& j, Watch& w) {
  w = {.id = j.value("id", 0),
       .space = j.at("space"),
       .cta = {},
       .begin = j.value("begin", uint64_t(0)),
       .end = j.value("end", uint64_t(0)),
       .lane = j.value("lane", 0u),
       .lanes = j.value("lanes", 128u),
       .column = j.value("column", 0u),
       .columns = j.value("columns", 1u),
       .reads = j.value("reads", false)};
  if (j.contains("cta")) w.cta = dim3_of(j["cta"]);
}

void Stops::set(const Json& wanted) {
  breakpoints_ = wanted.value("breakpoints", std::vector<Breakpoint>());
  watches_ = wanted.value("watches", std::vector<Watch>());
  events_ = wanted.value("events", std::vector<std::string>());
  limit_ = wanted.value("limit", ~uint64_t(0));
  cycle_ = wanted.value("cycle", int64_t(-1));
  step_.reset();
  if (wanted.contains("step")) {
    const Json& s = wanted["step"];
    step_ = Step{s.at("warp").get<WarpName>(), s.value("line", false),
                 s.value("over", false),       {s.value("file", 0u), s.value("at", 0)},
                 s.value("depth", size_t(0)),  s.value("inlined", size_t(0))};
  }
  diagnosis_ = wanted.value("diagnosis", -1);
  diagnoses_behind_ = wanted.value("diagnoses_behind", size_t(0));
  event_.reset();
  const Json breakpoints = wanted.value("breakpoints", Json());
  if (breakpoints == marked_) return;
  marked_ = breakpoints;
  marks_.clear();
}

const Stops::Marks& Stops::marks(const Launch& launch, const Function& f) {
  const auto [it, fresh] = marks_.try_emplace(&f);
  if (!fresh) return it->second;
  Marks& marks = it->second;
  marks.ops.assign(f.ops.size(), false);
  const auto& places = lines_.of(launch, f);
  const OpsOfLines ops = ops_of_lines(places);
  for (uint32_t b = 0; b < breakpoints_.size(); ++b) {
    const Breakpoint& wanted = breakpoints_[b];
    std::vector<SourceLine>& lines = marks.lines.emplace_back();
    if (!wanted.kernel.empty() && f.name.find(wanted.kernel) == std::string::npos) continue;
    const auto mark = [&](uint32_t op) {
      std::vector<uint32_t>& here = marks.breakpoints[op];
      if (here.empty() || here.back() != b) here.push_back(b);
      marks.ops[op] = true;
    };
    if (wanted.ptx_line) {
      for (uint32_t op = 0; op < f.ops.size(); ++op)
        if (places[op].ptx_line == wanted.ptx_line && (!op || places[op - 1].ptx_line != wanted.ptx_line)) mark(op);
    } else if (wanted.file.empty()) {
      if (!f.ops.empty()) mark(0);
    } else {
      const std::vector<uint32_t> files = lines_.files_like(wanted.file);
      const int line = line_with_code(ops, files, wanted.line);
      for (const uint32_t file : files) {
        const auto all = ops.find(file);
        if (!line || all == ops.end()) continue;
        lines.push_back({file, line});
        const auto at = all->second.find(line);
        if (at == all->second.end()) continue;
        // Where the line begins, or a jump may lead into it.
        for (const uint32_t op : at->second)
          if (!op || !places[op - 1].at(lines.back()) || f.ops[op].flags & Op::leader) mark(op);
      }
    }
  }
  return marks;
}

bool Stops::holds(const Condition& c, const Warp& w, const Group& g) const {
  const Dim3& cta = w.cta().key.id;
  const auto compare = [&](int64_t is) {
    return c.comparison == "=="   ? is == c.value
           : c.comparison == "!=" ? is != c.value
           : c.comparison == "<"  ? is < c.value
           : c.comparison == "<=" ? is <= c.value
           : c.comparison == ">"  ? is > c.value
                                  : is >= c.value;
  };
  if (c.what == "lane") {
    for (uint32_t m = g.mask; m; m &= m - 1)
      if (compare(__builtin_ctz(m))) return true;
    return false;
  }
  if (c.what == "warp") return compare(w.index());
  if (c.what == "cta" || c.what == "cta.x") return compare(cta.x);
  if (c.what == "cta.y") return compare(cta.y);
  if (c.what == "cta.z") return compare(cta.z);
  if (c.what == "sm") return compare(w.sm().index);
  if (c.what == "grid") return compare(int64_t(w.cta().key.grid));
  return c.what == "cycle" && compare(int64_t(w.time() - w.partition().launch.start_time));
}

std::optional<Hit> Stops::arrived(const Warp& w, const Group& g, const Op* from) {
  if (!g.function || g.pc >= g.function->ops.size()) return {};
  if (cycle_ >= 0 && int64_t(w.time() - w.partition().launch.start_time) >= cycle_) return Hit{"cycle", 0, ""};
  if (step_ && step_->warp.is(w)) {
    const SourceLines::Op& at = lines_.of(w.partition().launch, *g.function)[g.pc];
    SourceLine here = at.own;
    if (step_->over && at.callers.size() > step_->inlined) here = at.callers[at.callers.size() - 1 - step_->inlined];
    if (!step_->line || ((!step_->over || g.stack.size() <= step_->depth) && here.line &&
                         (here != step_->from || g.stack.size() != step_->depth)))
      return Hit{"step", 0, ""};
  }
  if (breakpoints_.empty()) return {};
  const Marks& known = marks(w.partition().launch, *g.function);
  if (!known.ops[g.pc]) return {};
  const auto& places = lines_.of(w.partition().launch, *g.function);
  for (const uint32_t b : known.breakpoints.at(g.pc)) {
    Breakpoint& wanted = breakpoints_[b];
    if (!wanted.file.empty()) {
      const auto here = [&](const SourceLines::Op& at) {
        return std::ranges::any_of(known.lines[b], [&](const SourceLine& line) { return at.at(line); });
      };
      // A jump inside the line is no new arrival.
      if (from && here(places[size_t(from - g.function->ops.data())])) continue;
    }
    if (!std::ranges::all_of(wanted.conditions, [&](const Condition& c) { return holds(c, w, g); })) continue;
    if (wanted.skip) {
      --wanted.skip;
      continue;
    }
    return Hit{"breakpoint", wanted.id, ""};
  }
  return {};
}

void Stops::happened(const AsyncOperation& o) {
  if (std::ranges::find(events_, "complete") == events_.end()) return;
  event_ = Hit{"event", 0,
               fmt::format("{} of CTA {}, warp {} is complete", name_of(o.kind), text_of(o.who.cta.id), o.who.warp)};
}

void Stops::happened(const Sync& s) {
  if (s.kind != Sync::Kind::phase || std::ranges::find(events_, "phase") == events_.end()) return;
  event_ = Hit{"event", 0,
               fmt::format("phase {} of {} of CTA {} has ended", s.value, mbarrier_name(*s.cta, s.offset),
                           text_of(s.cta->key.id))};
}

void Stops::touched(const MemoryAccess& a) {
  for (const Watch& w : watches_) {
    const bool shared = a.space == ptx::Space::shared;
    if (w.space != (shared ? "shared" : "global") || (a.kind == AccessKind::read && !w.reads)) continue;
    if (shared && w.cta && (!a.cta || a.cta->key.id != *w.cta)) continue;
    a.each([&](uint64_t address, uint64_t bytes, int lane) {
      if (event_ || address >= w.end || w.begin >= address + bytes) return;
      const Origin who = a.who();
      event_ = Hit{"watchpoint", w.id,
                   fmt::format("{} of {} bytes at {:#x} by {} of CTA {}, warp {}{}",
                               a.kind == AccessKind::read ? "a read" : "a write", bytes, address,
                               who.operation ? "an asynchronous operation" : "threads", text_of(who.cta.id), who.warp,
                               lane >= 0 ? fmt::format(", lane {}", lane) : "")};
    });
  }
}

void Stops::touched(const TmemAccess& a) {
  for (const Watch& w : watches_)
    if (w.space == "tmem" && (a.kind != AccessKind::read || w.reads) && !event_ && (!w.cta || a.who.cta.id == *w.cta) &&
        a.cells.overlaps({w.lane, w.lanes, w.column, w.columns}))
      event_ = Hit{
          "watchpoint", w.id,
          fmt::format("{} of Tensor Memory, lanes {} to {}, columns {} to {}, by CTA {}, warp {}",
                      a.kind == AccessKind::read ? "a read" : "a write", a.cells.lane, a.cells.lane + a.cells.lanes - 1,
                      a.cells.column, a.cells.column + a.cells.columns - 1, text_of(a.who.cta.id), a.who.warp)};
}

}  // namespace tinygpu::debug
