// The lanes of a mask.
#pragma once
#include <cstdint>

namespace tinygpu {

/// Calls f(i) for each lane of `mask`, lowest first.
template <class F>
inline void for_lanes(uint32_t mask, F&& f) {
  for (; mask; mask &= mask - 1) f(__builtin_ctz(mask));
}

}  // namespace tinygpu
