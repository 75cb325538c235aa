#include "common/tinygpu/engines/mma/mma_toggle.h"

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

uint64_t word_at(const uint8_t* p, size_t bytes = 8) {
  uint64_t out = 0;
  std::memcpy(&out, p, bytes);
  return out;
}

}  // namespace

void MmaToggle::operand(Cta& cta, const uint8_t* planes, numerics::Format format, uint32_t terms, uint32_t rows) {
  if (rows < 2) return;
  const uint32_t bits = numerics::info(format).bits, bytes = bits > 16 ? 4 : bits > 8 ? 2 : 1;
  const size_t compared = size_t(rows - 1) * bytes;
  uint64_t toggled = 0;
  for (uint32_t k = 0; k < terms; ++k) {
    const uint8_t *row = planes + size_t(k) * numerics::kPlane * bytes, *const end = row + compared;
    for (; row + 8 <= end; row += 8) toggled += uint32_t(std::popcount(word_at(row) ^ word_at(row + bytes)));
    const size_t left = size_t(end - row);
    toggled += uint32_t(std::popcount(word_at(row, left) ^ word_at(row + bytes, left)));
  }
  add(cta, kOperandBits, uint64_t(terms) * (rows - 1) * bits, toggled);
}

void MmaToggle::operand(Cta& cta, const uint32_t* lanes) {
  uint64_t toggled = 0;
  for (uint32_t t = 0; t < 28; ++t) toggled += uint32_t(std::popcount(lanes[t] ^ lanes[t + 4]));
  add(cta, kOperandBits, 28 * 32, toggled);
}

void MmaToggle::results(Cta& cta, uint32_t columns, FunctionRef<const uint32_t*(uint32_t)> column, uint32_t rows,
                        uint32_t bits) {
  if (columns < 2) return;
  const uint32_t mask = ~0u >> (32 - bits);
  uint64_t toggled = 0;
  const uint32_t* here = column(0);
  for (uint32_t c = 1; c < columns; ++c) {
    const uint32_t* const next = column(c);
    for (uint32_t r = 0; r < rows; ++r) toggled += uint32_t(std::popcount((here[r] ^ next[r]) & mask));
    here = next;
  }
  add(cta, kResultBits, uint64_t(columns - 1) * rows * bits, toggled);
}

}  // namespace tinygpu
