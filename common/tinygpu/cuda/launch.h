// A kernel launch: the checks the driver makes before it, its parameters, and what the machine is given.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "common/tinygpu/cuda/module.h"

namespace tinygpu::cuda {

class State;

struct LaunchRequest {
  Kernel* kernel = nullptr;
  Dim3 grid, block;
  Dim3 cluster{1, 1, 1};
  bool cluster_given = false;
  size_t dynamic_shared = 0;
  bool cooperative = false;
  bool programmatic = false;                         // may begin when the kernel before it in its stream lets it
  void** args = nullptr;                             // args[i] points at parameter i
  std::shared_ptr<const std::vector<bool>> only_on;  // SMs of a green context; null: all
  const void* packed = nullptr;  // or all parameters laid out already (CU_LAUNCH_PARAM_BUFFER_POINTER)
  size_t packed_size = 0;
};

/// A launch that has been checked, its parameters copied: what a graph keeps.
struct PreparedLaunch {
  LaunchRequest request;  // without the pointers to parameters
  LaunchConfig config;
};
/// Checks. A refused launch returns its code, with a diagnosis on stderr.
CUresult prepare(State& s, const LaunchRequest& r, PreparedLaunch& out);

/// One that runs: what the machine was given, and what to give back to it at the end.
struct RunningLaunch {
  Kernel* kernel = nullptr;
  LaunchConfig config;
  const Launch* launch = nullptr;
  size_t piece = 0;
};
/// INVALID_HANDLE if the kernel's module is gone.
CUresult begin_launch(State& s, const PreparedLaunch& prepared, RunningLaunch& out);
void release_workspace(State& s, const RunningLaunch& launch);
/// Adds to `stats` how it was timed.
void end_launch(State& s, const RunningLaunch& launch, LaunchStats& stats);

/// Most dynamic shared memory that a launch of the kernel may ask for now.
uint32_t dynamic_shared_limit(const MachineSpec& spec, const Kernel& k);

}  // namespace tinygpu::cuda
