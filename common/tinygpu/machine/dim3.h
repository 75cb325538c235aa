// Sizes and positions in a grid.
#pragma once
#include <cstdint>

namespace tinygpu {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

}  // namespace tinygpu
