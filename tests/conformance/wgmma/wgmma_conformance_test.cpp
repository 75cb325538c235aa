// tinygpu against an H200: every wgmma case, the same PTX on the same operands, bit for bit.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/conformance/wgmma/cases.h"
#include "tests/support/run_ptx.h"

namespace conformance::wgmma {
namespace {

struct Golden {
  std::string platform;
  std::vector<std::array<uint32_t, kHashes>> cases;
};

const Golden& golden() {
  static const Golden g = [] {
    Golden out;
    std::ifstream in(std::string(WGMMA_CONFORMANCE_FOLDER) + "/h200.golden", std::ios::binary);
    std::getline(in, out.platform);
    std::array<uint32_t, kHashes> h;
    while (in.read(reinterpret_cast<char*>(h.data()), sizeof h)) out.cases.push_back(h);
    return out;
  }();
  return g;
}

std::string family_of(const Kernel& k) { return k.d + "_" + k.a + "_" + k.b; }

class WgmmaConformance : public ::testing::TestWithParam<std::string> {};

TEST_P(WgmmaConformance, AgreesWithTheH200) {
  ASSERT_EQ(golden().cases.size(), case_count())
      << "the golden file is of other cases: make it again with conformance_wgmma --write";
  int ran = 0, wrong = 0;
  for (size_t n = 0; n < kernels().size(); ++n) {
    const Kernel& k = kernels()[n];
    if (family_of(k) != GetParam()) continue;
    tinygpu::test::RunPtx machine(module_text(n, n + 1), tinygpu::test::hopper_machine());
    for (size_t c = 0; c < kCasesPerKernel; ++c) {
      const size_t i = n * kCasesPerKernel + c;
      const Inputs in = inputs_of(i);
      const uint64_t image = machine.upload(in.image), registers = machine.upload(in.registers);
      const uint64_t words = machine.upload(std::vector<uint64_t>(in.words.begin(), in.words.end()));
      const uint64_t out = machine.buffer<uint32_t>(128 * k.registers());
      ++ran;
      try {
        machine.launch(kernel_name(n), tinygpu::Dim3{1}, tinygpu::Dim3{128}, image, registers, words, out);
      } catch (const tinygpu::KernelFault& f) {
        ADD_FAILURE() << describe(i) << "\n  " << f.diagnosis.message;
        ++wrong;
        continue;
      }
      const auto got = hashes(machine.download<uint32_t>(out, 128 * k.registers()));
      size_t part = 0;
      while (part < kHashes && got[part] == golden().cases[i][part]) ++part;
      if (part == kHashes) continue;
      if (++wrong <= 5)
        ADD_FAILURE() << describe(i) << "\n  differs first in threads " << 8 * part << " to " << 8 * part + 7;
    }
  }
  EXPECT_GT(ran, 0);
  EXPECT_EQ(wrong, 0) << "of " << ran << " cases";
}

std::vector<std::string> families() {
  std::map<std::string, int> names;
  for (const Kernel& k : kernels()) names[family_of(k)]++;
  std::vector<std::string> out;
  for (const auto& [name, n] : names) out.push_back(name);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Types, WgmmaConformance, ::testing::ValuesIn(families()),
                         [](const auto& p) { return p.param; });

TEST(WgmmaGolden, SaysWhereItComesFromAndIsLargeEnough) {
  EXPECT_NE(golden().platform.find("H200"), std::string::npos);
  EXPECT_GE(golden().cases.size(), 1000u);
}

}  // namespace
}  // namespace conformance::wgmma
