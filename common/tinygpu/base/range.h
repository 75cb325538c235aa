// Ranges of addresses, of which neither end may be computed by a sum that wraps.
#pragma once
#include <cstdint>

namespace tinygpu {

/// [address, address + bytes) lies in [base, base + size). The latter does not wrap; the former may be anything.
constexpr bool inside(uint64_t base, uint64_t size, uint64_t address, uint64_t bytes) {
  return bytes <= size && address - base <= size - bytes;
}

}  // namespace tinygpu
