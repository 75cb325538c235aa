// The reference model against words that silicon returned. None of these words comes from this repo.
#include "common/tinygpu/numerics/fused_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/numerics/vector_data.h"

namespace gen5::test {
namespace {

using namespace tinygpu::numerics;

struct Case {
  const char *machine, *format, *result;
  Format type;
  SumRule rule;
  bool without_c = false;  // the table's results were made with C = 0
};

std::ostream& operator<<(std::ostream& o, const Case& c) {
  return o << c.machine << ' ' << c.format << ' ' << c.result;
}

/// The pattern of `type` that holds the f32 word's value: every operand in the tables is one exactly.
uint32_t narrow(Format type, uint32_t word) {
  const FormatInfo& i = info(type);
  if (type == Format::tf32) return word;
  if (type == Format::bf16) return word >> 16;
  for (uint32_t bits = 0; bits < 1u << i.bits; ++bits)
    if (to_double(type, bits) == std::bit_cast<float>(word) &&
        std::signbit(to_double(type, bits)) == std::signbit(std::bit_cast<float>(word)))
      return bits;
  ADD_FAILURE() << "no " << i.name << " pattern for " << std::hex << word;
  return 0;
}

uint32_t half_of(uint32_t word) {
  const Unpacked u = unpack(Format::f32, word);
  return round_f16_nearest(u.negative, u.significand, u.exponent - 23);
}

uint32_t narrow_fast(Format type, uint32_t word) {
  if (type != Format::f16) return narrow(type, word);
  return half_of(word);
}

size_t differences(const Case& c, const std::vector<Row>& rows) {
  size_t different = 0;
  const bool half = c.rule.result == SumRule::Result::f16_nearest;
  for (const Row& r : rows) {
    std::vector<uint32_t> a, b;
    for (uint32_t w : r.a) a.push_back(narrow_fast(c.type, w));
    for (uint32_t w : r.b) b.push_back(narrow_fast(c.type, w));
    const uint32_t old = c.without_c ? 0 : half ? half_of(r.c) : r.c;
    uint32_t d = fused_sum(c.rule, c.type, c.type, a, b, {true, old, 0});
    if (half) d = std::bit_cast<uint32_t>(float(to_double(Format::f16, d)));
    different += d != r.d;
  }
  return different;
}

const Case kCases[] = {
    {"B200", "fp16", "fp32", Format::f16, kSumF32},
    {"B200", "fp16", "fp16", Format::f16, kSumF16},
    {"B200", "bf16", "fp32", Format::bf16, kSumF32},
    {"B200", "tf32", "fp32", Format::tf32, kSumF32},
    {"H200", "fp16", "fp32", Format::f16, kSumF32},
    {"H200", "fp16", "fp16", Format::f16, kSumF16},
    {"H200", "bf16", "fp32", Format::bf16, kSumF32},
    {"H200", "tf32", "fp32", Format::tf32, kSumF32},
    {"H200", "E4M3", "fp32", Format::e4m3, kSumHopperFp8, true},
    {"H200", "E5M2", "fp32", Format::e5m2, kSumHopperFp8, true},
};

class Vectors : public testing::TestWithParam<Case> {};

TEST_P(Vectors, RowsAgree) {
  const auto rows = published_rows(GetParam().machine, GetParam().format, GetParam().result);
  ASSERT_EQ(rows.size(), 1015u);
  EXPECT_EQ(differences(GetParam(), rows), 0u);
}

INSTANTIATE_TEST_SUITE_P(Published, Vectors, testing::ValuesIn(kCases));

// The window's width is what these tables decide: one bit less or more is wrong on many rows.
TEST(Vectors, OtherWindowsDisagree) {
  const auto rows = published_rows("B200", "fp16", "fp32");
  for (int window : {23, 24, 26}) {
    Case c = kCases[0];
    c.rule.window = window;
    EXPECT_GT(differences(c, rows), 0u) << window;
  }
}

Format format_of(const std::string& name) {
  for (int f = 0; f <= int(Format::u8); ++f)
    if (info(Format(f)).name == name) return Format(f);
  throw std::runtime_error("no format " + name);
}

TEST(Tcgen05Words, AllAgree) {
  const auto words = b200_words();
  ASSERT_EQ(words.size(), 49u);
  for (const Word& w : words) {
    const Format fa = format_of(w.a_type), fb = format_of(w.b_type);
    std::vector<uint32_t> a = w.a, b = w.b;
    if (fa == Format::bf16)
      for (auto* v : {&a, &b})
        for (uint32_t& x : *v) x >>= 16;
    const Addend c{true, w.c, 0};
    uint32_t d = 0;
    if (w.kind == "i8")
      d = integer_sum(fa, fb, a, b, c, w.saturate);
    else if (w.kind == "mxf8f6f4")
      d = fused_sum_scaled(fa, fb, a, b, w.scale_a.at(0), w.scale_b.at(0), c);
    else if (w.kind == "mxf4" || w.kind == "mxf4nvf4")
      d = fused_sum_fp4(format_of(w.scale_type), a, b, w.scale_a, w.scale_b, c);
    else
      d = fused_sum(w.d_type == "f16" ? kSumF16 : kSumF32, fa, fb, a, b, c);
    EXPECT_EQ(d, w.d) << w.name;
  }
}

}  // namespace
}  // namespace gen5::test
