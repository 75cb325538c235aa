// Sizes and positions in a grid, and which CTA of all that the machine runs.
#pragma once
#include <compare>
#include <cstdint>

namespace tinygpu {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
  auto operator<=>(const Dim3&) const = default;
};

/// A CTA. Grids that run at the same time have CTAs of the same coordinates, on one SM even.
struct CtaKey {
  uint64_t grid = 0;  // %gridid
  Dim3 id;            // %ctaid
  auto operator<=>(const CtaKey&) const = default;
};

}  // namespace tinygpu
