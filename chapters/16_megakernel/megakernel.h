// What main.cpp knows of the steps: a layer's work, and a function that launches each step's kernels on it.
#pragma once
#include <iterator>
#include <vector>

#include "chapters/16_megakernel/arguments.h"

namespace megakernel {

/// The tasks of an operation, which follow each other in the list.
struct Grid {
  uint32_t first, count;
};

/// All that a launch needs. The list of tasks is in program order, except for step 4: there it is dealt out.
struct Work {
  Arguments args;
  std::vector<Grid> grids;
  uint32_t ctas = 1;              // that stay: no more than are on the chip at once
  cudaStream_t stream = nullptr;  // the default stream
};

// Each starts its kernels and returns at once.
void launch_launches(const Work& work);
void launch_graph(const Work& work);
void launch_dependent(const Work& work);
void launch_tasks(const Work& work);
void launch_claimed(const Work& work);
void launch_interleaved(const Work& work);
void launch_marked(const Work& work);  // of Hopper's kernel alone

/// What `launch` starts, as a graph that may be launched again and again: of steps whose tasks do not count launches.
cudaGraphExec_t captured(const Work& work, void (*launch)(const Work&));

struct Step {
  int number;
  const char *name, *idea;
  const char* look;  // what its timeline shows that the step before's does not
  void (*launch)(const Work&);
  bool counters = false;  // tasks wait for each other
  bool dealt = false;     // each CTA has a list of its own
  bool pairs = false;     // and an SM two CTAs
  bool marked = false;    // tasks wait for marked words
};
inline constexpr Step kSteps[] = {
    {1, "launches", "a launch an operation, a CTA a task",
     "between two operations all SMs stand still: the last task ends, its grid ends, the next one starts, makes its "
     "barriers and waits for its first weights.",
     launch_launches},
    {2, "graph", "the same launches as one graph",
     "the gaps are shorter: a kernel of a graph starts half as long after the one before it as in a stream. On a GPU a "
     "graph saves the host's time for each launch, too.",
     launch_graph},
    {3, "dependent", "a grid starts beside the one before it and loads its weights",
     "an operation's weights are on their way before its inputs are there.", launch_dependent},
    {4, "tasks", "one kernel; tasks wait for their own inputs; pages pass from task to task",
     "no grid ends: a task begins when its own inputs are there, with its weights in shared memory.", launch_tasks,
     true, true},
    {5, "claimed", "CTAs claim tasks from one list instead of having them dealt out",
     "a CTA that is done takes the next task; a task that was claimed ahead cannot go to another CTA.", launch_claimed,
     true},
    {6, "interleaved", "two CTAs an SM: projections beside attention and norms",
     "each SM has two tasks at a time; the projection's weights arrive while the other one computes.",
     launch_interleaved, true, true, true},
};
inline constexpr int kLastStep = int(std::size(kSteps));

}  // namespace megakernel
