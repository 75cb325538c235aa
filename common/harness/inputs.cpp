#include "common/harness/inputs.h"

#include <stdexcept>

namespace gen5::harness {
namespace {

uint16_t make_one(Format format, Pattern pattern, Random& r) {
  const int fraction = fraction_bits(format);
  const uint32_t exponent_max = format == Format::f16 ? 31 : 255, bias = format == Format::f16 ? 15 : 127;
  const auto word = [&](uint32_t exponent) {
    const uint64_t u = r.bits();
    return uint16_t((u & 1) << 15 | exponent << fraction | ((u >> 8) & ((1u << fraction) - 1)));
  };
  switch (pattern) {
    case Pattern::uniform: {
      const double v = r.unit();
      return format == Format::f16 ? f16_of(v) : bf16_of(float(v));
    }
    case Pattern::wide: {
      const uint32_t spread = format == Format::f16 ? 14 : 40;
      return word(bias - spread / 2 + r.below(spread));
    }
    case Pattern::cancelling: {
      // ±(1 + a few last bits): products near ±1 whose sum is made of their low bits.
      const uint64_t u = r.bits();
      return uint16_t((u & 1) << 15 | bias << fraction | ((u >> 8) & 3));
    }
    case Pattern::subnormal: return r.below(4) == 0 ? word(0) & 0x8000 : word(0);
    case Pattern::special: {
      const uint32_t pick = r.below(400);
      if (pick == 0) return word(exponent_max);                                        // NaN, mostly
      if (pick < 3) return uint16_t((r.bits() & 1) << 15 | exponent_max << fraction);  // infinity
      if (pick < 30) return word(0);
      return word(bias - 4 + r.below(8));
    }
  }
  throw std::invalid_argument("no such pattern");
}

}  // namespace

const char* name_of(Pattern p) {
  switch (p) {
    case Pattern::uniform: return "uniform";
    case Pattern::wide: return "wide";
    case Pattern::cancelling: return "cancelling";
    case Pattern::subnormal: return "subnormal";
    case Pattern::special: return "special";
  }
  return "?";
}

std::vector<uint16_t> make_inputs(Format format, Pattern pattern, size_t count, uint64_t seed) {
  if (format == Format::tf32) throw std::invalid_argument("make_inputs makes 16-bit formats");
  Random r(seed);
  std::vector<uint16_t> words(count);
  for (uint16_t& w : words) w = make_one(format, pattern, r);
  return words;
}

}  // namespace gen5::harness
