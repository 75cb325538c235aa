// The vector kernel against the scalar model: same bits for ordinary data and for everything that its fixed point can't
// hold.
#include "common/tinygpu/numerics/mma_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>
#include <string>

namespace gen5::test {
namespace {

using namespace tinygpu::numerics;

/// 32 random bits a call.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t operator()() { return uint32_t(engine_()); }

 private:
  std::mt19937 engine_;
};

// From `edges` on: around what the fixed point holds. edges: products that the window cuts, in every place of it and by
// one unit; heavy: sums of products near 2^31 units; one_hot: outputs without a product; far: elements 62 to 65 powers
// of two below the largest; top and bottom: windows near the largest and the least; least: results of a few units of
// 2^-149, and terms far below that; special_c: infinite, NaN and huge C beside products of the other sign; islands:
// groups of columns that go another way between ordinary ones.
enum class Data {
  normal,
  bits,
  gaps,
  cancel,
  sparse,
  subnormal,
  extreme,
  zero_rows,
  edges,
  heavy,
  one_hot,
  far,
  top,
  bottom,
  least,
  special_c,
  spread,
  specials,
  islands
};
const char* const kDataNames[] = {"normal",    "bits",      "gaps",   "cancel",   "sparse", "subnormal", "extreme",
                                  "zero_rows", "edges",     "heavy",  "one_hot",  "far",    "top",       "bottom",
                                  "least",     "special_c", "spread", "specials", "islands"};

struct TileKind {
  Format a, b;
  bool half;
  Data data;
  bool few_terms = false;  // of 8 bits: 16, and Blackwell's rule
};

class Tile {
 public:
  Tile(Random& random, const TileKind& s, uint32_t rows, uint32_t columns, uint32_t terms) : setup_(s) {
    fill(random, s.a, rows, terms, a_);
    fill(random, s.b, columns, terms, b_);
    d_.resize(128 * columns);
    for (auto& c : d_) c = accumulator(random);
    const bool fp8 = info(s.a).bits == 8 && !s.few_terms;
    tile_.rule = fp8 ? s.half ? kSumHopperFp8F16 : kSumHopperFp8 : s.half ? kSumF16 : kSumF32;
    tile_.a_format = s.a;
    tile_.b_format = s.b;
    tile_.rows = rows;
    tile_.columns = columns;
    tile_.terms = terms;
    tile_.column_stride = 128;
    for (uint32_t i = 0; i < 8; ++i) tile_.lane[i] = rows == 64 ? i * 32 : i * 16;
    tile_.negate_a = random() % 4 == 0;
    tile_.negate_b = random() % 4 == 0;
    tile_.read_c = random() % 3 != 0;
    tile_.c_scale = random() % 4 == 0 ? int(random() % 16) : 0;
  }

  std::vector<uint32_t> run(const char* level) {
    std::vector<uint32_t> d = d_;
    EXPECT_TRUE(mma_at_level(level, with(d)));
    return d;
  }
  uint64_t scalar_sums() {
    std::vector<uint32_t> d = d_;
    return mma(with(d));
  }

 private:
  struct Planes {
    alignas(64) uint32_t words[kMaxTerms * kPlane];
  };

  MmaTile with(std::vector<uint32_t>& d) const {
    MmaTile t = tile_;
    t.a = a_.words;
    t.b = b_.words;
    t.d = d.data();
    return t;
  }

  uint32_t element(Random& random, Format f) const {
    const FormatInfo& i = info(f);
    const int e = i.exponent_bits, m = f == Format::tf32 ? 23 : i.fraction_bits;
    const int shift = 0;
    const uint32_t fraction = random() & ((1u << m) - 1), sign = random() & 1;
    const auto make = [&](uint32_t field) { return (sign << (e + m) | field << m | fraction) << shift; };
    const uint32_t bias = uint32_t(i.bias), all = (1u << e) - 1;
    // ±2^raw times a significand of few bits, of nearly 2, or any; as near to it as the format comes.
    const auto at = [&](int raw) {
      const uint32_t ones = (1u << m) - 1, least = f == Format::tf32 ? 1u << 13 : 1;
      const uint32_t fractions[] = {0, least, ones, ones - least, 1u << (m - 1), fraction, fraction, fraction};
      const int field = std::clamp(raw + i.bias, 0, int(all) - 1);
      return sign << (e + m) | uint32_t(field) << m | fractions[random() % 8];
    };
    const auto pick = [&](std::initializer_list<int> raws) { return at(raws.begin()[random() % raws.size()]); };
    switch (setup_.data) {
      case Data::normal: return make(bias - std::min<uint32_t>(__builtin_clz(random() | 1), 8));
      case Data::bits: return make(random() & all);
      case Data::gaps: return make(std::min(all - 1, bias - bias / 2 + random() % (bias / 2 + 12)));
      case Data::cancel: return (sign << (e + m) | bias << m | (fraction & ~7u)) << shift;
      case Data::sparse: return random() % 8 ? (random() & 1) << (e + m) : make(bias - random() % 4);
      case Data::subnormal: return random() % 2 ? make(0) : make(bias - random() % 8);
      case Data::extreme: return make(random() % 2 ? all - random() % 3 : 1 + random() % 3);
      case Data::zero_rows: return make(bias);
      case Data::islands: return make(bias - random() % 4);
      case Data::edges: return at(random() % 4 ? -int(random() % 20) : 0);
      case Data::heavy:
        return (random() % 64 ? 0 : sign << (e + m)) | bias << m | (((1u << m) - 1) ^ (random() % 16 == 0));
      case Data::one_hot: return random() % 16 ? sign << (e + m) : at(0);
      case Data::far: return random() % 8 ? pick({-62, -63, -64, -65}) : at(-int(random() % 3));
      case Data::top: return pick({57, 59, 60, 61, 62, 62}) & ~(random() % 32 ? 1u << (e + m) : 0);
      case Data::bottom: return random() % 4 ? pick({-49, -50, -51, -52, -53}) : sign << (e + m);
      case Data::least: return pick({-66, -70, -72, -74, -75, -76, -77, -78, -79});
      case Data::special_c: return pick({0, 0, 0, -1}) | (random() % 8 ? 0 : sign << (e + m));
      case Data::spread: return make(random() % all);
      case Data::specials:
        switch (random() % 96) {
          case 0: return sign << (e + m) | all << m;  // infinity, or a number
          case 1: return sign << (e + m) | ((1u << (e + m)) - 1);
          case 2: return make(all);
          case 3:
          case 4: return sign << (e + m);
          case 5: return make(all - 1);
          default: return make(bias - random() % std::min(bias, 8u));
        }
    }
    return 0;
  }

  uint32_t accumulator(Random& random) const {
    const uint32_t r = random();
    if (setup_.half) {
      switch (setup_.data) {
        case Data::bits: return r & 0xffff;
        case Data::one_hot: return random() % 2 ? r & 0x8000 : r & 0x83ff;
        case Data::spread:
        case Data::specials: return r & (random() % 8 ? 0xfbff : 0xffff);
        case Data::special_c: return random() % 4 ? 0x7c00 | (r & 0x8000) | (random() % 3 == 0) : r & 0xffff;
        default: return (r & 0x83ff) | (10 + random() % 8) << 10;
      }
    }
    const auto field = [&](uint32_t least, uint32_t count) {
      return (r & 0x807fffff) | (least + random() % count) << 23;
    };
    switch (setup_.data) {
      case Data::bits: return r;
      case Data::gaps: return field(90, 80);
      case Data::sparse: return random() % 3 ? r & 0x80000000 : field(127, 1);
      case Data::subnormal: return random() % 2 ? r & 0x807fffff : field(100, 30);
      case Data::edges: return random() % 4 ? field(100, 32) : 0;
      case Data::heavy: return field(127, 2) | (random() % 2 ? 0x7fffff : 0);
      case Data::one_hot: return random() % 4 ? r & 0x80000000 : random() % 8 ? field(100, 30) : field(0, 40);
      case Data::far: return random() % 2 ? r & 0x80000000 : field(0, 127);
      case Data::top: return field(240, 15);
      case Data::bottom: return random() % 2 ? r & 0x80000000 : field(0, 32);
      case Data::least: return random() % 2 ? r & 0x80000000 : r & (random() % 2 ? 0x8000001f : 0x807fffff);
      case Data::islands: return random() % 256 ? field(118, 12) : field(244, 12);
      case Data::special_c:
        return random() % 8 ? field(244, 12) : random() % 2 ? 0x7f800000 | (r & 0x80000000) : field(128, 4);
      case Data::spread: return field(0, 255);
      case Data::specials: return random() % 16 ? field(118, 12) : r | 0x7f800000;
      default: return field(118, 12);
    }
  }

  void fill(Random& random, Format f, uint32_t rows, uint32_t terms, Planes& p) {
    for (uint32_t k = 0; k < terms; ++k)
      for (uint32_t r = 0; r < rows; ++r) {
        uint32_t v = element(random, f);
        if (setup_.data == Data::zero_rows && r % 3 == 0) v = 0;
        if (setup_.data == Data::islands && &p == &b_) {
          const uint32_t kind = r / 4 * 2654435761u >> 29;  // the same for each four columns
          if (kind == 0) v = 0;
          if (kind == 1 && random() % 8 == 0) v = ~0u;                                             // NaN
          if (kind == 2) v &= f == Format::tf32 ? 0x807fffff : (1u << info(f).fraction_bits) - 1;  // subnormal
        }
        if (setup_.data == Data::cancel && k % 2) v = plane_element(f, p.words, k - 1, r) ^ (random() % 2 ? 0 : 8u);
        if (setup_.data == Data::extreme && random() % 64) v &= f == Format::tf32 ? 0xbf7fffff : 0x3fffffff;
        if (info(f).bits == 16)
          reinterpret_cast<uint16_t*>(p.words)[k * kPlane + r] = uint16_t(v);
        else if (info(f).bits == 8)
          reinterpret_cast<uint8_t*>(p.words)[k * kPlane + r] = uint8_t(v);
        else
          p.words[k * kPlane + r] = v;
      }
  }

  TileKind setup_;
  Planes a_{}, b_{};
  std::vector<uint32_t> d_;
  MmaTile tile_;
};

void compare_with_scalar_model(const char* level) {
  Random random(12345);
  const TileKind kinds[] = {{Format::f16, Format::f16, false, {}},        {Format::bf16, Format::bf16, false, {}},
                            {Format::tf32, Format::tf32, false, {}},      {Format::f16, Format::bf16, false, {}},
                            {Format::f16, Format::f16, true, {}},         {Format::e4m3, Format::e5m2, false, {}},
                            {Format::e5m2, Format::e5m2, true, {}},       {Format::e4m3, Format::e4m3, false, {}},
                            {Format::e5m2, Format::e4m3, false, {}, true}};
  for (size_t data = 0; data < std::size(kDataNames); ++data)
    for (TileKind s : kinds) {
      s.data = Data(data);
      for (int round = 0; round < (info(s.a).bits == 8 ? 10 : 12); ++round) {
        const uint32_t rows = 16 * (round % 3 == 0 ? 4 : round % 4 == 1 ? 1 + random() % 7 : 8);
        const uint32_t columns = 8 * (1 + random() % (round % 4 ? 4 : 32));
        const uint32_t terms = s.a == Format::tf32 ? 8 : info(s.a).bits == 8 && !s.few_terms ? 32 : 16;
        Tile t(random, s, rows, columns, terms);
        const auto expected = t.run("scalar"), got = t.run(level);
        size_t different = 0, first = 0;
        for (size_t i = 0; i < expected.size(); ++i)
          if (expected[i] != got[i] && different++ == 0) first = i;
        ASSERT_EQ(different, 0u) << level << ' ' << kDataNames[data] << ' ' << info(s.a).name
                                 << (s.half ? " half " : " ") << rows << 'x' << columns << ": first at lane "
                                 << first % 128 << " column " << first / 128 << std::hex << " expected "
                                 << expected[first] << " got " << got[first];
      }
    }
}

TEST(VectorKernel, HasTheBitsOfTheScalarModelAtEveryLevelOfThisCpu) {
  for (const char* level : mma_levels()) {
    if (!std::strcmp(level, "scalar")) continue;
    const bool here = mma_has_level(level);
    std::cout << level << (here ? ": compared\n" : ": this CPU lacks it, not compared\n");
    if (here) {
      ASSERT_NO_FATAL_FAILURE(compare_with_scalar_model(level));
    }
  }
}

TEST(VectorKernel, LeavesNothingToTheScalarModel) {
  if (!std::strcmp(mma_level(), "scalar")) GTEST_SKIP() << "this CPU has no vector kernel";
  Random random(1);
  const TileKind kinds[] = {{Format::f16, Format::f16, false, {}},   {Format::bf16, Format::bf16, false, {}},
                            {Format::tf32, Format::tf32, false, {}}, {Format::f16, Format::f16, true, {}},
                            {Format::e4m3, Format::e5m2, false, {}}, {Format::e5m2, Format::e5m2, true, {}}};
  for (size_t data = 0; data < std::size(kDataNames); ++data)
    for (TileKind s : kinds) {
      s.data = Data(data);
      Tile t(random, s, 64, 16, s.a == Format::tf32 ? 8 : info(s.a).bits == 8 ? 32 : 16);
      EXPECT_EQ(t.scalar_sums(), 0u) << kDataNames[data] << ' ' << info(s.a).name << (s.half ? " half" : "");
    }
}

TEST(VectorKernel, TellsHowManySumsTheScalarModelDid) {
  struct Planes {
    alignas(64) uint8_t bytes[32 * kPlane];
  } a{}, b{};
  std::vector<uint32_t> d(16 * 8);
  MmaTile t;
  t.rows = 16;
  t.columns = 8;
  t.terms = 16;
  t.a = a.bytes;
  t.b = b.bytes;
  t.d = d.data();
  t.column_stride = 16;
  EXPECT_EQ(mma(t), std::string(mma_level()) == "scalar" ? 128u : 0u);
  t.sum = SumKind::integer;  // no vector code has integers of 16 bits
  EXPECT_EQ(mma(t), 128u);
}

}  // namespace
}  // namespace gen5::test
