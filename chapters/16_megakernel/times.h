// What the tasks' own notes of their times say: a picture by SM, and what the longest way through the tasks went for.
#pragma once
#include <string>

#include "chapters/16_megakernel/plan.h"
#include "common/harness/device.h"
#include "common/harness/table.h"
#include "common/harness/timeline.h"

namespace megakernel {

/// The way from the first task to the last one to end: each task on it begins when the one before it has ended, because
/// it needs that one's results or its CTA.
struct CriticalPath {
  double all = 0;     // cycles from the first task's first load to the last task's end
  uint32_t hops = 0;  // from a task to one that waited for it
  double begin = 0;   // until the first task on the way had its inputs
  double hand_over = 0, pages = 0, sums = 0;
  std::vector<uint32_t> tasks;

  /// "38 % …", the most first.
  std::string sentence() const;
  /// The most of them, in a word or two.
  std::string limit() const;
};
CriticalPath critical_path(const Plan& plan, const std::vector<Ran>& ran, const gen5::harness::Device& device);

/// What the parts of a task take on the critical path: a row an operation, means in cycles.
gen5::harness::Table phases(const Plan& plan, const std::vector<Ran>& ran, const CriticalPath& path,
                            const gen5::harness::Device& device);

/// The share of all SMs' time in which they had a task whose inputs were there.
double busy_share(const std::vector<Ran>& ran, uint32_t sms);

/// Tasks by SM, a letter an operation, of up to `lanes` SMs. Their part on the critical path in capitals.
gen5::harness::Picture picture_of(const std::string& title, const Plan& plan, const std::vector<Ran>& ran,
                                  const CriticalPath& path, const gen5::harness::Device& device, uint32_t lanes);
inline constexpr const char* kLegend =
    "n norm, q qkv, a attend, o out, g gate_up, d down; capitals: on the critical path. A dot: the task's weights are "
    "on their way, and its inputs are not there yet. The tasks write down their times themselves (%globaltimer), in a "
    "run of its own.";

/// How many tasks had something loaded before the quiet task ahead of them had raised its counter.
uint32_t loaded_early(const Schedule& dealt, const std::vector<Ran>& ran);

}  // namespace megakernel
