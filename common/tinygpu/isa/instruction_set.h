// The instructions that isa/ executes.
#pragma once
#include "common/tinygpu/program/lower/decoder.h"

namespace tinygpu::isa {

const InstructionSet& instruction_set();

/// Ends the process with a sentence if this processor lacks the x86-64 level that isa/ was compiled for
/// (GEN5_ISA_LEVEL). Runs when the library is loaded: cpu_level.cpp.
void require_cpu_level();

}  // namespace tinygpu::isa
