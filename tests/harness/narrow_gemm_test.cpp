// The narrow kinds' references: sums worked out by hand, and layouts written down from PTX ISA 9.7.16.10.7.
#include "common/harness/narrow_gemm.h"

#include <gtest/gtest.h>

#include <bit>

#include "common/harness/verify.h"

namespace gen5::harness {
namespace {

uint32_t f32(float x) { return std::bit_cast<uint32_t>(x); }

constexpr uint8_t kOne8 = 0x38, kOne4 = 2, kHalf4 = 1, kSix4 = 7;

NarrowMatrix row(Narrow format, Scaling scaling, uint32_t k, uint8_t code = 0) {
  NarrowMatrix m{format, scaling, 1, k, std::vector<uint8_t>(k, code), {}};
  m.scales.assign(m.blocks(), scaling == Scaling::mx ? 127 : 0x38);
  return m;
}
uint32_t product(const NarrowMatrix& a, const NarrowMatrix& b) { return narrow_gemm(a, b, 0, 0, 1, 1)[0]; }

TEST(NarrowGemm, SmallSumsAreExact) {
  EXPECT_EQ(product(row(Narrow::e4m3, Scaling::none, 80, kOne8), row(Narrow::e4m3, Scaling::none, 80, 0xc0)),
            f32(-160));
  EXPECT_EQ(product(row(Narrow::e4m3, Scaling::mx, 96, kOne8), row(Narrow::e4m3, Scaling::mx, 96, 0x40)), f32(192));
  EXPECT_EQ(product(row(Narrow::e2m1, Scaling::nv, 96, kSix4), row(Narrow::e2m1, Scaling::nv, 96, kHalf4)), f32(288));
}

TEST(NarrowGemm, EachBlockHasItsScale) {
  NarrowMatrix a = row(Narrow::e4m3, Scaling::mx, 64, kOne8), b = a;
  a.scales = {130, 127};  // 8, 1
  b.scales = {126, 128};  // 1/2, 2
  EXPECT_EQ(product(a, b), f32(32 * 4 + 32 * 2));
  a = b = row(Narrow::e2m1, Scaling::nv, 64, kOne4);
  a.scales = {0x38, 0x3c, 0x40, 0x01};  // 1, 1.5, 2, 2^-9
  b.scales = {0x38, 0x3c, 0x30, 0x38};  // 1, 1.5, 0.5, 1
  EXPECT_EQ(product(a, b), f32(16 * (1 + 2.25f + 1 + 0x1p-9f)));
}

// 1 and 2^-26: the window of kinds f8f6f4 and mxf8f6f4 ends at 2^-25, products of one step being cut one by one.
TEST(NarrowGemm, WhatLiesBelowTheWindowVanishes) {
  NarrowMatrix a = row(Narrow::e4m3, Scaling::mx, 32), b = a;
  a.codes[0] = b.codes[0] = 0x7e;                                    // 448², raw exponent 16
  for (uint32_t k = 1; k < 32; ++k) a.codes[k] = b.codes[k] = 0x01;  // 2^-18 each, raw exponent -12, 7 bits lower
  EXPECT_EQ(product(a, b), f32(448.0f * 448));
  // 2^-9 · 1: its last bit is 2^-9, the window's 2^(16 - 25); 31 of them stay, in f32 with last place 2^-6 here.
  for (uint32_t k = 1; k < 32; ++k) b.codes[k] = kOne8;
  EXPECT_EQ(product(a, b), f32(448.0f * 448 + 3 * 0x1p-6f));
}

// Sums of four products are cut 35 bits below the largest sum of two scales' exponents, 39 below the largest product.
TEST(NarrowGemm, Nvf4CutsSumsOfFour) {
  NarrowMatrix a = row(Narrow::e2m1, Scaling::nv, 64), b = a;
  a.scales = b.scales = {0x7e, 0x01, 0x01, 0x01};  // 448 = 1.75 · 2^8; 2^-9, raw exponent -6
  a.codes[0] = b.codes[0] = kHalf4;                // 448² / 4, raw exponent 16; S - 35 = -19, P - 39 = -23
  EXPECT_EQ(product(a, b), f32(448.0f * 448 / 4));
  // 2^-18 · 1/4 each: four make 2^-18, which is above 2^-19; one is not. f32's last place is 2^-8 here.
  for (uint32_t k = 16; k < 20; ++k) a.codes[k] = b.codes[k] = kHalf4;
  a.codes[1] = kHalf4;
  b.codes[1] = kHalf4 | 8;  // takes the large product away
  EXPECT_EQ(product(a, b), f32(0x1p-18f));
  a.codes[17] = a.codes[18] = a.codes[19] = 0;
  EXPECT_EQ(product(a, b), 0u);
}

TEST(NarrowGemm, NansComeFromCodesAndScales) {
  NarrowMatrix a = row(Narrow::e4m3, Scaling::mx, 64, kOne8), b = a;
  a.codes[40] = 0x7f;
  EXPECT_EQ(product(a, b), 0x7fffffffu);
  a = b;
  a.codes.assign(64, 0);
  a.scales[1] = 255;  // even of zeros
  EXPECT_EQ(product(a, b), 0x7fffffffu);
  NarrowMatrix c = row(Narrow::e2m1, Scaling::nv, 128, kOne4), d = c;
  d.scales[5] = 0x7f;
  EXPECT_EQ(product(c, d), 0x7fffffffu);
  d.scales[5] = 0xb8;  // bit 7 is ignored: 1
  EXPECT_EQ(product(c, d), f32(128));
}

TEST(NarrowGemm, BytesAndChunks) {
  NarrowMatrix m{Narrow::e2m1, Scaling::nv, 130, 80, std::vector<uint8_t>(130 * 80), std::vector<uint8_t>(130 * 5)};
  m.codes[0] = 1, m.codes[1] = 2, m.codes[130 * 80 - 1] = 0xf;
  for (uint32_t i = 0; i < m.scales.size(); ++i) m.scales[i] = uint8_t(1 + i % 251);
  const auto bytes = m.bytes();
  ASSERT_EQ(bytes.size(), 130u * 40);
  EXPECT_EQ(bytes[0], 0x21);
  EXPECT_EQ(bytes.back(), 0xf0);
  // Two chunks along K for rows 0 to 127, then two for rows 128 and 129.
  const auto chunks = m.chunks();
  ASSERT_EQ(chunks.size(), 4u * 512);
  EXPECT_EQ(chunks[0], m.scales[0]);
  EXPECT_EQ(chunks[3], m.scales[3]);
  EXPECT_EQ(chunks[4], m.scales[32 * 5]);  // word 1 of line 0: row 32
  EXPECT_EQ(chunks[16 * 7 + 4 * 3 + 2], m.scales[(96 + 7) * 5 + 2]);
  EXPECT_EQ(chunks[512 + 16], m.scales[1 * 5 + 4]);  // the fifth scale of row 1
  EXPECT_EQ(chunks[512 + 1], 0);                     // there is no sixth
  EXPECT_EQ(chunks[2 * 512 + 16], m.scales[129 * 5]);
  EXPECT_EQ(chunks[2 * 512 + 32], 0);
}

TEST(NarrowGemm, QuantisesToTheBlocksLargest) {
  std::vector<double> numbers(64, 0.25);
  numbers[3] = 3;
  const NarrowMatrix mx = quantise(Narrow::e4m3, Scaling::mx, 1, 64, numbers);
  EXPECT_EQ(mx.scales, (std::vector<uint8_t>{127 + 1 - 8, 127 - 2 - 8}));
  for (uint32_t k = 0; k < 64; ++k) EXPECT_EQ(mx.value(0, k), numbers[k]);
  const NarrowMatrix nv = quantise(Narrow::e2m1, Scaling::nv, 1, 64, numbers);
  EXPECT_EQ(nv.scales[0], 0x30);  // 3 / 6
  EXPECT_EQ(nv.value(0, 3), 3);
}

// Every pattern lies in the bound of float64, and a wrong word does not.
TEST(NarrowGemm, LiesInTheBound) {
  for (const auto& [format, scaling] :
       {std::pair{Narrow::e4m3, Scaling::none}, {Narrow::e4m3, Scaling::mx}, {Narrow::e2m1, Scaling::nv}})
    for (const Pattern pattern : {Pattern::uniform, Pattern::wide, Pattern::cancelling, Pattern::subnormal}) {
      const NarrowMatrix a = make_narrow(format, scaling, pattern, 33, 160, 5),
                         b = make_narrow(format, scaling, pattern, 70, 160, 6);
      const Product p = product_of(a, b);
      auto d = narrow_gemm(a, b, 0, 0, 33, 70);
      EXPECT_EQ(check_float64(p, Output::f32, d).outside, 0u) << shape_of(format).name << " " << name_of(pattern);
      EXPECT_EQ(check_row_sums(p, Output::f32, d, 2, 1).outside, 0u);
      d[40] ^= 0x00400000;
      if (pattern == Pattern::uniform) {
        EXPECT_EQ(check_float64(p, Output::f32, d).outside, 1u);
      }
      // A window of it is the same.
      const auto part = narrow_gemm(a, b, 3, 5, 4, 6);
      for (uint32_t i = 0; i < 24; ++i) EXPECT_EQ(part[i], d[(3 + i / 6) * 70 + 5 + i % 6]);
    }
}

}  // namespace
}  // namespace gen5::harness
