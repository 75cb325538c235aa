// tcgen05.mma from PTX against the second reference: every kind, M, major, swizzle, A source and flag, every N.
#include <gtest/gtest.h>

#include <map>

#include "tests/mma/mma_case.h"

namespace gen5::test {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t operator()() { return uint32_t(engine_()); }
  uint32_t below(uint32_t n) { return (*this)() % n; }
  bool chance(uint32_t one_in) { return below(one_in) == 0; }

 private:
  std::mt19937 engine_;
};

/// Patterns of one flavour: plain, wide gaps, subnormal, special, cancelling, tiny, huge.
uint32_t pattern(Random& random, Type t, uint32_t flavour, uint32_t k) {
  const int e = t == Type::f16 ? 5 : 8, f = t == Type::f16 ? 10 : t == Type::bf16 ? 7 : 23;
  const uint32_t bias = (1u << (e - 1)) - 1, top = (1u << e) - 1;
  const uint32_t sign = random.below(2) << (e + f), fraction = random() & ((1u << f) - 1);
  const auto with = [&](uint32_t field) { return sign | field << f | fraction; };
  switch (flavour) {
    case 0: return with(bias - random.below(6));
    case 1: return with(1 + random.below(top - 1));
    case 2: return random.chance(2) ? with(0) : with(1 + random.below(4));
    case 3: return random.chance(24) ? with(top) & ~(random.chance(2) ? (1u << f) - 1 : 0u) : with(random.below(top));
    case 4: return (k % 2 ? 1u << (e + f) : 0u) | bias << f | (fraction & ~3u);
    case 5: return random.chance(3) ? sign : with(bias - bias / 2 + random.below(3));
    case 6: return with(top - 1 - random.below(3));
    default: return random() & (t == Type::tf32 ? ~0u : 0xffffu);
  }
}

MmaCase generate(Random& random, uint32_t index) {
  MmaCase c;
  c.form.tf32 = random.chance(3);
  c.form.a_in_tmem = random.chance(3);
  c.form.masked = random.chance(4);
  c.form.scale = random.chance(4) ? int(random.below(16)) : -1;
  c.m = random.chance(2) ? 64 : 128;
  c.form.ashift = c.form.a_in_tmem && c.m == 128 && random.chance(4);
  if (!c.form.ashift && random.chance(6)) c.form.collector = random.chance(2) ? "fill" : "discard";
  c.n = 8 * (1 + index % 32);  // every N in turn
  c.lane = c.m == 64 && random.chance(2) ? 16 : 0;
  c.d_column = c.n < 256 ? random.below(256 - c.n) : 0;
  c.accumulate = !random.chance(3);
  c.negate_a = random.chance(4);
  c.negate_b = random.chance(4);
  if (c.form.tf32) {
    c.a_type = c.b_type = Type::tf32;
  } else {
    c.half = random.chance(4);
    c.a_type = !c.half && random.chance(2) ? Type::bf16 : Type::f16;
    c.b_type = c.half ? Type::f16 : random.chance(6) ? (random.chance(2) ? Type::bf16 : Type::f16) : c.a_type;
  }
  const auto placement = [&](Placement& p, bool may_transpose, uint32_t rows, uint32_t base) {
    p.element_bytes = c.form.tf32 ? 4 : 2;
    p.mn_major = may_transpose && random.chance(2);
    const int any[] = {0, 2, 4, 6};
    p.swizzle = p.mn_major && c.form.tf32 ? 1 : any[random.below(4)];
    p.base = base;
    const uint32_t width = p.swizzle == 0 ? 16 : p.swizzle == 6 ? 32 : p.swizzle == 4 ? 64 : 128;
    const uint32_t pad = 1024 * random.below(2);
    if (!p.mn_major && p.swizzle == 0) {
      // 8-row groups, then 16-byte columns; or the other way round.
      const bool columns_near = random.chance(2);
      p.leading = columns_near ? 128 : rows / 8 * 128 + 16 * random.below(8);
      p.stride = columns_near ? 256 + 16 * random.below(4) : 128;
    } else if (!p.mn_major) {
      p.slice = random.below(width / 32);
      p.stride = 8 * width + (rows <= 128 ? pad : 0);
      p.leading = 16 * random.below(64);  // ignored
    } else if (p.swizzle == 0) {
      // 8-k groups near, or 16-byte blocks of MN near.
      const bool k_near = random.chance(2);
      p.leading = k_near ? 128 : rows / 8 * 128 + 16 * random.below(8);
      p.stride = k_near ? 256 : 128;
    } else {
      const uint32_t lines = p.swizzle == 1 ? 4 : 8;
      const uint32_t groups = (c.form.tf32 ? 8u : 16u) / lines;
      p.stride = lines * width + pad;                    // the next k group
      p.leading = groups * p.stride + (pad ? 1024 : 0);  // the next span along MN
      // Keep every pattern on its own alignment, so that the line-based placement holds.
      const uint32_t repeat = 8 * width;
      p.leading = (p.leading + repeat - 1) / repeat * repeat;
      if (lines == 4) p.stride = 512 + pad;
    }
  };
  placement(c.a, !c.form.a_in_tmem, c.m, 0);
  placement(c.b, true, c.n, 40 * 1024);
  c.image.resize(kImageBytes);
  for (size_t i = 0; i < c.image.size(); i += 4) {
    const uint32_t noise = random();
    std::memcpy(&c.image[i], &noise, 4);
  }
  if (c.form.masked)
    for (auto& w : c.mask) w = random.chance(3) ? random() : 0;
  c.tmem.resize(kLanes * kColumns);
  const uint32_t flavour = random.below(8), c_flavour = random.below(8);
  for (auto& w : c.tmem)
    w = c.half ? pattern(random, Type::f16, c_flavour, 0) | (random() << 16)
               : pattern(random, Type::tf32, c_flavour, 0);
  for (uint32_t i = 0; i < c.m * c.k(); ++i) c.a_bits.push_back(pattern(random, c.a_type, flavour, i));
  for (uint32_t i = 0; i < c.n * c.k(); ++i)
    c.b_bits.push_back(pattern(random, c.b_type, random.chance(64) ? 7 : flavour, 0));
  c.place();
  return c;
}

/// `count` generated cases, grouped by form.
void sweep(uint32_t seed, uint32_t count) {
  Random random(seed);
  std::map<Form, std::vector<MmaCase>> by_form;
  size_t wrong_cases = 0, ran = 0;
  const auto flush = [&](const Form& form, std::vector<MmaCase>& cases) {
    if (cases.empty()) return;
    tinygpu::test::RunPtx gpu(kernel_text(form));
    const auto got = run(gpu, cases);
    for (size_t i = 0; i < cases.size(); ++i, ++ran) {
      const auto expected = cases[i].expected();
      size_t different = 0, first = 0;
      for (size_t w = 0; w < expected.size(); ++w)
        if (got[i][w] != expected[w] && different++ == 0) first = w;
      if (different && ++wrong_cases <= 5)
        ADD_FAILURE() << different << " cells differ in " << cases[i].describe() << ": first at lane " << first % kLanes
                      << " column " << first / kLanes << std::hex << ", expected " << expected[first] << ", got "
                      << got[i][first];
    }
    cases.clear();
  };
  for (uint32_t i = 0; i < count; ++i) {
    MmaCase c = generate(random, i);
    auto& cases = by_form[c.form];
    cases.push_back(std::move(c));
    if (cases.size() == 16) flush(cases[0].form, cases);
  }
  for (auto& [form, cases] : by_form) flush(form, cases);
  EXPECT_EQ(wrong_cases, 0u);
  EXPECT_EQ(ran, count);
}

class Sweep : public testing::TestWithParam<uint32_t> {};

// Eight parts so that they can run side by side.
TEST_P(Sweep, MatchesTheSecondReference) { sweep(1000 + GetParam(), 400); }

INSTANTIATE_TEST_SUITE_P(Tcgen05Mma, Sweep, testing::Range(0u, 8u));

}  // namespace
}  // namespace gen5::test
