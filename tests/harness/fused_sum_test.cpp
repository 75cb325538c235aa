// The reference of the tensor core's sum: cases worked out by hand, and the fast path against the slow one.
#include "common/harness/fused_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "common/harness/inputs.h"

namespace {

using namespace gen5::harness;

uint32_t f32(float x) { return std::bit_cast<uint32_t>(x); }
uint32_t bf16(float x) { return std::bit_cast<uint32_t>(x) >> 16; }

uint32_t step(std::vector<float> a, std::vector<float> b, float c) {
  std::vector<uint32_t> x(16), y(16);
  for (size_t i = 0; i < a.size(); ++i) x[i] = bf16(a[i]), y[i] = bf16(b[i]);
  return fused_step(Format::bf16, x, y, f32(c), true);
}

TEST(FusedStep, SmallIntegersAreExact) {
  EXPECT_EQ(step({1, 2, 3, -4}, {5, 6, 7, 8}, 100), f32(5 + 12 + 21 - 32 + 100));
}

// 1 + 2^-25 · k: each term below the window's end vanishes, however many there are.
TEST(FusedStep, TermsBelowTheWindowVanishOneByOne) {
  const float tiny = 0x1p-13f;  // squared: 2^-26, one bit below the last kept of a sum whose largest term is 1
  EXPECT_EQ(step({1, tiny, tiny, tiny, tiny}, {1, tiny, tiny, tiny, tiny}, 0), f32(1));
  // 2^-25 is the last bit kept; two of them make 2^-24, which f32 at 1 still drops; eight make 2^-22.
  const float small = 0x1p-12f, other = 0x1p-13f;
  EXPECT_EQ(step({1, small, small}, {1, other, other}, 0), f32(1));
  EXPECT_EQ(step({1, small, small, small, small, small, small, small, small},
                 {1, other, other, other, other, other, other, other, other}, 0),
            f32(1 + 0x1p-22f));
}

// Cut toward zero, not rounded: 1 − 2^-25 becomes the f32 below 1; −1 + 2^-25 mirrors it.
TEST(FusedStep, ResultsAreCutTowardZero) {
  EXPECT_EQ(step({1, 0x1p-12f}, {1, -0x1p-13f}, 0), 0x3f7fffffu);
  EXPECT_EQ(step({-1, 0x1p-12f}, {1, 0x1p-13f}, 0), 0xbf7fffffu);
  EXPECT_EQ(step({1, 0x1p-12f}, {1, 0x1.8p-12f}, 0), f32(1));  // 1 + 1.5 · 2^-24: nearest would give 1 + 2^-23
}

// Products are not normalised: 1.5 · 1.5 = 2.25 has exponent 0 and the window ends at 2^-25, not 2^-24.
TEST(FusedStep, TheWindowHangsOnRawExponents) {
  EXPECT_EQ(step({1.5f, -1.5f, 0x1p-12f, 0x1p-12f}, {1.5f, 1.5f, 0x1p-13f, 0x1p-13f}, 0), f32(0x1p-24f));
}

TEST(FusedStep, ZeroIsPositive) {
  EXPECT_EQ(step({1, -1}, {1, 1}, 0), 0u);
  EXPECT_EQ(step({-0.0f}, {1}, -0.0f), 0u);
  EXPECT_EQ(step({}, {}, 0), 0u);
}

TEST(FusedStep, InfinitiesAndNans) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(step({inf}, {2}, 1), f32(inf));
  EXPECT_EQ(step({inf}, {-2}, 1), f32(-inf));
  EXPECT_EQ(step({inf, inf}, {1, -1}, 0), 0x7fffffffu);
  EXPECT_EQ(step({inf}, {0}, 0), 0x7fffffffu);
  EXPECT_EQ(step({1}, {1}, -inf), f32(-inf));
  EXPECT_EQ(step({inf}, {1}, -inf), 0x7fffffffu);
  EXPECT_EQ(step({nan}, {0}, 0), 0x7fffffffu);
  EXPECT_EQ(step({0x1p127f, 0x1p127f}, {0x1p64f, 1}, 0), f32(inf));   // 2^191 overflows
  EXPECT_EQ(step({0x1p127f, -0x1p127f}, {0x1p64f, 0x1p64f}, 3), 0u);  // 2^191 − 2^191: the 3 is far below the window
}

TEST(FusedStep, SubnormalResultsAreKept) {
  EXPECT_EQ(step({0x1p-100f}, {0x1p-40f}, 0), f32(0x1p-140f));
  EXPECT_EQ(step({0x1p-100f}, {-0x1p-49f}, 0), f32(-0x1p-149f));
  EXPECT_EQ(step({0x1p-100f}, {-0x1p-50f}, 0), 0u);
}

TEST(FusedStep, LeavesTheAccumulatorOut) {
  std::vector<uint32_t> x(16, bf16(1)), y(16, bf16(1));
  EXPECT_EQ(fused_step(Format::bf16, x, y, 0x7fc00000, false), f32(16));
}

// A second, naive derivation: terms as rationals scaled by 2^200 would not fit; here with doubles, for operands whose
// whole sum fits 53 bits, where cutting each term is floor of its magnitude in units of the window.
TEST(FusedStep, AgreesWithDoublesWhereTheyAreExact) {
  Random random(7);
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<uint32_t> x(16), y(16);
    int largest = -1000;
    std::vector<double> terms;
    for (int i = 0; i < 16; ++i) {
      const auto make = [&] { return uint32_t((random.bits() & 0x807f) | (120 + random.below(14)) << 7); };
      x[i] = make();
      y[i] = make();
      terms.push_back(value_of(Format::bf16, x[i]) * value_of(Format::bf16, y[i]));
      largest = std::max(largest, int((x[i] >> 7) & 255) + int((y[i] >> 7) & 255) - 254);
    }
    const auto c = uint32_t((random.bits() & 0x807fffff) | (115 + random.below(20)) << 23);
    terms.push_back(std::bit_cast<float>(c));
    largest = std::max(largest, int((c >> 23) & 255) - 127);
    double sum = 0;
    for (double t : terms) sum += std::ldexp(std::trunc(std::ldexp(t, 25 - largest)), largest - 25);
    float want = float(sum);
    if (std::fabs(double(want)) > std::fabs(sum)) want = std::nextafter(want, 0.0f);
    EXPECT_EQ(fused_step(Format::bf16, x, y, c, true), f32(want == 0 ? 0.0f : want));
  }
}

class Gemm : public testing::TestWithParam<std::tuple<Format, Pattern>> {};

// The fast path of fused_gemm against the slow step by step.
TEST_P(Gemm, FastPathEqualsSlow) {
  const auto [format, pattern] = GetParam();
  const uint32_t m = 17, n = 83, k = 200;
  const auto a = make_inputs(format, pattern, m * k, 1), b = make_inputs(format, pattern, n * k, 2);
  const GemmInputs in{format, m, n, k, a.data(), b.data()};
  const std::vector<uint32_t> fast = fused_gemm(in);
  for (uint32_t r = 0; r < m; ++r)
    for (uint32_t j = 0; j < n; ++j) {
      uint32_t c = 0;
      for (uint32_t i = 0; i < k; i += 16) {
        std::vector<uint32_t> x(16), y(16);
        for (uint32_t t = 0; t < 16 && i + t < k; ++t) x[t] = a[r * k + i + t], y[t] = b[j * k + i + t];
        c = fused_step(format, x, y, c, i > 0);
      }
      ASSERT_EQ(fast[r * n + j], c) << "row " << r << " column " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Gemm,
                         testing::Combine(testing::Values(Format::bf16, Format::f16),
                                          testing::Values(Pattern::uniform, Pattern::wide, Pattern::cancelling,
                                                          Pattern::subnormal, Pattern::special)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) == Format::f16 ? "f16_" : "bf16_") +
                                  name_of(std::get<1>(info.param));
                         });

TEST(Gemm, AWindowIsThatPartOfTheWhole) {
  const uint32_t m = 70, n = 130, k = 40;
  const auto a = make_inputs(Format::bf16, Pattern::uniform, m * k, 3),
             b = make_inputs(Format::bf16, Pattern::uniform, n * k, 4);
  const GemmInputs in{Format::bf16, m, n, k, a.data(), b.data()};
  const auto whole = fused_gemm(in), part = fused_gemm(in, 33, 65, 30, 64);
  for (uint32_t r = 0; r < 30; ++r)
    for (uint32_t j = 0; j < 64; ++j) EXPECT_EQ(part[r * 64 + j], whole[(33 + r) * n + 65 + j]);
}

}  // namespace
