// FNV-1a, 64 bits: a name for bytes.
#pragma once
#include <cstdint>
#include <span>

namespace tinygpu {

inline uint64_t fnv1a(std::span<const uint8_t> bytes) {
  uint64_t h = 0xcbf29ce484222325;
  for (const uint8_t b : bytes) h = (h ^ b) * 0x100000001b3;
  return h;
}

}  // namespace tinygpu
