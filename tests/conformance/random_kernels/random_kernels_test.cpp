// tinygpu against an H200: random kernels, every word that they leave.
#include <gtest/gtest.h>

#include "tests/conformance/random_kernels/archive.h"
#include "tests/conformance/random_kernels/generator.h"
#include "tests/support/run_ptx.h"

namespace conformance::random_kernels {
namespace {

const std::string kFolder = RANDOM_KERNELS_FOLDER;

const std::vector<Module>& modules() {
  static const std::vector<Module> all = read_archive(kFolder + "/kernels.ptx.zst");
  return all;
}

class RandomKernels : public testing::TestWithParam<size_t> {};

TEST_P(RandomKernels, AgreeWithTheH200) {
  static const Golden golden = read_golden(kFolder + "/h200.golden");
  const Module& m = modules().at(GetParam());
  tinygpu::test::RunPtx machine(m.ptx, tinygpu::test::hopper_machine());
  for (uint64_t seed = m.first; seed < m.last; ++seed) {
    const Shape shape = shape_of(seed);
    const size_t words = size_t(shape.ctas) * shape.threads * kWordsPerThread;
    const uint64_t in = machine.upload(input_words()), cells = machine.upload(cell_words());
    const uint64_t out = machine.buffer<uint32_t>(words);
    try {
      machine.launch(kernel_name(seed), tinygpu::Dim3{shape.ctas}, tinygpu::Dim3{shape.threads}, in, out, cells, kSalt);
    } catch (const tinygpu::KernelFault& f) {
      ADD_FAILURE() << kernel_name(seed) << ": " << f.diagnosis.message;
      continue;
    }
    std::vector<uint32_t> got = machine.download<uint32_t>(out, words);
    for (uint32_t w : machine.download<uint32_t>(cells, kCells)) got.push_back(w);
    EXPECT_EQ(hash(got.data(), got.size() * 4), golden.results.at(seed)) << kernel_name(seed);
  }
  for (const auto& d : machine.reports) ADD_FAILURE() << d.code << ": " << d.message;
}
INSTANTIATE_TEST_SUITE_P(Modules, RandomKernels, testing::Range(size_t(0), size_t(10)));

/// The kept PTX is of the kernels that the generator writes today: else `random_kernels pack` has to make it again, and
/// an H200 its golden file.
TEST(RandomKernelsArchive, IsOfTheseKernels) {
  ASSERT_EQ(modules().size(), 10u);
  for (const Module& m : modules()) {
    const std::string source = module_source(m.first, m.last);
    EXPECT_EQ(hash(source.data(), source.size()), m.source) << "seeds from " << m.first;
  }
}

TEST(RandomKernelsGolden, SaysWhereItComesFrom) {
  const Golden golden = read_golden(kFolder + "/h200.golden");
  EXPECT_NE(golden.platform.find("H200"), std::string::npos);
  EXPECT_EQ(golden.results.size(), 100u);
}

}  // namespace
}  // namespace conformance::random_kernels
