// The tasks' own notes of their times, for the page of --report: a row an SM, arrows along counters, the critical path.
#pragma once
#include <string>

#include "chapters/16_megakernel/times.h"
#include "common/harness/in_report.h"

namespace megakernel {

/// A task is shown from when its inputs are there until its results are. Arrows lead to tasks of the critical path, and
/// from the last of those that each task waited for.
gen5::harness::OwnTimeline task_timeline(const std::string& title, const Plan& plan, const std::vector<Ran>& ran,
                                         const CriticalPath& path, const gen5::harness::Device& device);

}  // namespace megakernel
