// The instruction set compiled for the fastest level that this CPU has.
#pragma once
#include "common/tinygpu/program/lower/decoder.h"

namespace tinygpu::isa {

/// Chosen once per process; TINYGPU_ISA=v2|v3|v4 in the environment forces one that was compiled and runs here (for
/// tests and bug reports). Throws std::runtime_error if none does.
const InstructionSet& instruction_set();

}  // namespace tinygpu::isa
