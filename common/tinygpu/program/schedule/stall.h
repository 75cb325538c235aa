// Cycles from an op to the next one of its warp.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tinygpu {

/// As Op::stall holds it: what is longer than it can hold becomes the longest.
inline uint16_t stall_of(uint64_t cycles) { return uint16_t(std::min<uint64_t>(cycles, 65535)); }

}  // namespace tinygpu
