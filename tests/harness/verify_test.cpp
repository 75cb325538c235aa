// The comparisons must find what is wrong, and only that.
#include "common/harness/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "common/harness/inputs.h"

namespace {

using namespace gen5::harness;
using testing::HasSubstr;

struct Problem {
  uint32_t m = 40, n = 56, k = 72;
  std::vector<uint16_t> a = make_inputs(Format::bf16, Pattern::uniform, 40 * 72, 5),
                        b = make_inputs(Format::bf16, Pattern::uniform, 56 * 72, 6);
  GemmInputs in{Format::bf16, m, n, k, a.data(), b.data()};
  std::vector<uint32_t> d = fused_gemm(in);
};

TEST(Verify, TheReferenceEqualsItselfAndLiesInTheBound) {
  Problem p;
  EXPECT_TRUE(compare_bits(p.in, Output::f32, p.d, 0, 0, p.m, p.n).equal());
  const Bound all = check_float64(p.in, Output::f32, p.d), sums = check_row_sums(p.in, Output::f32, p.d, 4, 1);
  EXPECT_EQ(all.outside, 0u);
  EXPECT_EQ(all.checked, p.m * p.n);
  EXPECT_GT(all.worst, 0.001);
  EXPECT_EQ(sums.outside, 0u);
  EXPECT_EQ(sums.checked, 4 * p.m);
}

TEST(Verify, OneBitIsFoundAndNamed) {
  Problem p;
  p.d[13 * p.n + 7] ^= 1;
  const Comparison c = compare_bits(p.in, Output::f32, p.d, 0, 0, p.m, p.n);
  EXPECT_EQ(c.different, 1u);
  EXPECT_THAT(c.describe(Output::f32), HasSubstr("1 of 2,240 words differ; the first at row 13, column 7: got 0x"));
  EXPECT_TRUE(compare_bits(p.in, Output::f32, p.d, 14, 0, p.m - 14, p.n).equal());
}

TEST(Verify, AProductRemembersItsWindows) {
  Problem p;
  int computed = 0;
  Product product = product_of(p.in);
  product.bits = [&, bits = product.bits](uint32_t m0, uint32_t n0, uint32_t rows, uint32_t columns) {
    ++computed;
    return bits(m0, n0, rows, columns);
  };
  const Product kept = remembering(product);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(compare_bits(kept, Output::f32, p.d, 0, 0, p.m, p.n).equal());
    EXPECT_TRUE(compare_bits(kept, Output::f32, p.d, 8, 16, 24, 32).equal()) << "a window of its own";
  }
  EXPECT_EQ(computed, 2);
  p.d[13 * p.n + 20] ^= 1;
  EXPECT_EQ(compare_bits(kept, Output::f32, p.d, 0, 0, p.m, p.n).different, 1u);
  EXPECT_EQ(compare_bits(kept, Output::f32, p.d, 8, 16, 24, 32).different, 1u);
  EXPECT_EQ(computed, 2);
}

TEST(Verify, AMissingStepLeavesTheBound) {
  Problem p;
  // The product without its last 16 of K.
  GemmInputs shorter = p.in;
  std::vector<uint16_t> a, b;
  for (uint32_t r = 0; r < p.m; ++r) a.insert(a.end(), &p.a[r * p.k], &p.a[r * p.k] + 56);
  for (uint32_t r = 0; r < p.n; ++r) b.insert(b.end(), &p.b[r * p.k], &p.b[r * p.k] + 56);
  shorter.k = 56;
  shorter.a = a.data();
  shorter.b = b.data();
  const std::vector<uint32_t> d = fused_gemm(shorter);
  EXPECT_GT(check_float64(p.in, Output::f32, d).outside, p.m * p.n * 9 / 10);
  EXPECT_GT(check_row_sums(p.in, Output::f32, d, 4, 1).outside, 4 * p.m * 9 / 10);
}

TEST(Verify, NansAreOutside) {
  Problem p;
  p.d[5] = 0x7fffffff;
  EXPECT_EQ(check_float64(p.in, Output::f32, p.d).outside, 1u);
  EXPECT_EQ(check_row_sums(p.in, Output::f32, p.d, 2, 1).outside, 2u);
}

TEST(Verify, Bf16OutputIsRounded) {
  Problem p;
  for (uint32_t& w : p.d) w = bf16_of(std::bit_cast<float>(w));
  EXPECT_TRUE(compare_bits(p.in, Output::bf16, p.d, 0, 0, p.m, p.n).equal());
  EXPECT_EQ(check_float64(p.in, Output::bf16, p.d).outside, 0u);
  p.d[100] ^= 0x10;
  EXPECT_EQ(compare_bits(p.in, Output::bf16, p.d, 0, 0, p.m, p.n).different, 1u);
  EXPECT_EQ(check_float64(p.in, Output::bf16, p.d).outside, 1u);
}

TEST(Verify, SubnormalOperandsLieInTheBound) {
  for (Format format : {Format::bf16, Format::f16}) {
    const auto a = make_inputs(format, Pattern::subnormal, 40 * 72, 5),
               b = make_inputs(format, Pattern::subnormal, 56 * 72, 6);
    const GemmInputs in{format, 40, 56, 72, a.data(), b.data()};
    const std::vector<uint32_t> d = fused_gemm(in);
    EXPECT_EQ(check_float64(in, Output::f32, d).outside, 0u);
    EXPECT_EQ(check_row_sums(in, Output::f32, d, 2, 1).outside, 0u);
  }
}

}  // namespace
