// tcgen05.mma from PTX against the second reference: every kind, M, major, swizzle, A source and flag, every N.
#include <gtest/gtest.h>

#include <map>

#include "tests/mma/mma_case.h"
#include "tests/mma/random_operand.h"

namespace gen5::test {
namespace {

MmaCase generate(Random& random, uint32_t index) {
  MmaCase c;
  c.form.pick_kind(random);
  c.m = random.chance(2) ? 64 : 128;
  c.form.ashift = c.form.a_in_tmem && c.m == 128 && random.chance(4);
  if (!c.form.ashift && random.chance(6)) c.form.collector = random.chance(2) ? "fill" : "discard";
  c.n = 8 * (1 + index % 32);  // every N in turn
  c.lane = c.m == 64 && random.chance(2) ? 16 : 0;
  c.d_column = c.n < 256 ? random.below(256 - c.n) : 0;
  c.pick_signs(random);
  if (c.form.tf32) {
    c.a_type = c.b_type = Type::tf32;
  } else {
    c.half = random.chance(4);
    c.a_type = !c.half && random.chance(2) ? Type::bf16 : Type::f16;
    c.b_type = c.half ? Type::f16 : random.chance(6) ? (random.chance(2) ? Type::bf16 : Type::f16) : c.a_type;
  }
  c.a = random_placement(random, c.form.tf32 ? 4 : 2, 32, !c.form.a_in_tmem, c.m, 0);
  c.b = random_placement(random, c.form.tf32 ? 4 : 2, 32, true, c.n, 40 * 1024);
  pick_image(random, c.image);
  if (c.form.masked)
    for (auto& w : c.mask) w = random.chance(3) ? random() : 0;
  const uint32_t flavour = random.below(8), c_flavour = random.below(8);
  c.pick_cells(random, c_flavour, c.tmem);
  c.pick_operands(random, flavour);
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
