// The instruction set compiled for the fastest level that this CPU has.
#pragma once
#include "common/tinygpu/program/decoder.h"

namespace tinygpu::isa {

/// Chosen once per process; TINYGPU_ISA=v2|v3|v4 in the environment forces one (for tests and bug reports).
const InstructionSet& instruction_set();
/// "x86-64-v3" …
const char* instruction_set_level();

}  // namespace tinygpu::isa
