#include "common/harness/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace gen5::harness;

TEST(Numbers, F16Values) {
  EXPECT_EQ(value_of(Format::f16, 0x3c00), 1.0);
  EXPECT_EQ(value_of(Format::f16, 0xc000), -2.0);
  EXPECT_EQ(value_of(Format::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(value_of(Format::f16, 0x03ff), 1023 * 0x1p-24);
  EXPECT_EQ(value_of(Format::f16, 0x7bff), 65504.0);
  EXPECT_TRUE(std::isinf(value_of(Format::f16, 0x7c00)));
  EXPECT_TRUE(std::isnan(value_of(Format::f16, 0x7c01)));
}

TEST(Numbers, Bf16AndTf32Values) {
  EXPECT_EQ(value_of(Format::bf16, 0x3f80), 1.0);
  EXPECT_EQ(value_of(Format::bf16, 0x0001), 0x1p-133);
  EXPECT_EQ(value_of(Format::tf32, 0x3f801fff), 1.0);
  EXPECT_EQ(value_of(Format::tf32, 0x3f802000), 1 + 0x1p-10);
}

// Every f16 goes there and back; halfway cases go to even.
TEST(Numbers, F16RoundTrip) {
  for (uint32_t w = 0; w < 0x10000; ++w) {
    const double v = value_of(Format::f16, w);
    if (std::isnan(v)) {
      EXPECT_EQ(f16_of(v), 0x7fff);
    } else {
      EXPECT_EQ(f16_of(v), w);
    }
  }
  for (uint32_t w = 0; w < 0x7bff; ++w) {
    const double half = (value_of(Format::f16, w) + value_of(Format::f16, w + 1)) / 2;
    EXPECT_EQ(f16_of(half), w + (w & 1));
  }
  EXPECT_EQ(f16_of(65519.9), 0x7bff);
  EXPECT_EQ(f16_of(65520), 0x7c00);
}

TEST(Numbers, Bf16Rounds) {
  EXPECT_EQ(bf16_of(1.0f), 0x3f80);
  EXPECT_EQ(bf16_of(1.00390625f), 0x3f80);  // halfway, to even
  EXPECT_EQ(bf16_of(1.01171875f), 0x3f82);  // halfway, to even
  EXPECT_EQ(bf16_of(1.0039064f), 0x3f81);
  EXPECT_EQ(bf16_of(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bf16_of(-std::numeric_limits<float>::infinity()), 0xff80);
  EXPECT_EQ(bf16_of(std::numeric_limits<float>::quiet_NaN()), 0x7fff);
}

}  // namespace
