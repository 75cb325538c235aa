// The vector kernel of narrow elements against the scalar model: same bits for every kind, dense and sparse, whatever
// the operands, scales and accumulators; and how much of ordinary work it leaves to the scalar model: nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <random>
#include <vector>

#include "common/tinygpu/numerics/mma_kernel.h"

namespace gen5::test::mma_narrow_test {
namespace {

using namespace tinygpu::numerics;
using Random = std::mt19937;

struct Kind {
  const char* name;
  SumKind sum;
  Format a, b;
  bool half;
  uint32_t terms, scales;
  Format scale;
};
const Kind kKinds[] = {
    {"e4m3", SumKind::fused, Format::e4m3, Format::e4m3, false, 32, 0, Format::ue8m0},
    {"e5m2", SumKind::fused, Format::e5m2, Format::e5m2, false, 32, 0, Format::ue8m0},
    {"e4m3_f16", SumKind::fused, Format::e4m3, Format::e5m2, true, 32, 0, Format::ue8m0},
    {"e2m3_e3m2", SumKind::fused, Format::e2m3, Format::e3m2, false, 32, 0, Format::ue8m0},
    {"e2m1_e4m3_f16", SumKind::fused, Format::e2m1, Format::e4m3, true, 32, 0, Format::ue8m0},
    {"mx_e4m3", SumKind::scaled, Format::e4m3, Format::e5m2, false, 32, 1, Format::ue8m0},
    {"mx_e2m1_e3m2", SumKind::scaled, Format::e2m1, Format::e3m2, false, 32, 1, Format::ue8m0},
    {"mxf4", SumKind::fp4, Format::e2m1, Format::e2m1, false, 64, 2, Format::ue8m0},
    {"mxf4_4x", SumKind::fp4, Format::e2m1, Format::e2m1, false, 64, 4, Format::ue8m0},
    {"nvf4", SumKind::fp4, Format::e2m1, Format::e2m1, false, 64, 4, Format::ue4m3},
    {"s8", SumKind::integer, Format::s8, Format::s8, false, 32, 0, Format::ue8m0},
    {"u8_s8", SumKind::integer, Format::u8, Format::s8, false, 32, 0, Format::ue8m0},
};
// low_scales, high_scales: results about the least normal f32, about the largest.
const char* kDataNames[] = {"normal", "bits",   "sparse",     "small",      "special",    "tiny_c",
                            "big_c",  "cancel", "any_scales", "low_scales", "high_scales"};
enum class Data { normal, bits, sparse, small, special, tiny_c, big_c, cancel, any_scales, low_scales, high_scales };

struct Tile {
  alignas(64) uint8_t a[128 * kPlane] = {}, b[128 * kPlane] = {}, select[64 * kPlane] = {};
  ScalePlanes sa{}, sb{};
  std::vector<uint32_t> d;
  MmaTile t;

  Tile(Random& random, const Kind& k, Data data, bool sparse, uint32_t rows, uint32_t columns) : d(128 * columns) {
    t.sum = k.sum;
    t.rule = k.half ? kSumF16 : kSumF32;
    t.a_format = k.a;
    t.b_format = k.b;
    t.rows = rows;
    t.columns = columns;
    t.terms = k.terms;
    t.a = a;
    t.b = b;
    t.negate_a = k.sum != SumKind::integer && random() % 4 == 0;
    t.read_c = random() % 4 != 0;
    t.saturate = random() % 2;
    t.scale_format = k.scale;
    t.scales = k.scales;
    t.a_scales = sa.bytes;
    t.b_scales = sb.bytes;
    t.d = d.data();
    t.column_stride = 128;
    for (uint32_t i = 0; i < 8; ++i) t.lane[i] = 16 * ((i + 3) % 8);
    fill(random, k.a, data, k.terms, a);
    fill(random, k.b, data, sparse ? 2 * k.terms : k.terms, b);
    if (sparse) {
      t.select = select;
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t i = 0; i < k.terms; i += 2) {
          const uint32_t first = random() % 4, second = (first + 1 + random() % 3) % 4;
          select[i * kPlane + r] = uint8_t(2 * i + first);
          select[(i + 1) * kPlane + r] = uint8_t(2 * i + second);
        }
    }
    for (auto* s : {&sa, &sb})
      for (auto& byte : s->bytes) byte = scale(random, k, data);
    for (auto& w : d) w = accumulator(random, k, data);
  }

  static uint8_t scale(Random& random, const Kind& k, Data data) {
    if (data == Data::any_scales || (data == Data::special && random() % 64 == 0)) return uint8_t(random());
    if (k.scale == Format::ue4m3) return uint8_t(0x30 + random() % 16);
    if (data == Data::low_scales) return uint8_t(50 + random() % 16);
    if (data == Data::high_scales) return uint8_t(186 + random() % 8);
    return uint8_t(125 + random() % 5);
  }

  static void fill(Random& random, Format f, Data data, uint32_t terms, uint8_t* to) {
    const FormatInfo& i = info(f);
    for (uint32_t k = 0; k < terms; ++k)
      for (uint32_t r = 0; r < kPlane; ++r) {
        const uint32_t any = random() & ((1u << i.bits) - 1);
        uint32_t v = any;
        if (i.exponent_bits && data != Data::bits && data != Data::special) {
          // Exponents about the middle, as normally distributed numbers have them.
          const uint32_t top = (1u << i.exponent_bits) - 1, middle = top / 2 + 1;
          const uint32_t below = std::min<uint32_t>(uint32_t(__builtin_clz(random() | 1)), middle);
          v = (any & ~(top << i.fraction_bits)) | (middle - below) << i.fraction_bits;
          if (data == Data::sparse && random() % 8) v &= 1u << (i.bits - 1);
          if (data == Data::small) v &= ~(top << i.fraction_bits);
        }
        if (data == Data::cancel && k % 2) v = to[(k - 1) * kPlane + r] ^ 1u << (i.bits - 1);
        to[k * kPlane + r] = uint8_t(v);
      }
  }

  static uint32_t accumulator(Random& random, const Kind& k, Data data) {
    const uint32_t r = random();
    if (k.sum == SumKind::integer) return random() % 2 ? r : (r % 64) + (r & 64 ? 0x7fffffe0u : 0x80000000u);
    if (data == Data::bits || data == Data::special) return k.half ? r & 0xffff : r;
    if (data == Data::cancel) return random() % 2 ? 0 : r & 0x80000000;
    if (k.half) return (r & 0x83ff) | (data == Data::tiny_c ? random() % 3 : 10 + random() % 10) << 10;
    const uint32_t field = data == Data::tiny_c        ? 90 + random() % 20
                           : data == Data::big_c       ? 145 + random() % 30
                           : data == Data::low_scales  ? random() % 8
                           : data == Data::high_scales ? 248 + random() % 7
                                                       : 126 + random() % 8;
    return data == Data::normal || random() % 64 ? (r & 0x807fffff) | field << 23 : r & 0x807fffff;
  }

  std::vector<uint32_t> run(const char* level) {
    const std::vector<uint32_t> before = d;
    EXPECT_TRUE(mma_at_level(level, t));
    std::vector<uint32_t> after = d;
    d = before;
    return after;
  }
};

TEST(NarrowKernel, HasTheBitsOfTheScalarModelAtEveryLevelOfThisCpu) {
  Random random(4321);
  for (const char* level : mma_levels()) {
    if (!std::strcmp(level, "scalar")) continue;
    if (!mma_has_level(level)) {
      std::cout << level << ": this CPU lacks it, not compared\n";
      continue;
    }
    for (const Kind& k : kKinds)
      for (size_t data = 0; data < std::size(kDataNames); ++data)
        for (int round = 0; round < 6; ++round) {
          const bool sparse = round % 3 == 2;
          const uint32_t rows = round % 2 ? 16 * (1 + random() % 8) : 128,
                         columns = 8 * (1 + random() % (round ? 4 : 16));
          const auto tile = std::make_unique<Tile>(random, k, Data(data), sparse, rows, columns);
          const auto expected = tile->run("scalar"), got = tile->run(level);
          size_t different = 0, first = 0;
          for (size_t i = 0; i < expected.size(); ++i)
            if (expected[i] != got[i] && different++ == 0) first = i;
          ASSERT_EQ(different, 0u) << level << ' ' << k.name << ' ' << kDataNames[data] << (sparse ? " sparse " : " ")
                                   << rows << 'x' << columns << ": first at lane " << first % 128 << " column "
                                   << first / 128 << std::hex << " before " << tile->d[first] << " expected "
                                   << expected[first] << " got " << got[first];
        }
  }
}

TEST(NarrowKernel, LeavesNothingToTheScalarModel) {
  if (!std::strcmp(mma_level(), "scalar")) GTEST_SKIP() << "this CPU has no vector kernel";
  Random random(1);
  for (const Kind& k : kKinds)
    for (size_t data = 0; data < std::size(kDataNames); ++data)
      for (const bool sparse : {false, true}) {
        // Infinities, NaNs and factors far from 1 in sparse tiles are for the scalar model, and subnormal results.
        const auto plain = [](Data d) {
          return d != Data::bits && d != Data::sparse && d != Data::special && d != Data::any_scales &&
                 d != Data::low_scales && d != Data::high_scales;
        };
        if (sparse && k.sum != SumKind::fp4 && !plain(Data(data))) continue;
        const auto tile = std::make_unique<Tile>(random, k, Data(data), sparse, 64, 32);
        EXPECT_EQ(mma(tile->t), 0u) << k.name << ' ' << kDataNames[data] << (sparse ? " sparse" : "");
      }
}

/// Both elements of each group of these rows meet one element of B. `zeros`: of two the first is a zero, in odd rows
/// the second too, as metadata and elements are that TMA fills with zeros.
void meet(Tile& tile, const Kind& k, uint32_t first_row, bool zeros) {
  const uint32_t sign = info(k.a).exponent_bits ? 1u << (info(k.a).bits - 1) : 0;
  for (uint32_t r = first_row; r < tile.t.rows; ++r)
    for (uint32_t i = 0; i < k.terms; i += 2) {
      tile.select[i * kPlane + r] = tile.select[(i + 1) * kPlane + r] = uint8_t(2 * i);
      if (zeros) tile.a[i * kPlane + r] = uint8_t(i % 4 ? sign : 0);
      if (zeros && r % 2) tile.a[(i + 1) * kPlane + r] = uint8_t(i % 4 ? 0 : sign);
    }
}

TEST(NarrowKernel, MultipliesSparseRowsWhoseZerosMeet) {
  Random random(7);
  for (const Kind& k : kKinds)
    for (const bool zeros : {true, false}) {
      const auto tile = std::make_unique<Tile>(random, k, Data::normal, true, 64, 32);
      meet(*tile, k, 16, zeros);
      const auto expected = tile->run("scalar");
      for (const char* level : mma_levels())
        if (mma_has_level(level)) {
          EXPECT_EQ(tile->run(level), expected) << level << ' ' << k.name;
        }
      if (!std::strcmp(mma_level(), "scalar")) continue;
      EXPECT_EQ(mma(tile->t), zeros ? 0u : 64u * 32u) << k.name << ": sums that the scalar model did";
    }
}

}  // namespace
}  // namespace gen5::test::mma_narrow_test
