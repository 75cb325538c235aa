// tinygpu against an H200: mma.sync, matrix moves, shuffles, votes, reductions, atomics and cp.async; the same PTX on
// the same operands, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/conformance/mma_sync/golden.h"
#include "tests/support/run_ptx.h"

namespace conformance::warp {
namespace {

const Golden& golden() {
  static const Golden g = read_golden(std::string(MMA_SYNC_CONFORMANCE_FOLDER) + "/h200.golden.zst");
  return g;
}

/// Cases are tested together by what stands before " class ", without the types' details for mma: one test per shape.
std::string family_of(const Case& c) {
  std::string s = c.name.substr(0, c.name.find(' '));
  if (c.group == "mma") {
    const size_t shape = s.find(".m") + 1;
    const size_t end = s.find('.', shape);
    const bool narrow = s.find("e4m3") != std::string::npos || s.find("e5m2") != std::string::npos;
    std::string kind = s.find(".f64") != std::string::npos ? "f64"
                       : narrow ? (s.find(".f16.e") != std::string::npos ? "fp8_f16" : "fp8_f32")
                       : s.find(".tf32") != std::string::npos ? "tf32"
                       : s.find(".bf16") != std::string::npos ? "bf16"
                       : s.find(".b1.") != std::string::npos  ? "b1"
                       : s.find("8.s32") != std::string::npos ? "int8"
                       : s.find("4.s32") != std::string::npos ? "int4"
                                                              : "f16";
    return "mma_" + s.substr(shape, end - shape) + "_" + kind;
  }
  s = s.substr(0, s.find(".class"));
  std::replace_if(
      s.begin(), s.end(), [](char ch) { return !std::isalnum(static_cast<unsigned char>(ch)); }, '_');
  return c.group == "matrix" ? s.substr(0, 8) : c.group == "atomic" ? s.substr(0, 11) : c.group;
}

class MmaSyncConformance : public ::testing::TestWithParam<std::string> {};

TEST_P(MmaSyncConformance, AgreesWithTheH200) {
  const std::vector<Case>& all = all_cases();
  int ran = 0, wrong = 0;
  for (size_t n = 0; n < all.size(); ++n) {
    const Case& c = all[n];
    if (family_of(c) != GetParam()) continue;
    ++ran;
    tinygpu::test::RunPtx machine(module_text(all, n, n + 1, "sm_90a"), tinygpu::test::hopper_machine());
    const uint64_t in = machine.upload(operands_of(c)), out = machine.buffer<uint32_t>(result_words(c));
    try {
      machine.launch(kernel_name(n), tinygpu::Dim3{kCtas, 1, 1}, tinygpu::Dim3{uint32_t(c.threads), 1, 1}, in, out);
    } catch (const tinygpu::KernelFault& f) {
      ADD_FAILURE() << c.name << "\n  " << f.diagnosis.message;
      ++wrong;
      continue;
    }
    const auto got = machine.download<uint32_t>(out, result_words(c));
    const Golden::Results& expected = golden().cases[n];
    const size_t per_cta = expected.words.size();
    bool right = true;
    for (size_t i = 0; i < per_cta && right; ++i) {
      right = got[i] == expected.words[i];
      if (!right)
        ADD_FAILURE() << c.name << "\n  thread " << i / size_t(c.outputs) << " word " << i % size_t(c.outputs)
                      << std::hex << ": H200 0x" << expected.words[i] << ", tinygpu 0x" << got[i];
    }
    for (size_t i = 0; i < size_t(kCtas) && right; ++i) {
      right = hash(&got[i * per_cta], per_cta) == expected.hashes[i];
      if (!right) ADD_FAILURE() << c.name << "\n  the first CTA agrees, CTA " << i << " does not";
    }
    wrong += !right;
  }
  EXPECT_GT(ran, 0);
  EXPECT_EQ(wrong, 0) << "of " << ran << " cases";
}

std::vector<std::string> families() {
  std::set<std::string> names;
  for (const Case& c : all_cases()) names.insert(family_of(c));
  return {names.begin(), names.end()};
}
INSTANTIATE_TEST_SUITE_P(Families, MmaSyncConformance, ::testing::ValuesIn(families()),
                         [](const auto& p) { return p.param; });

TEST(MmaSyncGolden, SaysWhereItComesFromAndIsLargeEnough) {
  for (const char* key : {"device", "driver", "date", "assembler", "cases"})
    EXPECT_FALSE(golden().header.at(key).empty()) << key;
  std::map<std::string, int> count;
  for (const Case& c : all_cases()) ++count[c.group];
  EXPECT_GE(count["mma"] + count["matrix"], 500);
}

TEST(MmaSyncGolden, OneWrongWordChangesTheHash) {
  std::vector<uint32_t> words = golden().cases[0].words;
  const uint32_t before = hash(words.data(), words.size());
  EXPECT_EQ(before, golden().cases[0].hashes[0]);
  words[5] ^= 1;
  EXPECT_NE(before, hash(words.data(), words.size()));
}

}  // namespace
}  // namespace conformance::warp
