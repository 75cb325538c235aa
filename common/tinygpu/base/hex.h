// Bytes as hexadecimal digits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tinygpu {

/// Two digits a byte, in the order of memory.
inline std::string hex(const uint8_t* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

}  // namespace tinygpu
