// Functions that device code calls and the machine provides: printf, assert, malloc, free (CUDA C++ programming guide,
// "Formatted Output", "Assertion", "Dynamic Global Memory Allocation").
#pragma once
#include <string_view>

#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// The executor of a call of `name`, or nullptr if it is no builtin. Op::list is the call's (program/lower/decoder.h).
ExecFn builtin_function(std::string_view name);

}  // namespace tinygpu::isa
