// %envreg0 … %envreg31: read-only registers that the driver fills (PTX ISA 10). As values of Special they follow the
// named ones. Known use: a cooperative launch keeps the address of the grid's barrier in %envreg1 (high) and %envreg2
// (low).
#pragma once
#include "common/tinygpu/program/program.h"

namespace tinygpu {

constexpr Special environment_register(uint16_t n) { return Special(uint16_t(Special::unknown) + 1 + n); }

}  // namespace tinygpu
