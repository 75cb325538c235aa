#include "chapters/16_megakernel/task_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace megakernel {
namespace {

using gen5::harness::Device;
using gen5::harness::OwnTimeline;

/// "qkv.0 12": the operation, and which of its tasks.
std::vector<std::string> names_of(const Plan& plan) {
  std::vector<std::string> out(plan.tasks.size());
  for (size_t i = 0; i < plan.grids.size(); ++i)
    for (uint32_t k = 0; k < plan.grids[i].count; ++k) {
      const uint32_t task = plan.grids[i].first + k;
      out[task] = fmt::format("{} {}", plan.names[i], k);
    }
  return out;
}

/// Of those that raise a task's counters, the one that did so last.
uint32_t last_maker(const std::vector<uint32_t>& makers, const std::vector<Ran>& ran) {
  return *std::max_element(makers.begin(), makers.end(),
                           [&](uint32_t a, uint32_t b) { return ran[a].end < ran[b].end; });
}

}  // namespace

OwnTimeline task_timeline(const std::string& title, const Plan& plan, const std::vector<Ran>& ran,
                          const CriticalPath& path, const Device& device) {
  OwnTimeline out{title, {}, {}};
  unsigned long long origin = ~0ull;
  for (const Ran& r : ran) origin = std::min(origin, r.loads);
  const auto at = [&](unsigned long long t) {
    return t > origin ? uint64_t(device.cycles(double(t - origin) / 1000)) : 0;
  };
  std::vector<bool> critical(ran.size());
  for (const uint32_t t : path.tasks) critical[t] = true;
  const std::vector<std::string> names = names_of(plan);
  std::map<uint32_t, std::vector<uint32_t>> of_sm;
  for (uint32_t t = 0; t < ran.size(); ++t) of_sm[ran[t].sm].push_back(t);
  std::vector<size_t> place(ran.size());
  size_t count = 0;
  for (const auto& [sm, tasks] : of_sm) {
    OwnTimeline::Row row{fmt::format("SM {}", sm), {}};
    for (const uint32_t t : tasks) {
      place[t] = count++;
      const uint64_t begin = at(ran[t].inputs);
      row.spans.push_back({names[t], begin, std::max(begin, at(ran[t].end)), critical[t]});
    }
    out.rows.push_back(std::move(row));
  }
  for (uint32_t t = 0; t < ran.size(); ++t)
    if (!plan.before[t].empty()) out.arrows.emplace_back(place[last_maker(plan.before[t], ran)], place[t]);
  return out;
}

}  // namespace megakernel
