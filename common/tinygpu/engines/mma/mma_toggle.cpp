#include "common/tinygpu/engines/mma/mma_toggle.h"

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

/// Counts ones in many words. x86-64 has no instruction for it before v2, and this code is not compiled for more: the
/// ones of a word's bytes are counted in the bytes, and added up only before a byte could overflow.
class Ones {
 public:
  void add(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    by_byte_ += (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    if (++words_ == kWords) flush();
  }
  uint64_t count() {
    flush();
    return count_;
  }

 private:
  static constexpr uint32_t kWords = 255 / 8;
  void flush() {
    constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
    count_ += ((by_byte_ & kEven) + (by_byte_ >> 8 & kEven)) * 0x0001000100010001 >> 48;
    by_byte_ = words_ = 0;
  }

  uint64_t by_byte_ = 0, count_ = 0;
  uint32_t words_ = 0;
};

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
  Ones toggled;
  for (uint32_t k = 0; k < terms; ++k) {
    const uint8_t *row = planes + size_t(k) * numerics::kPlane * bytes, *const end = row + compared;
    for (; row + 8 <= end; row += 8) toggled.add(word_at(row) ^ word_at(row + bytes));
    const size_t left = size_t(end - row);
    toggled.add(word_at(row, left) ^ word_at(row + bytes, left));
  }
  add(cta, kOperandBits, uint64_t(terms) * (rows - 1) * bits, toggled.count());
}

void MmaToggle::operand(Cta& cta, const uint32_t* lanes) {
  Ones toggled;
  for (uint32_t t = 0; t < 28; ++t) toggled.add(lanes[t] ^ lanes[t + 4]);
  add(cta, kOperandBits, 28 * 32, toggled.count());
}

void MmaToggle::results(Cta& cta, uint32_t columns, FunctionRef<const uint32_t*(uint32_t)> column, uint32_t rows,
                        uint32_t bits) {
  if (columns < 2) return;
  const uint32_t mask = ~0u >> (32 - bits);
  Ones toggled;
  const uint32_t* here = column(0);
  for (uint32_t c = 1; c < columns; ++c) {
    const uint32_t* const next = column(c);
    for (uint32_t r = 0; r < rows; ++r) toggled.add((here[r] ^ next[r]) & mask);
    here = next;
  }
  add(cta, kResultBits, uint64_t(columns - 1) * rows * bits, toggled.count());
}

}  // namespace tinygpu
