// Which tasks the places of a diagnosis belong to.
#pragma once
#include <string>
#include <vector>

#include "chapters/16_megakernel/plan.h"
#include "common/harness/diagnoses.h"

namespace megakernel {

/// What a kernel of a Logged source has left, of one launch.
struct TaskLog {
  const Plan& plan;
  const Sizes& sizes;
  const Schedule& dealt;           // to its CTAs
  std::vector<Taken> taken;        // by a task's number
  std::vector<uint32_t> counters;  // as they stand
};

/// "qkv.0, tile 2 (kv head 1), part 0 of 2".
std::string name_of(const Plan& plan, const Sizes& sizes, uint32_t task);

/// A line for each task in which a place of the diagnosis lies: the one that the place's warp had taken last by then.
/// It says who makes what the task waits for. `fatal`: the kernel ended there, so a place whose time is not known is
/// where its warp was then, and the counters say how far others are. Else nothing is said of such a place.
std::string tasks_of(const gen5::harness::Diagnosed& diagnosis, const TaskLog& log, bool fatal);

}  // namespace megakernel
