// The vector kernel against the scalar model: same bits for ordinary data and for everything that its fixed point can't
// hold.
#include "common/tinygpu/numerics/mma_kernel.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

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

enum class Data { normal, bits, gaps, cancel, sparse, subnormal, extreme, zero_rows };
const char* const kDataNames[] = {"normal", "bits", "gaps", "cancel", "sparse", "subnormal", "extreme", "zero_rows"};

struct TileKind {
  Format a, b;
  bool half;
  Data data;
};

class Tile {
 public:
  Tile(Random& random, const TileKind& s, uint32_t rows, uint32_t columns, uint32_t terms) : setup_(s) {
    fill(random, s.a, rows, terms, a_);
    fill(random, s.b, columns, terms, b_);
    d_.resize(128 * columns);
    for (auto& c : d_) c = accumulator(random);
    tile_.rule = s.half ? kSumF16 : kSumF32;
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
    MmaTile t = tile_;
    t.a = a_.words;
    t.b = b_.words;
    std::vector<uint32_t> d = d_;
    t.d = d.data();
    EXPECT_TRUE(mma_at_level(level, t));
    return d;
  }

 private:
  struct Planes {
    alignas(64) uint32_t words[kMaxTerms * kPlane];
  };

  uint32_t element(Random& random, Format f) const {
    const FormatInfo& i = info(f);
    const int e = i.exponent_bits, m = f == Format::tf32 ? 23 : i.fraction_bits;
    const int shift = 0;
    const uint32_t fraction = random() & ((1u << m) - 1), sign = random() & 1;
    const auto make = [&](uint32_t field) { return (sign << (e + m) | field << m | fraction) << shift; };
    const uint32_t bias = uint32_t(i.bias), all = (1u << e) - 1;
    switch (setup_.data) {
      case Data::normal: return make(bias - std::min<uint32_t>(__builtin_clz(random() | 1), 8));
      case Data::bits: return make(random() & all);
      case Data::gaps: return make(std::min(all - 1, bias - bias / 2 + random() % (bias / 2 + 12)));
      case Data::cancel: return (sign << (e + m) | bias << m | (fraction & ~7u)) << shift;
      case Data::sparse: return random() % 8 ? (random() & 1) << (e + m) : make(bias - random() % 4);
      case Data::subnormal: return random() % 2 ? make(0) : make(bias - random() % 8);
      case Data::extreme: return make(random() % 2 ? all - random() % 3 : 1 + random() % 3);
      case Data::zero_rows: return make(bias);
    }
    return 0;
  }

  uint32_t accumulator(Random& random) const {
    if (setup_.half)
      return setup_.data == Data::bits ? random() & 0xffff : (random() & 0x83ff) | (10 + random() % 8) << 10;
    const uint32_t r = random();
    switch (setup_.data) {
      case Data::bits: return r;
      case Data::gaps: return (r & 0x807fffff) | (90 + random() % 80) << 23;
      case Data::sparse: return random() % 3 ? r & 0x80000000 : (r & 0x807fffff) | 127u << 23;
      case Data::subnormal: return random() % 2 ? r & 0x807fffff : (r & 0x807fffff) | (100 + random() % 30) << 23;
      default: return (r & 0x807fffff) | (118 + random() % 12) << 23;
    }
  }

  void fill(Random& random, Format f, uint32_t rows, uint32_t terms, Planes& p) {
    for (uint32_t k = 0; k < terms; ++k)
      for (uint32_t r = 0; r < rows; ++r) {
        uint32_t v = element(random, f);
        if (setup_.data == Data::zero_rows && r % 3 == 0) v = 0;
        if (setup_.data == Data::cancel && k % 2) v = plane_element(f, p.words, k - 1, r) ^ (random() % 2 ? 0 : 8u);
        if (setup_.data == Data::extreme && random() % 64) v &= f == Format::tf32 ? 0xbf7fffff : 0x3fffffff;
        if (info(f).bits == 16)
          reinterpret_cast<uint16_t*>(p.words)[k * kPlane + r] = uint16_t(v);
        else
          p.words[k * kPlane + r] = v;
      }
  }

  TileKind setup_;
  Planes a_, b_;
  std::vector<uint32_t> d_;
  MmaTile tile_;
};

class VectorKernel : public testing::TestWithParam<const char*> {};

TEST_P(VectorKernel, HasTheBitsOfTheScalarModel) {
  MmaTile nothing;
  nothing.terms = 16;
  if (!mma_at_level(GetParam(), nothing)) GTEST_SKIP() << "this CPU has no " << GetParam();
  Random random(12345);
  const TileKind kinds[] = {{Format::f16, Format::f16, false, {}},
                            {Format::bf16, Format::bf16, false, {}},
                            {Format::tf32, Format::tf32, false, {}},
                            {Format::f16, Format::bf16, false, {}},
                            {Format::f16, Format::f16, true, {}}};
  for (int data = 0; data < 8; ++data)
    for (TileKind s : kinds) {
      s.data = Data(data);
      for (int round = 0; round < 12; ++round) {
        const uint32_t rows = round % 3 == 0 ? 64 : 128, columns = 8 * (1 + random() % (round % 4 ? 4 : 32));
        const uint32_t terms = s.a == Format::tf32 ? 8 : 16;
        Tile t(random, s, rows, columns, terms);
        const auto expected = t.run("scalar"), got = t.run(GetParam());
        size_t different = 0, first = 0;
        for (size_t i = 0; i < expected.size(); ++i)
          if (expected[i] != got[i] && different++ == 0) first = i;
        ASSERT_EQ(different, 0u) << kDataNames[data] << ' ' << info(s.a).name << (s.half ? " half " : " ") << rows
                                 << 'x' << columns << ": first at lane " << first % 128 << " column " << first / 128
                                 << std::hex << " expected " << expected[first] << " got " << got[first];
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, VectorKernel, testing::Values("x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace gen5::test
