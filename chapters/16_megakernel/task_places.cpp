#include "chapters/16_megakernel/task_places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

namespace megakernel {
namespace {

using gen5::harness::Diagnosed;

const std::string& operation_of(const Plan& plan, uint32_t task) {
  size_t i = 0;
  while (task - plan.grids[i].first >= plan.grids[i].count) ++i;
  return plan.names[i];
}

/// The task that the place's warp had taken last.
std::optional<uint32_t> task_at(const Diagnosed::Place& place, const TaskLog& log) {
  const uint32_t cta = place.cta[0];
  if (cta + 1 >= log.dealt.first.size() || place.warp >= std::size(Taken{}.at)) return std::nullopt;
  std::optional<uint32_t> last;
  const auto when = [&](uint32_t task) { return log.taken[task].at[place.warp]; };
  for (uint32_t i = log.dealt.first[cta]; i < log.dealt.first[cta + 1]; ++i) {
    const uint32_t task = log.dealt.tasks[i].number;
    if (!when(task) || (place.clock && when(task) > *place.clock)) continue;
    if (!last || when(task) > when(*last)) last = task;
  }
  return last;
}

bool was_taken(const Taken& taken) {
  return std::any_of(std::begin(taken.at), std::end(taken.at), [](auto at) { return at != 0; });
}

uint32_t cta_of(const Schedule& dealt, uint32_t task) {
  uint32_t i = 0, cta = 0;
  while (dealt.tasks[i].number != task) ++i;
  while (i >= dealt.first[cta + 1]) ++cta;
  return cta;
}

/// Who makes what it waits for.
std::string waits_of(uint32_t task, const TaskLog& log, bool at_end) {
  const Plan& plan = log.plan;
  const Task& t = plan.tasks[task];
  if (!t.waits) return "it waits for no other task";
  const std::vector<uint32_t>& makers = plan.before[task];
  const bool one = t.waits == 1;
  std::string out = fmt::format("it waits for {}, which {} raises",
                                one ? fmt::format("counter {}", t.wait_first)
                                    : fmt::format("counters {} to {}", t.wait_first, t.wait_first + t.waits - 1),
                                operation_of(plan, makers.front()));
  if (!at_end) return out;
  const auto begin = log.counters.begin() + t.wait_first;
  const uint32_t least = *std::min_element(begin, begin + t.waits);
  out += fmt::format(": {}{} of {} times so far", one ? "" : "one of them ", least, t.wait_for);
  const auto missing = std::find_if(makers.begin(), makers.end(), [&](uint32_t m) { return !was_taken(log.taken[m]); });
  if (missing != makers.end())
    out += fmt::format("; CTA {} has not come to {}", cta_of(log.dealt, *missing), name_of(plan, log.sizes, *missing));
  return out;
}

}  // namespace

std::string name_of(const Plan& plan, const Sizes& sizes, uint32_t task) {
  const Task& t = plan.tasks[task];
  const std::string part = t.parts > 1 ? fmt::format(", part {} of {}", t.part, t.parts) : "";
  const std::string& operation = operation_of(plan, task);
  switch (t.op) {
    case Op::norm: return fmt::format("{}, sequence {}", operation, t.tile);
    case Op::attend:
      return fmt::format("{}, sequence {}, kv head {}{}", operation, t.tile / sizes.kv_heads, t.tile % sizes.kv_heads,
                         part);
    case Op::qkv: {
      const uint32_t rows = kTarget.tiling(sizes).rows;
      return fmt::format("{}, tile {} (kv head {}){}", operation, t.tile, t.tile * rows / sizes.kv_rows(), part);
    }
    default: return fmt::format("{}, tile {}{}", operation, t.tile, part);
  }
}

std::string tasks_of(const Diagnosed& diagnosis, const TaskLog& log, bool fatal) {
  struct At {
    uint32_t task, cta;
    std::set<uint32_t> warps;
    bool at_end;  // of the kernel, not at a time before
  };
  std::vector<At> all;
  for (const Diagnosed::Place& place : diagnosis.places) {
    const std::optional<uint32_t> task = place.clock || fatal ? task_at(place, log) : std::nullopt;
    if (!task) continue;
    auto at = std::find_if(all.begin(), all.end(), [&](const At& a) { return a.task == *task; });
    if (at == all.end()) at = all.insert(at, {*task, place.cta[0], {}, false});
    at->warps.insert(place.warp);
    at->at_end |= !place.clock;
  }
  std::string out;
  for (const At& a : all)
    out += fmt::format("    = task: CTA {}, warp{} {}: {}; {}\n", a.cta, a.warps.size() > 1 ? "s" : "",
                       fmt::join(a.warps, ", "), name_of(log.plan, log.sizes, a.task), waits_of(a.task, log, a.at_end));
  return out;
}

}  // namespace megakernel
