// Every accepted form of groups 7 (mbarrier), 8 (bulk and tensor copies) and 9 (clusters and what goes with them) is
// decoded to an executor, not to "not modelled". The list lies beside the project; without it the test is skipped.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <map>

#include "common/tinygpu/isa/instruction_set.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

std::string kernel(size_t n, const std::string& form) {
  return ".visible .entry k" + std::to_string(n) +
         "(.param .align 64 .b8 kparam[128])\n{\n  .reg .b32 %r<340>; .reg .b64 %rd<32>; .reg .pred %p<16>; .reg .b16 "
         "%h<32>; .reg .b16 %rs<16>;"
         " .reg .f32 %f<16>; .reg .f64 %fd<16>; .reg .b128 %q<8>; .reg .b8 %b<8>;\n  .shared .align 1024 .b8 "
         "smem[1024];\n  " +
         form + "\n  ret;\n}\n";
}

TEST(Forms, GroupsSevenEightNineExecute) {
  std::ifstream file(std::string(GEN5_SHARED) + "/spec/forms_concrete.txt");
  if (!file) GTEST_SKIP() << "no list of forms beside the project";
  std::string line, group;
  std::map<char, std::pair<int, int>> counts;  // executed, accepted
  const ExecFn missing = isa::instruction_set().internal("not_modelled");
  for (size_t n = 0; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0) group = line.substr(3);
    if (line.empty() || line[0] == '#' || group.empty() || group[0] < '7' || group[0] > '9') continue;
    auto& [executed, accepted] = counts[group[0]];
    ++accepted;
    try {
      RunPtx gpu(".global .align 64 .b8 tmapp[128];\n.global .align 64 .b8 gmem[128];\n" + kernel(n, line));
      const Function* f = gpu.program->find("k" + std::to_string(n));
      bool modelled = f != nullptr;
      for (const Op& op : f->ops) modelled &= op.fn != missing;
      if (modelled)
        ++executed;
      else
        ADD_FAILURE() << group << ": not modelled: " << line;
    } catch (const std::exception& e) {
      ADD_FAILURE() << group << ": " << line << ": " << e.what();
    }
    ++n;
  }
  for (const auto& [g, c] : counts) {
    std::cout << "group " << g << ": " << c.first << " of " << c.second << " accepted forms execute\n";
    EXPECT_EQ(c.first, c.second);
  }
}

}  // namespace
}  // namespace tinygpu::test
