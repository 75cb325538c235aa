// The task compiler: operations → tiles → tasks with counters; and which CTA does which task.
#pragma once
#include <string>
#include <vector>

#include "chapters/16_megakernel/graph.h"
#include "chapters/16_megakernel/megakernel.h"

namespace megakernel {

/// What the host knows of the machine: enough to guess what a task takes.
struct Machine {
  uint32_t sms = 1;
  double bytes_per_cycle = 1;  // of device memory, in SM cycles
  double tensor_flops = 8192;  // dense bf16 operations of an SM's tensor core in a cycle
  /// What a task takes beside its bytes: a trip to device memory, its sums, and the counter's way to the next task.
  double hop = 3000;
  /// What the last part of a tile of tokens takes for another part's sums: 64 KiB out of L2, some at a time. Estimated.
  double part = 4000;
};
/// Of the current device: SMs, and the memory bus's width and clock.
Machine current_machine();

struct Plan {
  std::vector<Task> tasks;                    // in program order; operations follow each other
  std::vector<Grid> grids;                    // an operation each
  std::vector<std::string> names;             // of the operations
  std::vector<std::vector<uint32_t>> before;  // of each task: those that raise the counters it waits for
  std::vector<double> cost;                   // cycles, guessed
  std::vector<uint64_t> bytes;                // of weights, keys and values that no task has read before
  double flops = 0;                           // of projections
  uint32_t counters = 0, meets = 0;
  uint64_t scratch = 0;  // floats
};
/// Throws PlanError.
Plan compile(const Graph& graph, const Sizes& sizes, const Tiling& tiling, const Machine& machine);

/// Tasks dealt out to CTAs.
struct Schedule {
  std::vector<Task> tasks;      // CTA by CTA
  std::vector<uint32_t> first;  // of each CTA, and one more
  double cycles = 0;            // what the cost model expects
};
/// In program order, in turns.
Schedule in_order(const Plan& plan, uint32_t ctas);
/// Of the tasks that can begin, the one with the longest way behind it goes to the CTA that is free first. `beside`:
/// so many further CTAs take the tasks that are no projections, and the first ones only those that are.
Schedule critical_path_first(const Plan& plan, uint32_t ctas, uint32_t beside = 0);

}  // namespace megakernel
