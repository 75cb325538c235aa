// What a launch says, and how much of it: names that can be read, a few of many diagnoses of one kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/diagnosis/grouping.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string kernel_line(const std::string& name, const std::string& launch = {}, const std::string& other = {}) {
  Diagnosis d;
  d.code = "some-rule";
  d.message = "Something.";
  d.where.kernel = name;
  if (!other.empty()) {
    d.others.push_back({});
    d.others[0].where.kernel = other;
    d.others[0].where.ptx_line = 1;
  }
  diagnosis::RenderOptions options;
  options.launch = launch;
  const std::string text = diagnosis::render(d, options);
  const std::string from = "   = kernel: ";
  const size_t at = text.find(from);
  return text.substr(at + from.size(), text.find('\n', at) - at - from.size());
}

TEST(DiagnosisText, KernelNamesCanBeRead) {
  EXPECT_EQ(kernel_line("plain_c_name"), "plain_c_name");
  EXPECT_EQ(kernel_line("_ZN3one3twoIiEEvPT_"), "two<int>");
}

TEST(DiagnosisText, ALaunchsNameComesInPlaceOfTheArguments) {
  EXPECT_EQ(kernel_line("_ZN3one3twoIiEEvPT_", "step 6"), "step 6: two");
  EXPECT_EQ(kernel_line("_ZN3one3twoIiEEvPT_", "step 6", "_Z5firstv"), "step 6: two, then first");
}

TEST(DiagnosisText, LongNamesAreCut) {
  const std::string head = "a_name_of_sixty_letters_that_says_what_the_kernel_is_about__";
  EXPECT_EQ(kernel_line("_Z60" + head + "ILi1EEvv"), head + "<1>") << "short enough";
  EXPECT_EQ(kernel_line("_Z200" + head + std::string(140, 'x') + "iii"), head + std::string(20, 'x') + "…");
}

TEST(DiagnosisText, FullNamesOnRequest) {
  show_full_names(true);
  const std::string alone = kernel_line("_ZN3one3twoIiEEvPT_"), named = kernel_line("_ZN3one3twoIiEEvPT_", "step 6");
  show_full_names(false);
  EXPECT_EQ(alone, "void one::two<int>(int*)");
  EXPECT_EQ(named, "step 6: void one::two<int>(int*)");
}

TEST(DiagnosisText, NamesThatCannotBeDemangledGiveTheirBeginning) {
  // A parameter pack as nvcc writes some: not what the C++ library takes.
  EXPECT_EQ(kernel_line("_Z11gemm_deviceIJ?EEvv"), "gemm_device<…>");
  EXPECT_EQ(kernel_line("_ZN4cute11gemm_deviceIJ?EEvv"), "gemm_device<…>");
  EXPECT_EQ(kernel_line("_Z?"), "_Z?");
  EXPECT_EQ(kernel_line("_Z99999999999999999999short"), "short") << "a length beyond the name's end";
}

// What a compiler wrote, or a package brings, stands apart; errors never do.
TEST(DiagnosisGroups, GeneratedCodeAndWhatHardwareKeeps) {
  using diagnosis::Group;
  const auto group = [](Severity severity, const char* code, const char* file, const char* other = "") {
    Diagnosis d;
    d.code = code;
    d.severity = severity;
    d.where.cuda_file = file;
    d.others.push_back({});
    d.others[0].where.cuda_file = other;
    return diagnosis::group_of(d);
  };
  EXPECT_EQ(group(Severity::warning, "data-race", "/home/me/gemm.cu"), Group::own);
  EXPECT_EQ(group(Severity::warning, "data-race", "/home/me/kernel.py"), Group::generated);
  EXPECT_EQ(group(Severity::warning, "data-race", "/usr/lib/python3/site-packages/tilelang/src/copy.h"),
            Group::generated);
  EXPECT_EQ(group(Severity::warning, "data-race", "/home/me/kernel.py", "/home/me/gemm.cu"), Group::own);
  EXPECT_EQ(group(Severity::error, "data-race", "/home/me/kernel.py"), Group::own);
  EXPECT_EQ(group(Severity::note, "tmem-unordered", "/home/me/gemm.cu"), Group::kept);
  EXPECT_EQ(group(Severity::warning, "tmem-unordered", "/home/me/gemm.cu"), Group::own);
  EXPECT_EQ(group(Severity::note, "race-check-incomplete", "/home/me/gemm.cu"), Group::own);
}

/// A copy and a load that does not wait for it.
Diagnosis two_places() {
  Diagnosis d;
  d.code = "async-not-complete";
  d.message = "a load while a copy is in flight";
  d.help = "wait for the copy";
  d.where = {.kernel = "k",
             .cta = {1, 0, 0},
             .thread = 37,
             .warp = 1,
             .operation = {},
             .cycle = 120,
             .ptx_line = 12,
             .ptx_text = "ld.shared.f32 %f1, [%r3]",
             .cuda_file = "/home/someone/gemm.cu",
             .cuda_line = 2,
             .cuda_column = 13};
  d.label = "read here";
  d.others = {{d.where, "the copy was issued here"}};
  d.others[0].where.operation = "cp.async.bulk";
  d.others[0].where.cuda_line = 1;
  d.others[0].where.cuda_column = 3;
  d.others[0].where.ptx_line = 9;
  d.others[0].where.ptx_text = "cp.async.bulk…";
  d.rule = "A load waits for the copy that brings its bytes.";
  d.section = "9.7.9.25.2 Async";
  d.example = "mbarrier.try_wait…\n  again";
  return d;
}

TEST(DiagnosisText, QuotesTheSourceOfEveryPlace) {
  diagnosis::SourceFiles files([](const std::string& path) -> std::optional<std::string> {
    EXPECT_EQ(path, "/home/someone/gemm.cu");
    return "  copy(tile, from);\n\tfloat a = tile[i];\n";
  });
  diagnosis::RenderOptions options;
  options.folder = "/home/someone";
  options.files = &files;
  options.more = true;
  EXPECT_EQ(diagnosis::render(two_places(), options),
            R"(tinygpu error[async-not-complete]: a load while a copy is in flight
  --> gemm.cu:2:13
   |
 2 | 	float a = tile[i];
   | 	           ^ read here
   | by CTA (1,0,0), warp 1, thread 37, at cycle 120
   | ptx line 12: ld.shared.f32 %f1, [%r3]
  ::: gemm.cu:1:3
 1 |   copy(tile, from);
   |   - the copy was issued here
   | by cp.async.bulk of CTA (1,0,0), warp 1, thread 37, at cycle 120
   | ptx line 9: cp.async.bulk…
   |
   = kernel: k
   = rule: A load waits for the copy that brings its bytes. (PTX ISA 9.1, 9.7.9.25.2 Async)
   = fix: wait for the copy
          mbarrier.try_wait…
            again
   = more: gen5 explain async-not-complete
)");
}

TEST(DiagnosisText, TellsTheCallsThatALineWasInlinedThrough) {
  Diagnosis d = two_places();
  d.where.inlined = {{"/home/someone/copy.h", 10, 1, "_ZN3one3twoIiEEvPT_"}, {"/usr/include/ring.h", 20, 0, ""}};
  EXPECT_THAT(diagnosis::render(d, {.folder = "/home/someone"}),
              HasSubstr("   | read here\n"
                        "   | in one::two (copy.h:10:1), inlined into\n"
                        "   |    /usr/include/ring.h:20, inlined here\n"
                        "   | by CTA (1,0,0), warp 1, thread 37, at cycle 120\n"));
  // The ends of a long chain.
  d.where.inlined.assign(20, {"a.h", 1, 2, "f"});
  for (int i = 0; i < 20; ++i) d.where.inlined[size_t(i)].line = i + 1;
  const std::vector<std::string> lines = diagnosis::inlined_lines(d.where, "");
  EXPECT_THAT(lines, ::testing::ElementsAre("in f (a.h:1:2), inlined into", "   f (a.h:2:2), inlined into",
                                            "   f (a.h:3:2), inlined into", "   f (a.h:4:2), inlined into",
                                            "   … 13 calls, inlined into", "   f (a.h:18:2), inlined into",
                                            "   f (a.h:19:2), inlined into", "   f (a.h:20:2), inlined here"));
}

TEST(DiagnosisText, ShortNamesOfFunctions) {
  EXPECT_EQ(short_name("g"), "g") << "no type";
  EXPECT_EQ(short_name("_ZN3one3twoIiEEvPT_"), "one::two");
  EXPECT_EQ(short_name("_ZN12_GLOBAL__N_13fooEv"), "foo");
  EXPECT_EQ(short_name("_ZN1AlsEi"), "A::operator<<");
  EXPECT_EQ(short_name("_ZN4cute4copyIJ?EEvv"), "cute::copy");
}

TEST(DiagnosisText, WithoutTheSourceThePtxStands) {
  Diagnosis d = two_places();
  const std::string text = diagnosis::render(d);
  EXPECT_THAT(text, HasSubstr("  --> /home/someone/gemm.cu:2:13\n   |\n   | read here\n   | by CTA (1,0,0), warp 1"));
  EXPECT_THAT(text, HasSubstr("   | ptx line 12: ld.shared.f32 %f1, [%r3]\n"));
  d.others.clear();
  d.where.cuda_file.clear();
  EXPECT_THAT(diagnosis::render(d), HasSubstr("  --> ptx line 12\n"
                                              "   |\n"
                                              "12 | ld.shared.f32 %f1, [%r3]\n"
                                              "   | ^ read here\n"
                                              "   | by CTA (1,0,0), warp 1, thread 37, at cycle 120\n"
                                              "   |\n"));
}

TEST(DiagnosisText, OneLineOfTwoPlacesIsQuotedOnce) {
  Diagnosis d = two_places();
  d.where.cuda_file.clear();
  d.others[0].where = d.where;
  d.others[0].where.thread = 3;
  const std::string text = diagnosis::render(d);
  EXPECT_EQ(text.find("ld.shared"), text.rfind("ld.shared"));
  EXPECT_THAT(text, HasSubstr("   | ^ read here\n   | by CTA (1,0,0), warp 1, thread 37, at cycle 120\n"
                              "   | - the copy was issued here\n   | by CTA (1,0,0), warp 1, thread 3, at"));
}

TEST(DiagnosisText, RuleAndExampleComeFromTheTableUnlessGiven) {
  Diagnosis d;
  d.code = "mbarrier-reinit";
  d.message = "Something.";
  EXPECT_THAT(diagnosis::render(d),
              HasSubstr("= rule: mbarrier.inval ends an mbarrier before its bytes become another one. (PTX ISA 9.1,\n  "
                        "         9.7.13.15.3 Lifecycle of the mbarrier object)\n"));
  d.rule = "Another one.";
  EXPECT_THAT(diagnosis::render(d), HasSubstr("= rule: Another one.\n"));
  EXPECT_THAT(diagnosis::render(d, {.general = false}), Not(HasSubstr("rule")));
  d.code = "no-such-code";
  EXPECT_THAT(diagnosis::render(d), HasSubstr("= rule: Another one.\n"));
}

TEST(DiagnosisText, ColourIsAskedFor) {
  EXPECT_THAT(diagnosis::render(two_places()), Not(HasSubstr("\033")));
  EXPECT_THAT(diagnosis::render(two_places(), {.color = true}),
              HasSubstr("\033[1;31mtinygpu error[async-not-complete]\033[0m"));
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

TEST(Reports, AFaultIsCounted) {
  RunPtx run(stores_over_mbarrier(1, false));
  run.launch("k", {4}, {1});
  ASSERT_EQ(run.reports.size(), 1u);
  EXPECT_EQ(run.reports[0].count, 4u) << "by each CTA";
  EXPECT_THAT(diagnosis::render(run.reports[0]), HasSubstr("= count: 4 times in this launch"));
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
