// Values of special registers (PTX ISA 10).
#pragma once
#include <cstdint>

#include "common/tinygpu/program/program.h"

namespace tinygpu {

class Warp;

/// The register's value in each of the 32 lanes (predicates: bit 0). Clocks read the warp's time.
void special_values(const Warp& w, Special s, uint64_t lanes[32]);

/// Nanoseconds of %globaltimer at SM cycle `cycle` of the GPU's clock.
uint64_t nanoseconds(const Warp& w, uint64_t cycle);

}  // namespace tinygpu
