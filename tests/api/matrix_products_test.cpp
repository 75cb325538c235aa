// Products against cuBLAS 13 on an H200 (torch 2.11, 2026-11-28), parts of 256 x 256 x 512, of normal numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "common/tinygpu/api/matrix_products.h"
#include "tests/support/zstd_file.h"

namespace tinygpu::api {
namespace {

constexpr uint32_t kDepth = 512;

// torch's _scaled_mm, e4m3. The file has A's codes, B's, the sums with fast accumulation, and those without.
TEST(MatrixProducts, HaveTheBitsOfCublasOnAnH200) {
  constexpr uint32_t kRows = 40, kColumns = 24;
  const std::string file = gen5::test::read_packed(GEN5_SOURCE_DIR "/tests/api/cublas_fp8_h200.zst");
  ASSERT_EQ(file.size(), (kRows + kColumns) * kDepth + 2 * 4 * kRows * kColumns);
  const auto* codes = reinterpret_cast<const uint8_t*>(file.data());
  const Rows a{codes, kRows}, b{codes + kRows * kDepth, kColumns};
  const char* sums = file.data() + (kRows + kColumns) * kDepth;
  for (const uint32_t promoted : {0u, 128u}) {
    std::vector<float> wanted(kRows * kColumns), got(kRows * kColumns, -1);
    std::memcpy(wanted.data(), sums, 4 * wanted.size());
    tensor_core_product(a, b, kDepth, promoted, got.data());
    EXPECT_EQ(got, wanted) << promoted;
    sums += 4 * wanted.size();
  }
}

// torch's mm with results in f32. The file has A's codes, B's, and the sums, of f16 and then of bf16.
TEST(MatrixProducts, SumHalvesAsCublasOnAnH200) {
  constexpr uint32_t kRows = 16, kColumns = 12, kCodes = 2 * kDepth, kSums = 4 * kRows * kColumns;
  const std::string file = gen5::test::read_packed(GEN5_SOURCE_DIR "/tests/api/cublas_half_h200.zst");
  ASSERT_EQ(file.size(), 2 * ((kRows + kColumns) * kCodes + kSums));
  const char* at = file.data();
  for (const Element element : {Element::f16, Element::bf16}) {
    const Rows a{at, kRows, element}, b{at + kRows * kCodes, kColumns, element};
    std::vector<float> wanted(kRows * kColumns), got(kRows * kColumns, -1);
    std::memcpy(wanted.data(), at + (kRows + kColumns) * kCodes, kSums);
    tensor_core_product(a, b, kDepth, 0, got.data());
    EXPECT_EQ(got, wanted);
    at += (kRows + kColumns) * kCodes + kSums;
  }
}

TEST(MatrixProducts, TakeAnyDepthAndE5m2) {
  // 1.5 times 2 in e4m3 and e5m2.
  const std::vector<uint8_t> a(3 * 37, 0x3c), b(2 * 37, 0x40);
  std::vector<float> d(6);
  tensor_core_product({a.data(), 3}, {b.data(), 2, Element::e5m2}, 37, 0, d.data());
  EXPECT_THAT(d, ::testing::Each(37 * 3.0f));
}

// 2^30, then 100, then -2^30, in three steps of K: beside 2^30 a tensor core keeps multiples of 2^5, and an f32 of 24
// bits those of 2^7, cut toward zero. So nothing of the 100 is left; beside 2^29 64 are.
TEST(MatrixProducts, SumF16AsTensorCoresDo) {
  for (const auto& [large, left] : {std::pair<uint16_t, float>{0x7800, 0}, {0x7400, 64}}) {  // 2^15, 2^14
    std::vector<uint16_t> a(48), b(48);
    a[0] = large, b[0] = 0x7800;
    a[16] = b[16] = 0x4900;  // 10
    a[40] = large | 0x8000, b[40] = 0x7800;
    float d = -1;
    tensor_core_product({a.data(), 1, Element::f16}, {b.data(), 1, Element::f16}, 48, 0, &d);
    EXPECT_EQ(d, left);
  }
}

}  // namespace
}  // namespace tinygpu::api
