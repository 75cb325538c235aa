// gen5 run --what-if PROGRAM ARGS…: what a program's kernels would take if loads, MMAs, waits or bank conflicts were
// free.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/tinygpu/cli/program.h"

namespace tinygpu::cli {

/// Runs the program as it is and with each kind of work free, `jobs` runs at once, and prints the cycles. What a report
/// needs to show them, as the variable GEN5_WHAT_IF. `settings` are those of the command line. Throws CLI::RuntimeError
/// behind a message.
std::string what_if(const std::vector<std::string>& command, const Settings& settings, uint32_t jobs);

}  // namespace tinygpu::cli
