#include "common/tinygpu/engines/mma/zero_columns.h"

#include <fmt/format.h>

namespace tinygpu {

ZeroColumnMask ZeroColumnMask::decode(uint64_t raw) {
  ZeroColumnMask m;
  m.raw = raw;
  for (uint32_t i = 0; i < 4; ++i) {
    m.start[i] = uint8_t(raw >> 8 * i);
    m.zeros_first[i] = raw >> (32 + i) & 1;
  }
  m.enabled = raw >> 39 & 1;
  m.skip = uint32_t(raw >> 40 & 0xff) + 1;
  m.use = uint32_t(raw >> 48 & 0xff) + 1;
  m.shift = uint32_t(raw >> 56 & 0x3f);
  return m;
}

std::bitset<256> ZeroColumnMask::columns(uint32_t n, uint32_t parts) const {
  std::bitset<256> zero;
  if (!enabled) return zero;
  const uint32_t each = n / parts;
  for (uint32_t i = 0; i < parts; ++i) {
    // A position of the periodic sequence; a run of zeroed columns takes the first `skip`.
    const uint32_t first = start[i] + (zeros_first[i] ? 0 : skip);
    for (uint32_t c = 0; c < each; ++c) zero[i * each + c] = (first + c) % (skip + use) < skip;
  }
  return zero;
}

std::optional<FieldProblem> check(const ZeroColumnMask& mask, uint32_t m, uint32_t max_shift) {
  const auto reserved = [&](int high, int low) -> std::optional<FieldProblem> {
    const uint64_t v = mask.raw >> low & ((uint64_t(1) << (high - low + 1)) - 1);
    if (!v) return std::nullopt;
    return FieldProblem{fmt::format("reserved bits {}:{}", high, low), std::to_string(v), "0"};
  };
  if (auto p = reserved(38, 36)) return p;
  if (auto p = reserved(63, 62)) return p;
  const uint32_t most = m == 32 ? 16 : 32;
  if (mask.shift > most)
    return FieldProblem{"the column shift (bits 61:56)", std::to_string(mask.shift),
                        fmt::format("0 to {} with M = {}", most, m)};
  if (mask.shift > max_shift)
    return FieldProblem{"the column shift (bits 61:56)", std::to_string(mask.shift),
                        fmt::format("0 to {}, the instruction descriptor's maximum shift (bits 31:30)", max_shift)};
  return std::nullopt;
}

}  // namespace tinygpu
