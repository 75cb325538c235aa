// A machine small enough to be made anew for every input, and the launch of one kernel on it.
#pragma once
#include <string>

#include "common/tinygpu/machine/chip/gpu.h"

namespace gen5::fuzz {

/// The profile with four SMs and 16 MiB.
tinygpu::MachineSpec small_machine(const std::string& profile);

/// One thread, little patience, diagnoses written out and dropped.
void set_options(tinygpu::RunOptions& options);

/// Launches as the API does: not at all when no SM can hold a CTA. A fault is an answer like any other; what else is
/// thrown leaves.
void launch(tinygpu::Gpu& gpu, const tinygpu::LaunchConfig& config);

}  // namespace gen5::fuzz
