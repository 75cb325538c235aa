// A line of the caches has sectors: what is asked for, and moved, at a time.
#pragma once
#include <cstdint>

namespace tinygpu {

inline constexpr uint32_t kSectorBytes = 32, kSectorsOfALine = 4;

}  // namespace tinygpu
