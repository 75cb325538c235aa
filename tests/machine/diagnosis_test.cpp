// What a launch says, and how much of it: names that can be read, a few of many diagnoses of one kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

using ::testing::HasSubstr;

std::string kernel_line(const std::string& name) {
  Diagnosis d;
  d.code = "some-rule";
  d.message = "Something.";
  d.where.kernel = name;
  const std::string text = d.render();
  const std::string from = "   in kernel ";
  const size_t at = text.find(from);
  return text.substr(at + from.size(), text.find('\n', at) - at - from.size());
}

TEST(DiagnosisText, KernelNamesCanBeRead) {
  EXPECT_EQ(kernel_line("plain_c_name"), "plain_c_name");
  EXPECT_EQ(kernel_line("_ZN3one3twoIiEEvPT_"), "void one::two<int>(int*)");
}

TEST(DiagnosisText, LongNamesLoseTheirMiddle) {
  const std::string head = "a_name_of_sixty_letters_that_says_what_the_kernel_is_about__";
  EXPECT_EQ(kernel_line("_Z60" + head + "ILi1EEvv"), "void " + head + "<1>()") << "short enough";
  const std::string name = kernel_line("_Z200" + head + std::string(140, 'x') + "iii");
  EXPECT_EQ(name, head + std::string(20, 'x') + " … " + std::string(25, 'x') + "(int, int, int)");
}

TEST(DiagnosisText, NamesThatCannotBeDemangledGiveTheirBeginning) {
  // A parameter pack as nvcc writes some: not what the C++ library takes.
  EXPECT_EQ(kernel_line("_Z11gemm_deviceIJ?EEvv"), "gemm_device<…>");
  EXPECT_EQ(kernel_line("_ZN4cute11gemm_deviceIJ?EEvv"), "cute::gemm_device<…>");
  EXPECT_EQ(kernel_line("_Z?"), "_Z?");
  EXPECT_EQ(kernel_line("_Z99999999999999999999short"), "short") << "a length beyond the name's end";
}

/// `count` stores over a live mbarrier, each an instruction of its own; then a fault, if asked for.
std::string stores_over_mbarrier(int count, bool fault) {
  std::string s = R"(
.visible .entry k()
{
  .reg .b32 %b; .shared .align 8 .b8 barrier[8];
  mov.u32 %b, barrier;
  mbarrier.init.shared.b64 [%b], 1;
)";
  for (int i = 0; i < count; ++i) s += "  st.shared.u32 [%b], 0;\n";
  return s + (fault ? "  trap;\n}\n" : "  ret;\n}\n");
}

TEST(Reports, OneInstructionIsReportedOnce) {
  RunPtx run(stores_over_mbarrier(1, false));
  run.launch("k", {4}, {1});
  EXPECT_EQ(run.reports.size(), 1u);
}

TEST(Reports, ThreeOfAKindAreShown) {
  RunPtx run(stores_over_mbarrier(3, false));
  run.launch("k", {1}, {1});
  EXPECT_EQ(run.reports.size(), 3u);
}

TEST(Reports, OfMoreTheirNumber) {
  RunPtx run(stores_over_mbarrier(8, false));
  for (size_t launches = 1; launches <= 2; ++launches) {  // each launch counts for itself
    run.launch("k", {1}, {1});
    ASSERT_EQ(run.reports.size(), 4 * launches);
    for (size_t i = 0; i < 3; ++i) {
      const Diagnosis& d = run.reports[4 * (launches - 1) + i];
      EXPECT_EQ(d.code, "mbarrier-memory-reused");
      EXPECT_EQ(d.severity, Severity::warning);
    }
    const Diagnosis& rest = run.reports.back();
    EXPECT_EQ(rest.code, "mbarrier-memory-reused");
    EXPECT_EQ(rest.severity, Severity::note);
    EXPECT_EQ(rest.message, "… and 5 more of this kind, at other instructions");
    EXPECT_EQ(rest.where.kernel, "k");
  }
}

TEST(Reports, TheNumberIsToldWhenTheKernelFaultsToo) {
  RunPtx run(stores_over_mbarrier(5, true));
  EXPECT_EQ(run.fault_of("k", {1}, {1}).kind, FaultKind::trap);
  ASSERT_EQ(run.reports.size(), 4u);
  EXPECT_THAT(run.reports.back().message, HasSubstr("and 2 more of this kind"));
}

}  // namespace
}  // namespace tinygpu::test
