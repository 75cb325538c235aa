// tinygpu against an H200: every scalar and conversion spelling that sm_90a has, the same PTX on the same operands.
// Exact forms agree bit for bit over all tuples (the kept ones as words, the rest as hashes). The .approx forms agree
// within the error stated here, which is what the runs showed (notes/evidence.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "tests/conformance/scalar/golden.h"
#include "tests/support/run_ptx.h"

namespace conformance {
namespace {

const std::string kFolder = SCALAR_CONFORMANCE_FOLDER;

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = read_cases(kFolder + "/cases.txt");
  return cases;
}
const Golden& golden() {
  static const Golden g = read_golden(kFolder + "/h200.golden.zst", all_cases());
  return g;
}

/// The first opcode of a case's text that the case is about: "add", "addc" …; chains count under their first.
std::string opcode_of(const Case& c) {
  size_t at = c.text[0] == '{' ? c.text.find(';') + 2 : 0;
  if (c.text[0] == '{' && c.text.compare(at, 4, "mov.") == 0 && c.text.find("cvt") != std::string::npos)
    at = c.text.find("cvt");
  return c.text.substr(at, c.text.find_first_of(". ", at) - at);
}

/// Spellings compared within an error. ulp counts encodings between the two results; `absolute` is for functions whose
/// zeros make ulp meaningless. Both are what an H200 showed against this model, no more.
struct Bound {
  const char* prefix;
  uint64_t ulp;
  double absolute;
};
constexpr Bound kBounds[] = {
#include "tests/conformance/scalar/bounds.inc"
};
const Bound* bound_of(const Case& c) {
  for (const Bound& b : kBounds)
    if (c.text.compare(0, std::strlen(b.prefix), b.prefix) == 0) return &b;
  return nullptr;
}

std::string hex(uint64_t w, int bits) {
  char s[32];
  std::snprintf(s, sizeof s, "0x%0*llx", bits == 0 ? 1 : bits / 4, static_cast<unsigned long long>(w));
  return s;
}
std::string describe(const Case& c, size_t tuple, const uint64_t* in, const uint64_t* expected, const uint64_t* got) {
  std::string s = c.text + "\n  tuple " + std::to_string(tuple) + ":";
  for (size_t k = 0; k < c.inputs(); ++k) s += " " + c.src[k].name + " " + hex(in[k], c.src[k].bits);
  s += "\n  H200   ";
  for (size_t k = 0; k < c.outputs(); ++k) s += " " + hex(expected[k], c.dst[k].bits);
  s += "\n  tinygpu";
  for (size_t k = 0; k < c.outputs(); ++k) s += " " + hex(got[k], c.dst[k].bits);
  return s;
}

/// Value of a result of the approximated types.
double number(const std::string& type, uint64_t w) {
  if (type == "f64") return std::bit_cast<double>(w);
  if (type == "f32") return double(std::bit_cast<float>(uint32_t(w)));
  if (type == "bf16") return double(std::bit_cast<float>(uint32_t(w) << 16));
  const int exponent = int(w >> 10 & 31), fraction = int(w & 1023);
  const double magnitude = exponent == 31
                               ? (fraction ? NAN : INFINITY)
                               : std::ldexp(exponent ? 1024 + fraction : fraction, std::max(exponent, 1) - 25);
  return w & 0x8000 ? -magnitude : magnitude;
}
uint64_t ulps(uint64_t a, uint64_t b, int bits) {
  const uint64_t sign = uint64_t(1) << (bits - 1);
  const auto ordered = [&](uint64_t w) { return w & sign ? -int64_t(w & ~sign) : int64_t(w); };
  const int64_t d = ordered(a) - ordered(b);
  return uint64_t(d < 0 ? -d : d);
}
/// The largest errors seen in a case, for the log.
struct Worst {
  uint64_t ulp = 0;
  double absolute = 0;
};
bool within(const Bound& bound, const std::string& type, uint64_t expected, uint64_t got, Worst* worst = nullptr) {
  const bool packed = type.ends_with("x2");
  const std::string scalar = packed ? type.substr(0, type.size() - 2) : type;
  const int bits = scalar == "f64" ? 64 : scalar == "f32" ? 32 : 16;
  for (int part = 0; part < (packed ? 2 : 1); ++part) {
    const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    const uint64_t e = expected >> (part * bits) & mask, g = got >> (part * bits) & mask;
    if (e == g) continue;
    const double x = number(scalar, e), y = number(scalar, g);
    if (std::isnan(x) || std::isnan(y)) return false;
    if (worst) {
      worst->ulp = std::max(worst->ulp, ulps(e, g, bits));
      worst->absolute = std::max(worst->absolute, std::fabs(x - y));
    }
    if (ulps(e, g, bits) > bound.ulp && !(std::fabs(x - y) <= bound.absolute)) return false;
  }
  return true;
}

class Scalar : public testing::TestWithParam<std::string> {};

TEST_P(Scalar, AgreesWithTheH200) {
  std::vector<Case> cases;
  for (const Case& c : all_cases())
    if (opcode_of(c) == GetParam()) cases.push_back(c);
  ASSERT_FALSE(cases.empty());
  tinygpu::test::RunPtx machine(module_text(cases, "sm_90a"), tinygpu::test::hopper_machine());
  int wrong = 0;
  for (size_t n = 0; n < cases.size(); ++n) {
    const Case& c = cases[n];
    const Golden::Results& expected = golden().by_line.at(c.line);
    const std::vector<uint64_t> in = operands_of(c);
    const uint64_t inputs = machine.upload(in), outputs = machine.buffer<uint64_t>(kTuples * c.outputs());
    try {
      machine.launch(kernel_name(n), tinygpu::Dim3{kTuples / 256, 1, 1}, tinygpu::Dim3{256, 1, 1}, inputs, outputs);
    } catch (const tinygpu::KernelFault& f) {
      ADD_FAILURE() << c.text << "\n  " << f.diagnosis.message;
      ++wrong;
      continue;
    }
    const std::vector<uint64_t> got = machine.download<uint64_t>(outputs, kTuples * c.outputs());
    const Bound* bound = bound_of(c);
    bool right = true;
    Worst worst;
    for (size_t t = 0; t < kKept && right; ++t) {
      const uint64_t *e = &expected.words[t * c.outputs()], *g = &got[t * c.outputs()];
      right = bound ? within(*bound, c.dst[0].name, e[0], g[0], &worst) : std::equal(e, e + c.outputs(), g);
      if (!right) ADD_FAILURE() << describe(c, t, &in[t * c.inputs()], e, g);
    }
    for (size_t t = 0; t < kTuples && right && !bound; t += kHashed) {
      right = hash(&got[t * c.outputs()], kHashed * c.outputs()) == expected.hashes[t / kHashed];
      if (!right)
        ADD_FAILURE() << c.text << "\n  the kept tuples agree, some of tuples " << t << " to " << t + kHashed - 1
                      << " do not";
    }
    if (bound)
      std::printf("%s largest difference %llu ulp, %.3g\n", c.text.c_str(), static_cast<unsigned long long>(worst.ulp),
                  worst.absolute);
    wrong += !right;
  }
  EXPECT_EQ(wrong, 0) << "of " << cases.size() << " cases";
}

std::vector<std::string> opcodes() {
  std::set<std::string> names;
  for (const Case& c : all_cases()) names.insert(opcode_of(c));
  return {names.begin(), names.end()};
}
INSTANTIATE_TEST_SUITE_P(Opcodes, Scalar, testing::ValuesIn(opcodes()), [](const auto& p) { return p.param; });

TEST(ScalarGolden, SaysWhereItComesFrom) {
  for (const char* key : {"device", "driver", "date", "assembler", "cases"})
    EXPECT_FALSE(golden().header.at(key).empty()) << key;
}

/// The comparison itself can fail: another word, another hash.
TEST(ScalarGolden, TellsDifferentWordsApart) {
  const Bound two{"", 2, 0};
  EXPECT_TRUE(within(two, "f32", 0x3f800000, 0x3f800002));
  EXPECT_FALSE(within(two, "f32", 0x3f800000, 0x3f800003));
  EXPECT_FALSE(within(two, "f32", 0x7fffffff, 0x3f800000));
  EXPECT_FALSE(within(two, "f16x2", 0x3c003c00, 0x3c033c00));
  EXPECT_TRUE(within(two, "f32", 0x80000001, 0x00000001));
  const uint64_t a[] = {1, 2}, b[] = {2, 1};
  EXPECT_NE(hash(a, 2), hash(b, 2));
}

}  // namespace
}  // namespace conformance
