#include "tests/mma/random_operand.h"

namespace gen5::test {

uint32_t pattern(Random& random, Type t, uint32_t flavour, uint32_t k) {
  const struct {
    int exponent, fraction;
  } shapes[] = {{5, 10}, {8, 7}, {8, 23}, {4, 3}, {5, 2}, {2, 3}, {3, 2}, {2, 1}};
  if (t == Type::s8 || t == Type::u8) return flavour == 6 ? (random.chance(2) ? 0x80 : 0x7f) : random() & 0xff;
  const int e = shapes[int(t)].exponent, f = shapes[int(t)].fraction;
  const uint32_t bias = (1u << (e - 1)) - 1, top = (1u << e) - 1;
  const uint32_t sign = random.below(2) << (e + f), fraction = random() & ((1u << f) - 1);
  // Of narrow formats a field may wrap around.
  const auto with = [&](uint32_t field) { return sign | (field & top) << f | fraction; };
  switch (flavour) {
    case 0: return with(bias - random.below(6));
    case 1: return with(1 + random.below(top - 1));
    case 2: return random.chance(2) ? with(0) : with(1 + random.below(4));
    case 3: return random.chance(24) ? with(top) & ~(random.chance(2) ? (1u << f) - 1 : 0u) : with(random.below(top));
    case 4: return (k % 2 ? 1u << (e + f) : 0u) | bias << f | (fraction & ~3u);
    case 5: return random.chance(3) ? sign : with(bias - bias / 2 + random.below(3));
    case 6: return with(top - 1 - random.below(3));
    default: return random() & uint32_t((uint64_t(2) << (e + f)) - 1);
  }
}

Placement random_placement(Random& random, uint32_t element_bytes, uint32_t k_bytes, bool may_transpose, uint32_t rows,
                           uint32_t base) {
  Placement p;
  p.element_bytes = element_bytes;
  p.mn_major = may_transpose && random.chance(2);
  const int any[] = {0, 2, 4, 6};
  p.swizzle = p.mn_major && element_bytes == 4 ? 1 : any[random.below(4)];
  p.base = base;
  const uint32_t width = p.swizzle == 0 ? 16 : p.swizzle == 6 ? 32 : p.swizzle == 4 ? 64 : 128;
  const uint32_t spans = (rows * element_bytes + width - 1) / width;
  // Padding, where the patterns of all spans and what lies between them still fit.
  const uint32_t groups = k_bytes / element_bytes / (p.swizzle == 1 ? 4 : 8);
  const bool fits = !p.mn_major || (spans * (k_bytes / element_bytes) / 8 <= 32 &&
                                    base + spans * ((groups + 1) * (8 * width + 1024)) <= kImageBytes);
  const uint32_t pad = fits ? 1024 * random.below(2) : 0, pieces = k_bytes / 16, k_count = k_bytes / element_bytes;
  if (!p.mn_major && p.swizzle == 0) {
    // 8-row groups, then 16-byte columns; or the other way round.
    const bool columns_near = random.chance(2);
    p.leading = columns_near ? 128 : rows / 8 * 128 + 16 * random.below(8);
    p.stride = columns_near ? 128 * pieces + 16 * random.below(4) : 128;
  } else if (!p.mn_major && width < k_bytes) {
    // The second half of K lies behind all rows of the first.
    p.stride = 8 * width;
    p.leading = (rows + 7) / 8 * p.stride;
  } else if (!p.mn_major) {
    p.slice = random.below(width / 32 - k_bytes / 32 + 1);
    p.stride = 8 * width + (rows <= 128 ? pad : 0);
    p.leading = 16 * random.below(64);  // ignored
  } else if (p.swizzle == 0) {
    // 8-k groups near, or 16-byte blocks of MN near.
    const bool k_near = random.chance(2);
    p.leading = k_near ? 128 : (rows * element_bytes + 15) / 16 * 128 + 16 * random.below(8);
    p.stride = k_near ? k_count / 8 * 128 : 128;
  } else {
    const uint32_t lines = p.swizzle == 1 ? 4 : 8;
    const uint32_t groups = k_count / lines;
    p.stride = lines * width + pad;                    // the next k group
    p.leading = groups * p.stride + (pad ? 1024 : 0);  // the next span along MN
    // Keep every pattern on its own alignment, so that the line-based placement holds.
    const uint32_t repeat = 8 * width;
    p.leading = (p.leading + repeat - 1) / repeat * repeat;
    if (lines == 4) p.stride = 512 + pad;
  }
  return p;
}

}  // namespace gen5::test
