#include "common/tinygpu/engines/mma/mma_toggle.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/tinygpu/numerics/mma_kernel.h"
#include "common/tinygpu/timing/power.h"

namespace tinygpu {
namespace {

void add(Cta& cta, const BitCounters& of, uint64_t bits, uint64_t toggled) {
  auto& counters = cta.cluster.partition.counters;
  counters[of.all] += bits;
  counters[of.toggled] += toggled;
}

}  // namespace

void MmaToggle::operand(Cta& cta, const uint8_t* planes, numerics::Format format, uint32_t terms, uint32_t rows) {
  if (rows < 2) return;
  const uint32_t bits = numerics::info(format).bits, bytes = bits > 16 ? 4 : bits > 8 ? 2 : 1;
  const size_t compared = size_t(rows - 1) * bytes;
  uint64_t toggled = 0;
  for (uint32_t k = 0; k < terms; ++k) {
    const uint8_t* row = planes + size_t(k) * numerics::kPlane * bytes;
    for (size_t i = 0; i < compared; i += 8) {
      uint64_t here = 0, next = 0;
      const size_t n = std::min<size_t>(8, compared - i);
      std::memcpy(&here, row + i, n);
      std::memcpy(&next, row + i + bytes, n);
      toggled += uint64_t(std::popcount(here ^ next));
    }
  }
  add(cta, kOperandBits, uint64_t(terms) * (rows - 1) * bits, toggled);
}

void MmaToggle::operand(Cta& cta, const uint32_t* lanes) {
  uint64_t toggled = 0;
  for (uint32_t t = 0; t < 28; ++t) toggled += uint64_t(std::popcount(lanes[t] ^ lanes[t + 4]));
  add(cta, kOperandBits, 28 * 32, toggled);
}

void MmaToggle::results(Cta& cta, const uint32_t* column, const uint32_t* next, uint32_t rows, uint32_t bits) {
  const uint32_t mask = ~0u >> (32 - bits);
  uint64_t toggled = 0;
  for (uint32_t r = 0; r < rows; ++r) toggled += uint64_t(std::popcount((column[r] ^ next[r]) & mask));
  add(cta, kResultBits, uint64_t(rows) * bits, toggled);
}

}  // namespace tinygpu
