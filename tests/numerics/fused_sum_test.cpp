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

// Rows of mma.sync.m16n8k16.f16.e4m3.e5m2.f16 on an H200 (2026-11-22) whose e4m3 operands are subnormal: as f16 words
// they are not, and with the exponents that they have as e4m3 each of these results would be another.
TEST(Fp8WithF16Accumulators, SubnormalOperandsAreWidenedFirst) {
  const struct {
    uint32_t a[16], b[16], c, d;
  } rows[] = {
      {{0x84, 0x03, 0x8a, 0x01, 0x01, 0x02, 0x05, 0x83, 0x84, 0x80, 0x92, 0x85, 0x80, 0x81, 0x17, 0x1e},
       {0x57, 0x77, 0x69, 0x63, 0xd9, 0x10, 0xfa, 0x3d, 0x91, 0x03, 0xc7, 0x0d, 0xbc, 0x68, 0x30, 0x47},
       0x02cd,
       0xddb1},
      {{0x2e, 0x00, 0x80, 0x6a, 0x82, 0x80, 0x80, 0xa8, 0x00, 0x00, 0xf3, 0x95, 0x00, 0x80, 0x80, 0x83},
       {0x00, 0x80, 0x86, 0xb7, 0x17, 0x80, 0x62, 0x38, 0xbd, 0xd8, 0x00, 0x58, 0x53, 0xa0, 0x3e, 0x79},
       0x0000,
       0xdc67},
      {{0x06, 0x85, 0x87, 0x9f, 0x0c, 0x07, 0x9d, 0x07, 0x80, 0x02, 0x84, 0x02, 0x03, 0x01, 0x05, 0x93},
       {0x06, 0x56, 0x74, 0xea, 0x5a, 0x86, 0x53, 0x9e, 0x86, 0xf8, 0xea, 0x01, 0xe8, 0x1e, 0x55, 0xd8},
       0x0323,
       0x4e0e},
      {{0x13, 0x05, 0x8c, 0x86, 0x04, 0x00, 0x9b, 0x01, 0x87, 0x97, 0x85, 0x81, 0x05, 0x17, 0x85, 0x86},
       {0x30, 0x27, 0x04, 0x44, 0xd5, 0x5b, 0x44, 0x78, 0x42, 0xbe, 0x0c, 0x78, 0x42, 0xc0, 0xbe, 0xdd},
       0xa8e7,
       0x4159},
      {{0x03, 0x82, 0x80, 0x1d, 0x02, 0x9f, 0x84, 0x15, 0x80, 0x02, 0x84, 0x0a, 0x1a, 0x8e, 0x83, 0x01},
       {0x62, 0xb2, 0xa3, 0x44, 0x87, 0x54, 0x60, 0x85, 0x02, 0xd3, 0x75, 0x54, 0x9f, 0x13, 0x60, 0x6a},
       0x8333,
       0xd915},
      {{0x8e, 0x86, 0x80, 0x01, 0x9d, 0x05, 0x01, 0x0b, 0x04, 0x83, 0x86, 0x02, 0x99, 0x04, 0x10, 0x04},
       {0x40, 0xcb, 0xec, 0x75, 0xc9, 0xae, 0xe7, 0x70, 0x3e, 0x19, 0x8a, 0x86, 0xe7, 0xa1, 0x92, 0x1b},
       0x8268,
       0x5d4f},
  };
  for (const auto& r : rows) {
    const uint32_t sum = fp8_mma_sync_f16(Format::e4m3, Format::e5m2, r.a, r.b);
    const _Float16 d = _Float16(float(to_double(Format::f16, sum)) + float(to_double(Format::f16, r.c)));
    EXPECT_EQ(std::bit_cast<uint16_t>(d), r.d);
  }
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
