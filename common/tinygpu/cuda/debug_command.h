// The command that stands where a diagnosis was made.
#pragma once
#include <string>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu::cuda {

/// `gen5 debug` with this process's command line and what its environment sets. The diagnosis is named by its code and
/// its line of PTX: a number would depend on the host threads of this run. Empty where it has no instruction, and in a
/// process that is debugged already. A program below `folder` is named from there.
std::string debug_command(const Diagnosis& d, const std::string& folder);

}  // namespace tinygpu::cuda
