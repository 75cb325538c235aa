// A set of lanes in words.
#pragma once
#include <cstdint>
#include <string>

namespace tinygpu {

/// "0, 4 to 31" of a mask.
std::string lane_ranges(uint32_t mask);

}  // namespace tinygpu
