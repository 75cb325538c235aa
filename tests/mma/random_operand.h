// Operands of the sweeps: patterns and placements that reach every path.
#pragma once
#include <cstdint>
#include <random>

#include "tests/mma/reference.h"

namespace gen5::test {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t operator()() { return uint32_t(engine_()); }
  uint32_t below(uint32_t n) { return (*this)() % n; }
  bool chance(uint32_t one_in) { return below(one_in) == 0; }

 private:
  std::mt19937 engine_;
};

/// Patterns of one flavour: 0 plain, 1 wide gaps, 2 subnormal, 3 special, 4 cancelling, 5 tiny, 6 huge, 7 any.
uint32_t pattern(Random& random, Type t, uint32_t flavour, uint32_t k);

/// Of a CTA's image of shared memory.
inline constexpr uint32_t kImageBytes = 96 * 1024;
/// `rows` rows of a K slice of `k_bytes` (32 or 64) from `base` of the image on.
Placement random_placement(Random& random, uint32_t element_bytes, uint32_t k_bytes, bool may_transpose, uint32_t rows,
                           uint32_t base);

}  // namespace gen5::test
