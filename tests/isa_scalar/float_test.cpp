// Floating-point instructions. What an H200 has is held by tests/conformance; here is what sm_100 adds (f32x2, mixed
// precision, three inputs), against exact __float128 arithmetic rounded by the test, and the rules in small.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/isa_scalar/evaluate.h"

namespace isa_test {
namespace {

using Tuples = std::vector<std::vector<uint64_t>>;

TEST(PackedF32, RoundsBothHalvesInEveryMode) {
  Random random;
  Tuples t(512);
  for (auto& x : t)
    for (int k = 0; k < 3; ++k) x.push_back(f32x2(random.number(12), random.number(12)));
  for (int m = 0; m < 4; ++m) {
    const std::string mode = kModeNames[m], operands = ".f32x2 $0, $1, $2; | f32x2 | f32x2 f32x2 f32x2";
    const auto sum = evaluate("add." + mode + operands, t), difference = evaluate("sub." + mode + operands, t),
               product = evaluate("mul." + mode + operands, t),
               fused = evaluate("fma." + mode + ".f32x2 $0, $1, $2, $3; | f32x2 | f32x2 f32x2 f32x2", t);
    for (size_t i = 0; i < t.size(); ++i)
      for (int half = 0; half < 2; ++half) {
        const auto part = [&](uint64_t w) { return w >> (32 * half) & 0xffffffff; };
        const __float128 a = as_f32(part(t[i][0])), b = as_f32(part(t[i][1])), c = as_f32(part(t[i][2]));
        EXPECT_EQ(part(sum[i][0]), f32(round_exactly(a + b, Mode(m)))) << mode;
        EXPECT_EQ(part(difference[i][0]), f32(round_exactly(a - b, Mode(m)))) << mode;
        EXPECT_EQ(part(product[i][0]), f32(round_exactly(a * b, Mode(m)))) << mode;
        EXPECT_EQ(part(fused[i][0]), f32(round_exactly(a * b + c, Mode(m)))) << mode;
      }
  }
}

TEST(PackedF32, FlushesSubnormals) {
  const float small = 0x1p-130f, third = 0x1.8p-126f;
  const auto got =
      evaluate("add.ftz.f32x2 $0, $1, $2; | f32x2 | f32x2 f32x2",
               {{f32x2(small, third), f32x2(small, -0x1p-126f)}, {f32x2(-small, 1.0f), f32x2(-0.0f, small)}});
  EXPECT_EQ(got[0][0], f32x2(0.0f, 0.0f));  // 2^-127 is subnormal
  EXPECT_EQ(got[1][0], f32x2(-0.0f, 1.0f));
}

TEST(PackedF32, GivesTheCanonicalNaN) {
  const auto got =
      evaluate("mul.f32x2 $0, $1, $2; | f32x2 | f32x2 f32x2", {{f32x2(INFINITY, 2.0f), f32x2(0.0f, 3.0f)}});
  EXPECT_EQ(got[0][0], 0x7fffffffull | f32(6.0f) << 32);
}

// f16 and bf16 operands that are exact in a float.
uint64_t bf16_of(float x) { return f32(x) >> 16; }
float bf16_value(uint64_t w) { return as_f32(w << 16); }
float f16_value(uint64_t w) {
  const int exponent = int(w >> 10 & 31), fraction = int(w & 1023);
  const float magnitude = std::ldexp(float(exponent ? 1024 + fraction : fraction), std::max(exponent, 1) - 25);
  return w & 0x8000 ? -magnitude : magnitude;
}

/// Nearest even among the numbers of `fraction` bits whose least exponent is `least`.
float round_to(__float128 exact, int fraction, int least) {
  const __float128 size = exact < 0 ? -exact : exact;
  if (size == 0) return 0;
  int exponent = std::max(std::ilogb(double(size)), least);
  if (exponent > least && size < std::ldexp(1.0, exponent)) --exponent;  // double() rounded up
  const __float128 quantum = std::ldexp(1.0, exponent - fraction), count = size / quantum;
  uint64_t whole = uint64_t(count);
  const __float128 rest = count - whole;
  whole += rest > 0.5 || (rest == 0.5 && whole % 2);
  const float rounded = float(whole * quantum);
  return exact < 0 ? -rounded : rounded;
}

// Sums that lie on, or a little beside, the middle between two numbers: where rounding to float first would show.
TEST(PackedHalves, FusedMultiplyAddRoundsOnce) {
  Random random;
  struct Kind {
    const char* name;
    int fraction, least;
    float (*value)(uint64_t);
    uint32_t one;  // and the shift of its exponent field is `fraction`
  };
  for (const Kind& k : {Kind{"f16", 10, -14, f16_value, 0x3c00}, Kind{"bf16", 7, -126, bf16_value, 0x3f80}}) {
    const auto number = [&](int least, int count, uint32_t fraction) {
      const uint32_t sign = uint32_t(random() & 1) << 15, power = uint32_t(least + int(random() % uint32_t(count)));
      return uint64_t(sign | ((k.one + (power << k.fraction)) & 0x7fff) | (fraction & ((1u << k.fraction) - 1)));
    };
    Tuples t(8192);
    for (size_t i = 0; i < t.size(); ++i) {
      uint64_t a = 0, b = 0, c = 0;
      for (int half = 0; half < 2; ++half) {
        uint64_t x = number(-2, 5, uint32_t(random())), y = number(-2, 5, uint32_t(random())),
                 z = number(-2, 5, uint32_t(random()));
        if (i % 4 == 1) z = number(-14, 3, uint32_t(random()));  // far below the product
        if (i % 4 == 2) {                                        // (1 + u) (1 - u) half units beside z
          x = k.one + 1;
          y = (random() & 1) << 15 | uint32_t(k.one - 2 - ((k.fraction + 1) << k.fraction));
          z = k.one + random() % 64;
        }
        if (i % 4 == 3)
          x = number(-8, 3, uint32_t(random())), y = number(-8, 3, uint32_t(random())),
          z = k.least > -126 ? random() & 0x83ff : number(-60, 3, 0);
        a |= x << (16 * half), b |= y << (16 * half), c |= z << (16 * half);
      }
      t[i] = {a, b, c};
    }
    const std::string type = std::string(k.name) + "x2";
    const auto got = evaluate("fma.rn." + type + " $0, $1, $2, $3; | b32 | b32 b32 b32", t);
    size_t middles = 0;
    for (size_t i = 0; i < t.size(); ++i)
      for (int half = 0; half < 2; ++half) {
        const auto value = [&](uint64_t w) { return __float128(k.value(w >> (16 * half) & 0xffff)); };
        const __float128 exact = value(t[i][0]) * value(t[i][1]) + value(t[i][2]);
        const float expected = round_to(exact, k.fraction, k.least);
        middles += round_to(float(exact), k.fraction, k.least) != expected;
        ASSERT_EQ(float(value(got[i][0])), expected)
            << type << std::hex << ' ' << t[i][0] << ' ' << t[i][1] << ' ' << t[i][2] << " half " << half;
      }
    EXPECT_GT(middles, 20u) << type << ": too few sums that two roundings would spoil";
  }
}

TEST(Halves, LanesThatDoNotExecuteKeepTheirRegister) {
  // Odd lanes only: 1.5 * 2 + 0.25 in pairs; 1 + 1, and 2 * 2, in single registers.
  tinygpu::test::RunPtx run(R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %out; .reg .b32 %t, %x, %y, %z, %two, %a, %b; .reg .b16 %h, %i, %one, %j; .reg .pred %p;
  mov.b32 %two, 0x40004000;
  mov.b32 %a, 0x34003400;
  mov.b32 %b, 0x3e803e80;
  mov.b16 %one, 0x3c00;
  mov.b16 %j, 0x4000;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 12, %out;
  and.b32 %x, %t, 1;
  setp.eq.u32 %p, %x, 1;
  mov.b32 %x, 0x3e003e00;
  mov.b32 %y, 0x3fc03fc0;
  mov.b32 %z, 0x00070007;
  @%p fma.rn.f16x2 %x, %x, %two, %a;
  @%p fma.rn.bf16x2 %y, %y, %two, %b;
  mov.b32 {%h, %i}, %z;
  @%p add.f16 %h, %one, %one;
  @%p mul.bf16 %i, %j, %j;
  mov.b32 %z, {%h, %i};
  st.global.b32 [%out], %x;
  st.global.b32 [%out+4], %y;
  st.global.b32 [%out+8], %z;
  ret;
})");
  const uint64_t out = run.buffer<uint32_t>(96);
  run.launch("k", {1}, {32}, out);
  const auto got = run.download<uint32_t>(out, 96);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got[3 * i], i % 2 ? 0x42804280u : 0x3e003e00u) << i;
    EXPECT_EQ(got[3 * i + 1], i % 2 ? 0x40504050u : 0x3fc03fc0u) << i;
    EXPECT_EQ(got[3 * i + 2], i % 2 ? 0x40804000u : 0x00070007u) << i;
  }
}

TEST(MixedPrecision, RoundsOnceToF32) {
  Random random;
  Tuples sums(512), products(512);
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto half = [&] { return (random() & 0x83ff) | (5 + random() % 20) << 10; };
    sums[i] = {half(), f32(random.number(10))};
    products[i] = {half(), half(), f32(random.number(10))};
  }
  for (int m = 0; m < 4; ++m) {
    const std::string mode = kModeNames[m];
    for (const bool brain : {false, true}) {
      const std::string type = brain ? "bf16" : "f16";
      const auto value = [&](uint64_t w) -> __float128 { return brain ? bf16_value(w) : f16_value(w); };
      const auto add = evaluate("add." + mode + ".f32." + type + " $0, $1, $2; | f32 | " + type + " f32", sums);
      const auto sub = evaluate("sub." + mode + ".f32." + type + " $0, $1, $2; | f32 | " + type + " f32", sums);
      const auto fma =
          evaluate("fma." + mode + ".f32." + type + " $0, $1, $2, $3; | f32 | " + type + " " + type + " f32", products);
      for (size_t i = 0; i < sums.size(); ++i) {
        // A random bf16 word may have an exponent far from the float's: __float128 then rounds too, so skip those.
        const double magnitude = std::fabs(double(value(sums[i][0])));
        if (magnitude > 0x1p-40 && magnitude < 0x1p40) {
          EXPECT_EQ(add[i][0], f32(round_exactly(value(sums[i][0]) + as_f32(sums[i][1]), Mode(m))));
          EXPECT_EQ(sub[i][0], f32(round_exactly(value(sums[i][0]) - as_f32(sums[i][1]), Mode(m))));
        }
        const __float128 product = value(products[i][0]) * value(products[i][1]);
        const double size = std::fabs(double(product));
        if (size > 0x1p-60 && size < 0x1p60) {
          EXPECT_EQ(fma[i][0], f32(round_exactly(product + as_f32(products[i][2]), Mode(m))));
        }
      }
    }
  }
  EXPECT_EQ(evaluate_one("add.sat.f32.bf16 $0, $1, $2; | f32 | bf16 f32", {bf16_of(3.0f), f32(0.5f)}), f32(1.0f));
  EXPECT_EQ(evaluate_one("fma.rn.sat.f32.f16 $0, $1, $2, $3; | f32 | f16 f16 f32", {0xbc00, 0x3c00, f32(0.5f)}),
            f32(0.0f));
}

TEST(ThreeInputs, MinimumAndMaximum) {
  const auto min = [](const char* mods, float a, float b, float c) {
    return evaluate_one("min" + std::string(mods) + ".f32 $0, $1, $2, $3; | f32 | f32 f32 f32",
                        {f32(a), f32(b), f32(c)});
  };
  const auto max = [](const char* mods, float a, float b, float c) {
    return evaluate_one("max" + std::string(mods) + ".f32 $0, $1, $2, $3; | f32 | f32 f32 f32",
                        {f32(a), f32(b), f32(c)});
  };
  EXPECT_EQ(min("", 3, 1, 2), f32(1));
  EXPECT_EQ(max("", 3, 1, 2), f32(3));
  EXPECT_EQ(min("", NAN, 1, 2), f32(1));
  EXPECT_EQ(min("", NAN, NAN, 2), f32(2));
  EXPECT_EQ(max("", NAN, NAN, NAN), 0x7fffffffu);
  EXPECT_EQ(max(".NaN", 1, 2, NAN), 0x7fffffffu);
  EXPECT_EQ(min("", 0.0f, -0.0f, 0.0f), f32(-0.0f));
  EXPECT_EQ(max(".abs", -5, 1, 2), f32(5));
  EXPECT_EQ(min(".abs", -5, -1, 2), f32(1));
  EXPECT_EQ(max(".NaN.abs", -5, NAN, 2), 0x7fffffffu);
  EXPECT_EQ(max(".ftz", 0x1p-130f, -1, -2), f32(0));
}

TEST(Rules, FusedMultiplyAddIsFused) {
  // (1 + 2^-23)^2 - (1 + 2^-22) = 2^-46, lost if the product is rounded.
  EXPECT_EQ(evaluate_one("fma.rn.f32 $0, $1, $2, $3; | f32 | f32 f32 f32",
                         {f32(0x1.000002p0f), f32(0x1.000002p0f), f32(-0x1.000004p0f)}),
            f32(0x1p-46f));
  // f16: (1 + 2^-10)^2 - (1 + 2^-9) = 2^-20; in bf16 (1 + 2^-7)^2 - (1 + 2^-6) = 2^-14.
  EXPECT_EQ(evaluate_one("fma.rn.f16 $0, $1, $2, $3; | f16 | f16 f16 f16", {0x3c01, 0x3c01, 0xbc02}), 0x0010u);
  EXPECT_EQ(evaluate_one("fma.rn.bf16 $0, $1, $2, $3; | bf16 | bf16 bf16 bf16", {0x3f81, 0x3f81, 0xbf82}),
            bf16_of(0x1p-14f));
}

TEST(Rules, SaturationAndRelu) {
  EXPECT_EQ(evaluate_one("add.sat.f32 $0, $1, $2; | f32 | f32 f32", {f32(NAN), f32(1)}), f32(0));
  EXPECT_EQ(evaluate_one("add.sat.f32 $0, $1, $2; | f32 | f32 f32", {f32(-3), f32(1)}), f32(0));
  EXPECT_EQ(evaluate_one("fma.rn.relu.f16 $0, $1, $2, $3; | f16 | f16 f16 f16", {0xbc00, 0x3c00, 0}), 0u);
  EXPECT_EQ(
      evaluate_one("fma.rn.relu.bf16x2 $0, $1, $2, $3; | bf16x2 | bf16x2 bf16x2 bf16x2", {0xbf803f80, 0x3f803f80, 0}),
      0x00003f80u);
  EXPECT_EQ(evaluate_one("fma.rn.relu.f16 $0, $1, $2, $3; | f16 | f16 f16 f16", {0x7e00, 0x3c00, 0}), 0x7fffu);
}

TEST(Rules, DirectedModesLeaveTheHostsRoundingAlone) {
  EXPECT_EQ(evaluate_one("add.rp.f32 $0, $1, $2; | f32 | f32 f32", {f32(1), f32(0x1p-30f)}), f32(0x1.000002p0f));
  volatile double one = 1.0, tiny = 0x1p-60;
  EXPECT_EQ(one + tiny, 1.0);  // to nearest, as before
}

TEST(Approximations, StayWithinTheirBounds) {
  Random random;
  Tuples t(4096);
  for (auto& x : t) x = {f32(random.number(6))};
  const auto ex2 = evaluate("ex2.approx.f32 $0, $1; | f32 | f32", t);
  const auto rsqrt = evaluate("rsqrt.approx.f32 $0, $1; | f32 | f32", t);
  const auto tanh = evaluate("tanh.approx.f32 $0, $1; | f32 | f32", t);
  const auto lg2 = evaluate("lg2.approx.f32 $0, $1; | f32 | f32", t);
  for (size_t i = 0; i < t.size(); ++i) {
    const double x = as_f32(t[i][0]);
    const auto near = [](uint64_t word, double exact) {
      return as_f32(word) == float(exact) || std::fabs(as_f32(word) - exact) <= std::fabs(exact) * 0x1p-23;
    };
    EXPECT_TRUE(near(ex2[i][0], std::exp2(x))) << x;
    EXPECT_TRUE(near(tanh[i][0], std::tanh(x))) << x;
    if (x > 0) {
      EXPECT_TRUE(near(rsqrt[i][0], 1 / std::sqrt(x))) << x;
      EXPECT_TRUE(near(lg2[i][0], std::log2(x))) << x;
    }
  }
  EXPECT_EQ(evaluate_one("ex2.approx.f32 $0, $1; | f32 | f32", {f32(-INFINITY)}), 0u);
  EXPECT_EQ(evaluate_one("ex2.approx.ftz.f32 $0, $1; | f32 | f32", {f32(-126.5f)}), 0u);
  EXPECT_EQ(evaluate_one("lg2.approx.f32 $0, $1; | f32 | f32", {0}), f32(-INFINITY));
  EXPECT_EQ(evaluate_one("lg2.approx.f32 $0, $1; | f32 | f32", {f32(-1)}), 0x7fffffffu);
  EXPECT_EQ(evaluate_one("sin.approx.f32 $0, $1; | f32 | f32", {f32(INFINITY)}), 0x7fffffffu);
}

// What cuda_fp16.h makes of __hbgt2: a mask of 16 bits for each half. A NaN is in no ordered relation.
TEST(Set, MasksBothHalvesOfAPair) {
  const uint64_t one_two = 0x40003c00, two_nan = 0x7e004000;
  const Tuples t{{one_two, two_nan}, {two_nan, one_two}, {one_two, one_two}};
  const auto f16 = [&](const char* text) {
    return evaluate(std::string(text) + " $0, $1, $2; | u32 | f16x2 f16x2", t);
  };
  const uint64_t greater[] = {0, 0xffff, 0}, less_or_nan[] = {0xffffffff, 0xffff0000, 0};
  for (size_t i = 0; i < t.size(); ++i) {
    EXPECT_EQ(f16("set.gt.u32.f16x2")[i][0], greater[i]);
    EXPECT_EQ(f16("set.ltu.s32.f16x2")[i][0], less_or_nan[i]);
  }
  const auto bf16 = evaluate("set.gt.u32.bf16x2 $0, $1, $2; | u32 | bf16x2 bf16x2", {{0x40003f80, 0x3f804000}});
  EXPECT_EQ(bf16[0][0], 0xffff0000u);
}

}  // namespace
}  // namespace isa_test
