// The narrow formats against values written down from the PTX ISA's and OCP's tables.
#include "common/harness/narrow.h"

#include <gtest/gtest.h>

#include <vector>

namespace gen5::harness {
namespace {

TEST(Narrow, ValuesOfTheTables) {
  const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(value_of(Narrow::e2m1, i), e2m1[i]);
    EXPECT_EQ(value_of(Narrow::e2m1, i | 8), -e2m1[i]);
  }
  EXPECT_EQ(value_of(Narrow::e4m3, 0x7e), 448);
  EXPECT_TRUE(std::isnan(value_of(Narrow::e4m3, 0x7f)));
  EXPECT_EQ(value_of(Narrow::e4m3, 0x01), 0x1p-9);
  EXPECT_EQ(value_of(Narrow::e4m3, 0x38), 1);
  EXPECT_EQ(value_of(Narrow::e5m2, 0x7b), 57344);
  EXPECT_TRUE(std::isinf(value_of(Narrow::e5m2, 0xfc)));
  EXPECT_EQ(value_of(Narrow::e5m2, 0x01), 0x1p-16);
  EXPECT_EQ(value_of(Narrow::e2m3, 0x1f), 7.5);
  EXPECT_EQ(value_of(Narrow::e2m3, 0x01), 0.125);
  EXPECT_EQ(value_of(Narrow::e3m2, 0x1f), 28);
  EXPECT_EQ(value_of(Narrow::e3m2, 0x21), -0.0625);
}

TEST(Narrow, EncodesToTheNearest) {
  for (const Narrow n : kNarrows) {
    std::vector<std::pair<double, uint32_t>> finite;
    for (uint32_t code = 0; code < 1u << shape_of(n).bits(); ++code) {
      const double v = value_of(n, code);
      if (!std::isfinite(v)) continue;
      EXPECT_EQ(narrow_of(n, v), code) << shape_of(n).name << " " << code;
      if (!std::signbit(v)) finite.push_back({v, code});
    }
    for (size_t i = 0; i + 1 < finite.size(); ++i) {
      const auto [low, low_code] = finite[i];
      const auto [high, high_code] = finite[i + 1];
      const double middle = (low + high) / 2, little = (high - low) / 64;
      EXPECT_EQ(narrow_of(n, middle - little), low_code);
      EXPECT_EQ(narrow_of(n, middle + little), high_code);
      EXPECT_EQ(narrow_of(n, middle), low_code % 2 ? high_code : low_code);
    }
    EXPECT_EQ(narrow_of(n, 1e9), finite.back().second);
  }
}

TEST(Narrow, Containers) {
  std::array<uint8_t, 16> codes;
  for (uint8_t i = 0; i < 16; ++i) codes[i] = i;
  EXPECT_EQ(container_of(Narrow::e4m3, codes), codes);
  const auto four = container_of(Narrow::e2m1, codes);
  for (uint8_t i = 0; i < 8; ++i) EXPECT_EQ(four[i], 2 * i | (2 * i + 1) << 4);
  for (uint8_t i = 8; i < 16; ++i) EXPECT_EQ(four[i], 0);
  // 0, 1, 2, 3 in six bits each: 0x0c2040.
  const auto six = container_of(Narrow::e3m2, codes);
  EXPECT_EQ(six[0], 0x40);
  EXPECT_EQ(six[1], 0x20);
  EXPECT_EQ(six[2], 0x0c);
  for (uint8_t i = 12; i < 16; ++i) EXPECT_EQ(six[i], 0);
}

TEST(Narrow, Scales) {
  EXPECT_EQ(ue8m0_value(127), 1);
  EXPECT_EQ(ue8m0_value(0), 0x1p-127);
  EXPECT_TRUE(std::isnan(ue8m0_value(255)));
  EXPECT_EQ(ue4m3_value(0x38), 1);
  EXPECT_EQ(ue4m3_value(0xb8), 1);
}

}  // namespace
}  // namespace gen5::harness
