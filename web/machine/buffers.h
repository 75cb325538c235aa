// Device buffers by pattern, and their bytes as numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinygpu::web {

/// Element types by PTX's names: u8 … u64, s8 … s64, f16, bf16, f32, f64, e4m3, e5m2. Bytes; 0: no such type.
size_t size_of_type(std::string_view type);

/// Bytes of `count` elements: "zero", "one", "index" (element i is i), "mod8" (i mod 8, or another number),
/// "alternating" (1, −1), "random" (of floats in eighths from −1 to 1, of integers 0 to 255; the same each time),
/// "identity" (a square matrix), "bytes" (byte i is i mod 256). Nothing if there is no such pattern.
std::optional<std::vector<uint8_t>> filled(std::string_view type, uint64_t count, std::string_view pattern);

/// The element's bits for a number.
uint64_t element_bits(std::string_view type, double value);
double element_value(std::string_view type, const uint8_t* bytes);

std::string base64(const uint8_t* bytes, size_t size);
/// FNV-1a, 64 bits, as hexadecimal digits.
std::string digest(const uint8_t* bytes, size_t size);

}  // namespace tinygpu::web
