#include "common/tinygpu/observe/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/base/version.h"
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu::observe {
namespace {

/// The viewer's clock counts microseconds; a cycle is shown as a nanosecond.
double ruler(uint64_t cycles) { return double(cycles) / 1000; }

}  // namespace

Trace::Trace(std::ostream& out, TimelineLimits limits) : Timeline(limits), out_(out) {
  out_ << fmt::format(R"({{"displayTimeUnit":"ns","otherData":{{"version":"gen5 {}"}},"traceEvents":[)", kVersion);
}

Trace::~Trace() {
  write_rows();
  out_ << "\n]}\n";
  out_.flush();
}

void Trace::write(const nlohmann::json& event) {
  out_ << (first_ ? "\n" : ",\n") << event.dump();
  first_ = false;
}

uint32_t Trace::row_of(const Track& track, uint32_t row) {
  return rows_.try_emplace({track, row}, uint32_t(rows_.size() + 1)).first->second;
}

void Trace::take(const Launch& launch, const KernelTimeline& t) {
  for (const auto& [track, role] : t.roles) roles_[track].add(role);
  mbarriers_.insert(t.mbarriers.begin(), t.mbarriers.end());
  for (const Span& s : t.spans) {
    nlohmann::json args = {{"cycles", s.end - s.begin}};
    if (s.who.launch) {
      const Where where = s.who.where();
      args["ptx"] = where.ptx_text;
      args["at"] = place_of(where);
      args["thread"] = thread_of(where, s.who.lane);
    }
    if (s.bytes) args["bytes"] = s.bytes;
    if (s.operation) args["issued"] = s.issued;
    write({{"ph", "X"},
           {"pid", s.track.sm + 1},
           {"tid", row_of(s.track, s.row)},
           {"ts", ruler(s.begin)},
           {"dur", ruler(std::max(s.end, s.begin + 1) - s.begin)},
           {"name", s.name},
           {"args", args}});
  }
  for (const auto& [from, to] : t.arrows) {
    const nlohmann::json common = {{"name", "ends"}, {"cat", "ends"}, {"id", ++arrows_}};
    const auto end = [&](const Span& s, const char* phase) {
      nlohmann::json e = common;
      // A moment within the span.
      e.update({{"ph", phase},
                {"pid", s.track.sm + 1},
                {"tid", row_of(s.track, s.row)},
                {"ts", ruler(std::max(s.begin, s.end - (s.end > s.begin)))}});
      return e;
    };
    write(end(t.spans[from], "s"));
    nlohmann::json finish = end(t.spans[to], "f");
    finish["bp"] = "e";
    write(finish);
  }
  int64_t bytes = 0, mmas = 0;
  for (size_t i = 0; i < t.changes.size(); ++i) {
    const auto& c = t.changes[i];
    if (i && t.changes[i - 1].sm != c.sm) bytes = mmas = 0;
    bytes += c.bytes;
    mmas += c.mmas;
    if (i + 1 < t.changes.size() && t.changes[i + 1].sm == c.sm && t.changes[i + 1].time == c.time) continue;
    const nlohmann::json common = {{"ph", "C"}, {"pid", c.sm + 1}, {"ts", ruler(c.time)}};
    nlohmann::json copies = common, products = common;
    copies.update({{"name", "bytes in flight"}, {"args", {{"TMA", bytes}}}});
    products.update({{"name", "MMAs in flight"}, {"args", {{"MMAs", mmas}}}});
    write(copies);
    write(products);
  }
  // A counter's value stands until the next one: a pause needs a zero.
  constexpr uint64_t kSpan = KernelTimeline::kTrafficCycles;
  const auto sample = [&](uint32_t sm, uint64_t time, uint64_t l2, uint64_t device) {
    write({{"ph", "C"},
           {"pid", sm + 1},
           {"ts", ruler(time)},
           {"name", "bytes a cycle"},
           {"args", {{"L2", double(l2) / double(kSpan)}, {"device memory", double(device) / double(kSpan)}}}});
  };
  for (size_t i = 0; i < t.traffic.size(); ++i) {
    const auto& [sm, time, l2, device] = t.traffic[i];
    sample(sm, time, l2, device);
    const bool goes_on = i + 1 < t.traffic.size() && t.traffic[i + 1].sm == sm && t.traffic[i + 1].time == time + kSpan;
    if (!goes_on) sample(sm, time + kSpan, 0, 0);
  }
  const std::string& kernel = launch.config.kernel->name;
  nlohmann::json args = {{"kernel", full_name(kernel)}, {"cycles", t.end - t.begin}, {"spans left out", t.left_out}};
  write({{"ph", "X"},
         {"pid", 1},
         {"tid", row_of({Track::Kind::kernel, 0, 0, 0}, 0)},
         {"ts", ruler(t.begin)},
         {"dur", ruler(std::max<uint64_t>(1, t.end - t.begin))},
         {"name", launch_label(launches_name_, kernel)},
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
    std::string name = name_of(track, roles_, mbarriers_);
    if (row) name += fmt::format(" ({})", row + 1);
    write({{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", "thread_name"}, {"args", {{"name", name}}}});
    write(
        {{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", "thread_sort_index"}, {"args", {{"sort_index", ++order}}}});
  }
}

}  // namespace tinygpu::observe
