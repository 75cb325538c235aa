#include "web/machine/buffers.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "common/tinygpu/base/fnv.h"
#include "common/tinygpu/base/halves.h"

namespace tinygpu::web {
namespace {

struct TypeInfo {
  std::string_view name;
  uint8_t bytes;
  bool real;
};
constexpr TypeInfo kTypes[] = {{"u8", 1, false},  {"s8", 1, false},  {"b8", 1, false},  {"u16", 2, false},
                               {"s16", 2, false}, {"b16", 2, false}, {"u32", 4, false}, {"s32", 4, false},
                               {"b32", 4, false}, {"u64", 8, false}, {"s64", 8, false}, {"b64", 8, false},
                               {"f16", 2, true},  {"bf16", 2, true}, {"f32", 4, true},  {"f64", 8, true},
                               {"e4m3", 1, true}, {"e5m2", 1, true}, {"tf32", 4, true}};

const TypeInfo* find(std::string_view name) {
  for (const TypeInfo& t : kTypes)
    if (t.name == name) return &t;
  return nullptr;
}

/// The nearest 8-bit float: by trying all, which is quick enough for a page's buffers.
double small_value(std::string_view type, uint8_t bits) {
  const int fraction = type == "e4m3" ? 3 : 2, bias = type == "e4m3" ? 7 : 15;
  const int exponent = bits >> fraction & ((1 << (7 - fraction)) - 1), low = bits & ((1 << fraction) - 1);
  const bool special = type == "e4m3" ? (bits & 0x7f) == 0x7f : exponent == 31;
  const double size = special    ? (type == "e5m2" && low == 0 ? HUGE_VAL : std::nan(""))
                      : exponent ? std::ldexp(1.0 + std::ldexp(low, -fraction), exponent - bias)
                                 : std::ldexp(low, 1 - bias - fraction);
  return bits & 0x80 ? -size : size;
}
uint8_t small_bits(std::string_view type, double value) {
  uint8_t best = 0;
  for (int i = 1; i < 256; ++i)
    if (std::fabs(small_value(type, uint8_t(i)) - value) < std::fabs(small_value(type, best) - value))
      best = uint8_t(i);
  return best;
}

}  // namespace

size_t size_of_type(std::string_view type) {
  const TypeInfo* t = find(type);
  return t ? t->bytes : 0;
}

uint64_t element_bits(std::string_view type, double value) {
  const TypeInfo* t = find(type);
  if (!t) return 0;
  if (!t->real) return value < 0 ? uint64_t(int64_t(value)) : uint64_t(value);
  if (type == "f16") return bits_of(nearest<f16>(float(value)));
  if (type == "bf16") return bits_of(nearest<bf16>(float(value)));
  if (t->bytes == 8) return std::bit_cast<uint64_t>(value);
  if (t->bytes == 4) return std::bit_cast<uint32_t>(float(value));
  return small_bits(type, value);
}

double element_value(std::string_view type, const uint8_t* bytes) {
  const TypeInfo* t = find(type);
  if (!t) return 0;
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, t->bytes);
  if (!t->real) {
    if (type[0] != 's' || t->bytes == 8) return type[0] == 's' ? double(int64_t(bits)) : double(bits);
    const int unused = 64 - 8 * t->bytes;
    return double(int64_t(bits << unused) >> unused);
  }
  if (type == "f16") return double(tinygpu::value(f16(uint16_t(bits))));
  if (type == "bf16") return double(tinygpu::value(bf16(uint16_t(bits))));
  if (t->bytes == 8) return std::bit_cast<double>(bits);
  if (t->bytes == 4) return double(std::bit_cast<float>(uint32_t(bits)));
  return small_value(type, uint8_t(bits));
}

std::optional<std::vector<uint8_t>> filled(std::string_view type, uint64_t count, std::string_view pattern) {
  const TypeInfo* t = find(type);
  if (!t) return std::nullopt;
  std::vector<uint8_t> out(size_t(count * t->bytes));
  if (pattern == "zero") return out;
  if (pattern == "bytes") {
    for (size_t i = 0; i < out.size(); ++i) out[i] = uint8_t(i);
    return out;
  }
  uint64_t state = 0x9e3779b97f4a7c15;
  const auto side = uint64_t(std::llround(std::sqrt(double(count))));
  uint32_t modulus = 0;
  if (pattern.starts_with("mod")) std::from_chars(pattern.data() + 3, pattern.data() + pattern.size(), modulus);
  const auto number = [&](uint64_t i) -> std::optional<double> {
    if (pattern == "one") return 1;
    if (pattern == "index") return double(i);
    if (modulus) return double(i % modulus);
    if (pattern == "alternating") return i % 2 ? -1 : 1;
    if (pattern == "identity") return side && i / side == i % side ? 1 : 0;
    if (pattern == "random") {
      state = state * 6364136223846793005 + 1442695040888963407;
      return t->real ? (int(state >> 40 & 15) - 8) / 8.0 : double(state >> 40 & 255);
    }
    return std::nullopt;
  };
  for (uint64_t i = 0; i < count; ++i) {
    const auto v = number(i);
    if (!v) return std::nullopt;
    const uint64_t bits = element_bits(type, *v);
    std::memcpy(out.data() + i * t->bytes, &bits, t->bytes);
  }
  return out;
}

std::string base64(const uint8_t* bytes, size_t size) {
  constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((size + 2) / 3 * 4);
  for (size_t i = 0; i < size; i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < size ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k > size ? '=' : kLetters[three >> (18 - 6 * k) & 63];
  }
  return out;
}

std::string digest(const uint8_t* bytes, size_t size) { return fmt::format("{:016x}", fnv1a({bytes, size})); }

}  // namespace tinygpu::web
