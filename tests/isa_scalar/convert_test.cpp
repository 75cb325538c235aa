// Conversions that an H200 does not have, against value tables of the formats (OCP MX 1.0), and widths of registers.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tests/isa_scalar/evaluate.h"

namespace isa_test {
namespace {

using Tuples = std::vector<std::vector<uint64_t>>;

/// Magnitudes by code, sign bit left out.
std::vector<float> magnitudes(const std::string& format) {
  if (format == "e2m1") return {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  std::vector<float> v;
  if (format == "e2m3") {
    for (int code = 0; code < 8; ++code) v.push_back(float(code) / 8);
    for (float scale : {1.0f, 2.0f, 4.0f})
      for (int fraction = 8; fraction < 16; ++fraction) v.push_back(float(fraction) / 8 * scale);
  }
  if (format == "e3m2") {
    for (int code = 0; code < 4; ++code) v.push_back(float(code) / 16);
    for (float scale : {0.25f, 0.5f, 1.0f, 2.0f, 4.0f, 8.0f, 16.0f})
      for (int fraction = 4; fraction < 8; ++fraction) v.push_back(float(fraction) / 4 * scale);
  }
  return v;
}
/// Nearest code, ties to the even one, clamped to the largest.
uint64_t nearest_code(const std::vector<float>& table, float x, int sign_shift) {
  if (x != x) return table.size() - 1;
  const float m = std::fabs(x);
  size_t best = 0;
  for (size_t i = 1; i < table.size(); ++i) {
    const double d = std::fabs(double(table[i]) - m), e = std::fabs(double(table[best]) - m);
    if (d < e || (d == e && i % 2 == 0)) best = i;
  }
  if (m > table.back()) best = table.size() - 1;  // and not a tie in the test's own rounding
  return best | uint64_t(std::signbit(x)) << sign_shift;
}

std::vector<float> probes(const std::vector<float>& table) {
  std::vector<float> v = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 1e-30f, -0.0f, 0x1p-149f};
  for (size_t i = 0; i < table.size(); ++i)
    for (float x : {table[i], i ? (table[i] + table[i - 1]) / 2 : 0.0f, table[i] * 1.1f})
      for (float y : {x, std::nextafterf(x, 1e9f), std::nextafterf(x, -1e9f)}) v.push_back(y), v.push_back(-y);
  Random random;
  for (int i = 0; i < 300; ++i) v.push_back(random.number(6));
  return v;
}

class Narrow : public testing::TestWithParam<std::string> {};

TEST_P(Narrow, RoundsToTheNearestCodeAndBack) {
  const std::string f = GetParam();
  const auto table = magnitudes(f);
  const bool nibbles = f == "e2m1";
  const int step = nibbles ? 4 : 8, sign = nibbles ? 3 : 5;
  const auto inputs = probes(table);
  Tuples t;
  for (size_t i = 0; i + 1 < inputs.size(); ++i) t.push_back({f32(inputs[i]), f32(inputs[i + 1])});
  const std::string to =
      nibbles ? "{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $2; mov.b16 $0, {t, 0}; } | b16 | f32 f32"
              : "cvt.rn.satfinite." + f + "x2.f32 $0, $1, $2; | b16 | f32 f32";
  const auto got = evaluate(to, t);
  for (size_t i = 0; i < t.size(); ++i)
    ASSERT_EQ(got[i][0], nearest_code(table, inputs[i], sign) << step | nearest_code(table, inputs[i + 1], sign))
        << inputs[i] << " " << inputs[i + 1];
  // Every code back to f16, both halves.
  Tuples codes;
  std::vector<std::pair<float, float>> expected;
  for (size_t a = 0; a < 2 * table.size(); ++a) {
    const size_t b = (a * 7 + 3) % (2 * table.size());
    const auto code = [&](size_t n) { return n % table.size() | (n / table.size()) << sign; };
    const auto number = [&](size_t n) { return n < table.size() ? table[n] : -table[n - table.size()]; };
    codes.push_back({code(a) << step | code(b)});
    expected.emplace_back(number(a), number(b));
  }
  const std::string from = nibbles ? "{ .reg .b8 t, u; mov.b16 {t, u}, $1; cvt.rn.f16x2.e2m1x2 $0, t; } | f16x2 | b16"
                                   : "cvt.rn.f16x2." + f + "x2 $0, $1; | f16x2 | b16";
  const auto back = evaluate(from, codes);
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto half = [](uint64_t w) {
      const int exponent = int(w >> 10 & 31), fraction = int(w & 1023);
      const float m = std::ldexp(float(exponent ? 1024 + fraction : fraction), std::max(exponent, 1) - 25);
      return w & 0x8000 ? -m : m;
    };
    EXPECT_EQ(half(back[i][0] >> 16), expected[i].first);
    EXPECT_EQ(half(back[i][0] & 0xffff), expected[i].second);
  }
}

// PTX 9.1: from pairs of 16 bits. PTX 9.2: to pairs of bf16.
TEST_P(Narrow, TakesAndGivesPairsOf16Bits) {
  const std::string f = GetParam();
  const auto table = magnitudes(f);
  const bool nibbles = f == "e2m1";
  const int step = nibbles ? 4 : 8, sign = nibbles ? 3 : 5;
  const auto bf16 = [](uint64_t w) { return std::bit_cast<float>(uint32_t(w << 16)); };
  const auto f16 = [](uint64_t w) {
    const int exponent = int(w >> 10 & 31), fraction = int(w & 1023);
    const float m = std::ldexp(float(exponent ? 1024 + fraction : fraction), std::max(exponent, 1) - 25);
    return w & 0x8000 ? -m : m;
  };
  Random random;
  for (const bool brain : {false, true}) {
    Tuples t;
    for (int i = 0; i < 2000; ++i) {
      // Of magnitudes around the format's: exponents of 2^-6 to 2^6.
      const auto word = [&] {
        const uint64_t bits = random();
        const uint64_t exponent = (brain ? 121 : 9) + bits % 13;
        return (bits >> 8 & 1) << 15 |
               (brain ? exponent << 7 | (bits >> 16 & 127) : exponent << 10 | (bits >> 16 & 1023));
      };
      t.push_back({word() << 16 | word()});
    }
    const std::string from = brain ? "bf16x2" : "f16x2";
    const auto got =
        evaluate(nibbles ? "{ .reg .b8 t; cvt.rn.satfinite.e2m1x2." + from + " t, $1; mov.b16 $0, {t, 0}; } | b16 | b32"
                         : "cvt.rn.satfinite." + f + "x2." + from + " $0, $1; | b16 | b32",
                 t);
    for (size_t i = 0; i < t.size(); ++i) {
      const auto value = [&](uint64_t w) { return brain ? bf16(w & 0xffff) : f16(w & 0xffff); };
      const float high = value(t[i][0] >> 16), low = value(t[i][0]);
      ASSERT_EQ(got[i][0], nearest_code(table, high, sign) << step | nearest_code(table, low, sign))
          << high << " " << low;
    }
  }
  Tuples codes;
  for (size_t a = 0; a < table.size(); ++a) codes.push_back({a << step | (table.size() - 1 - a) | uint64_t(1) << sign});
  const auto back = evaluate(nibbles ? "{ .reg .b8 t, u; mov.b16 {t, u}, $1; cvt.rn.bf16x2.e2m1x2 $0, t; } | b32 | b16"
                                     : "cvt.rn.bf16x2." + f + "x2 $0, $1; | b32 | b16",
                             codes);
  for (size_t a = 0; a < codes.size(); ++a) {
    EXPECT_EQ(bf16(back[a][0] >> 16), table[a]);
    EXPECT_EQ(bf16(back[a][0] & 0xffff), -table[table.size() - 1 - a]);
  }
}
INSTANTIATE_TEST_SUITE_P(Formats, Narrow, testing::Values("e2m1", "e2m3", "e3m2"),
                         [](const auto& p) { return p.param; });

TEST(Narrow, ReluClearsNegatives) {
  EXPECT_EQ(evaluate_one("cvt.rn.satfinite.relu.e2m3x2.f32 $0, $1, $2; | b16 | f32 f32", {f32(-2), f32(2)}), 0x0010u);
  EXPECT_EQ(evaluate_one("cvt.rn.satfinite.relu.e4m3x2.f32 $0, $1, $2; | b16 | f32 f32", {f32(NAN), f32(-1e9f)}),
            0x7f00u);
}

TEST(Ue8m0, TakesExponents) {
  const std::string rz = "cvt.rz.ue8m0x2.f32 $0, $1, $2; | b16 | f32 f32",
                    rp = "cvt.rp.ue8m0x2.f32 $0, $1, $2; | b16 | f32 f32",
                    sat = "cvt.rp.satfinite.ue8m0x2.f32 $0, $1, $2; | b16 | f32 f32";
  EXPECT_EQ(evaluate_one(rz, {f32(1), f32(1.5f)}), 127u << 8 | 127u);
  EXPECT_EQ(evaluate_one(rp, {f32(1), f32(1.5f)}), 127u << 8 | 128u);
  EXPECT_EQ(evaluate_one(rz, {f32(0), f32(0x1p-127f)}), 0u);
  EXPECT_EQ(evaluate_one(rp, {f32(0x1p-149f), f32(0x1.8p-127f)}), 0u << 8 | 1u);
  EXPECT_EQ(evaluate_one(rz, {f32(NAN), f32(INFINITY)}), 0xffffu);
  EXPECT_EQ(evaluate_one(sat, {f32(NAN), f32(INFINITY)}), 0xfffeu);
  EXPECT_EQ(evaluate_one(sat, {f32(0x1.8p127f), f32(0x1p127f)}), 0xfefeu);
  EXPECT_EQ(evaluate_one("cvt.rz.ue8m0x2.bf16x2 $0, $1; | b16 | bf16x2", {0x3f804000}), 127u << 8 | 128u);
  EXPECT_EQ(evaluate_one("cvt.rn.bf16x2.ue8m0x2 $0, $1; | bf16x2 | b16", {127u << 8 | 255u}), 0x3f807fffu);
  EXPECT_EQ(evaluate_one("cvt.rn.bf16x2.ue8m0x2 $0, $1; | bf16x2 | b16", {0u << 8 | 254u}), 0x00407f00u);
}

/// ptxas asks for no rounding between f16 and bf16 and assembles the same instruction as for .rn: ties go to even.
TEST(Convert, BetweenHalvesWithoutRounding) {
  for (const char* round : {"", ".rn"}) {
    const std::string to_bf16 = std::string("cvt") + round + ".bf16.f16 $0, $1; | b16 | b16";
    EXPECT_EQ(evaluate_one(to_bf16, {0x3c04}), 0x3f80u);  // 1 + 1/256 lies between 1 and 1 + 1/128
    EXPECT_EQ(evaluate_one(to_bf16, {0x3c0c}), 0x3f82u);
    EXPECT_EQ(evaluate_one(to_bf16, {0x3c05}), 0x3f81u);
    const std::string to_f16 = std::string("cvt") + round + ".f16.bf16 $0, $1; | b16 | b16";
    EXPECT_EQ(evaluate_one(to_f16, {0x3300}), 0x0000u);  // 2^-25, half of the least subnormal
    EXPECT_EQ(evaluate_one(to_f16, {0x3301}), 0x0001u);
    EXPECT_EQ(evaluate_one(to_f16, {0x4780}), 0x7c00u);  // 65536
  }
}

/// Stochastic rounding rounds up for as many random words as the fraction that falls out says.
TEST(Stochastic, RoundsUpInProportion) {
  for (const auto& [type, bits, one] : {std::tuple{"f16x2", 13, 0x3c00u}, {"bf16x2", 16, 0x3f80u}}) {
    const std::string line = std::string("cvt.rs.") + type + ".f32 $0, $1, $2, $3; | " + type + " | f32 f32 b32";
    const uint64_t fraction = uint64_t(5) << (bits - 4);  // 5/16 of the last kept bit
    Tuples t;
    const uint32_t words = 1u << 12;
    for (uint32_t r = 0; r < words; ++r) {
      const uint32_t random = r << (bits - 12);
      t.push_back({f32(1.0f) + fraction, f32(1.0f), random << 16 | random});
    }
    uint32_t up = 0;
    for (const auto& d : evaluate(line, t)) {
      EXPECT_EQ(d[0] & 0xffff, one);  // exact: never moves
      EXPECT_TRUE(d[0] >> 16 == one || d[0] >> 16 == one + 1);
      up += d[0] >> 16 == one + 1;
    }
    EXPECT_EQ(up, words * 5 / 16) << type;
  }
}

TEST(Stochastic, QuadsOfBytes) {
  const std::string line = "cvt.rs.satfinite.e4m3x4.f32 $0, {$1, $2, $3, $4}, $5; | b32 | f32 f32 f32 f32 b32";
  // Without random bits it truncates; 448 and more saturate. The first source is the highest byte.
  EXPECT_EQ(evaluate_one(line, {f32(1.0f), f32(1.12f), f32(-500.0f), f32(2.0f), 0}), 0x38'38'fe'40u);
  EXPECT_EQ(evaluate_one(line, {f32(1.0f), f32(1.12f), f32(-500.0f), f32(2.0f), 0xffffffff}), 0x38'39'fe'40u);
}

TEST(Widths, NarrowTypesInWideRegisters) {
  EXPECT_EQ(evaluate_one("cvt.s8.s32 $0, $1; | b32 | s32", {0x180}), 0xffffff80u);
  EXPECT_EQ(evaluate_one("cvt.u8.s32 $0, $1; | b32 | s32", {0xffffff80}), 0x80u);
  EXPECT_EQ(evaluate_one("cvt.s32.s8 $0, $1; | s32 | b32", {0xabcdef80}), 0xffffff80u);
  EXPECT_EQ(evaluate_one("cvt.s64.s16 $0, $1; | s64 | b32", {0x12348000}), 0xffffffffffff8000ull);
  EXPECT_EQ(evaluate_one("cvt.rzi.s8.f32 $0, $1; | b32 | f32", {f32(-1000.0f)}), 0xffffff80u);
  EXPECT_EQ(evaluate_one("cvt.sat.u8.s32 $0, $1; | b32 | s32", {uint32_t(-5)}), 0u);
}

TEST(Limits, FloatToInteger) {
  const std::string s32 = "cvt.rzi.s32.f32 $0, $1; | s32 | f32", u64 = "cvt.rzi.u64.f32 $0, $1; | u64 | f32";
  EXPECT_EQ(evaluate_one(s32, {f32(NAN)}), 0u);
  EXPECT_EQ(evaluate_one(s32, {f32(3e9f)}), 0x7fffffffu);
  EXPECT_EQ(evaluate_one(s32, {f32(-3e9f)}), 0x80000000u);
  EXPECT_EQ(evaluate_one(s32, {f32(-1.9f)}), 0xffffffffu);
  EXPECT_EQ(evaluate_one(u64, {f32(NAN)}), 0x8000000000000000ull);
  EXPECT_EQ(evaluate_one(u64, {f32(-1.0f)}), 0u);
  EXPECT_EQ(evaluate_one("cvt.rni.s32.f32 $0, $1; | s32 | f32", {f32(2.5f)}), 2u);
  EXPECT_EQ(evaluate_one("cvt.rpi.s32.f32 $0, $1; | s32 | f32", {f32(2.1f)}), 3u);
}

TEST(Tf32, NearestEvenSaturates) {
  // sm_100 alone has .satfinite here.
  EXPECT_EQ(evaluate_one("cvt.rn.satfinite.tf32.f32 $0, $1; | b32 | f32", {0x7f7fffff}), 0x7f7fe000u);
  EXPECT_EQ(evaluate_one("cvt.rn.tf32.f32 $0, $1; | b32 | f32", {0x3f801000}), 0x3f800000u);
  EXPECT_EQ(evaluate_one("cvt.rna.tf32.f32 $0, $1; | b32 | f32", {0x3f801000}), 0x3f802000u);
}

/// Every spelling that sm_100a has and sm_90a has not executes: none is parsed without being modelled.
TEST(Sm100, EverySpellingExecutes) {
  const auto cases = conformance::read_cases(std::string(SCALAR_CONFORMANCE_FOLDER) + "/cases_sm_100a.txt");
  ASSERT_GT(cases.size(), 100u);
  tinygpu::test::RunPtx machine(conformance::module_text(cases, "sm_100a"));
  const uint64_t inputs = machine.buffer<uint64_t>(256 * 8), outputs = machine.buffer<uint64_t>(256 * 4);
  for (size_t n = 0; n < cases.size(); ++n)
    EXPECT_NO_THROW(
        machine.launch(conformance::kernel_name(n), tinygpu::Dim3{1, 1, 1}, tinygpu::Dim3{32, 1, 1}, inputs, outputs))
        << cases[n].text;
}

}  // namespace
}  // namespace isa_test
