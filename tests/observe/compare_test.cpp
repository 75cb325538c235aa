// Two runs side by side, from the data of their reports.
#include "common/tinygpu/observe/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/base/temporary_folder.h"
#include "common/tinygpu/observe/report/align_lines.h"
#include "common/tinygpu/observe/report/html.h"
#include "common/tinygpu/observe/report/saved_report.h"

namespace tinygpu::test::compare_test {
namespace {

using Json = nlohmann::ordered_json;
using observe::Change;
using observe::Comparison;
using observe::ReportError;
using ::testing::HasSubstr;
using ::testing::Not;

Json line(const std::string& file, int number, int issuing, int waiting) {
  return {{"at", file + ":" + std::to_string(number)},
          {"file", "/src/" + file},
          {"line", number},
          {"ptx", ""},
          {"issuing", issuing},
          {"operands", 0},
          {"port", 0},
          {"waits", {{"mbarrier full[0]", waiting}}}};
}

Json kernel(const std::string& name, int cycles, Json lines, Json source) {
  return {{"profile",
           {{"kernel", name},
            {"label", name},
            {"launches", 1},
            {"cycles", cycles},
            {"tma_busy", 0.25},
            {"seconds", {{"cold", 1e-6 * cycles}, {"sustained", 2e-6 * cycles}}},
            {"memory", {{"l2_bytes", 1000}}},
            {"verdict", {{"limit", cycles > 1000 ? "loads" : "tensor cores"}, {"at", "a.cu:3"}}},
            {"roles", Json::array({{{"role", "MMA"},
                                    {"cycles", 1000},
                                    {"issuing", 100},
                                    {"operands", 0},
                                    {"port", 0},
                                    {"waits", Json::array({{{"for", "mbarrier full[0]"}, {"cycles", cycles / 4}}})}}})},
            {"lines", std::move(lines)}}},
          {"source", std::move(source)}};
}

Json report(Json kernels) {
  return {{"format", observe::kReportFormat},
          {"run", {{"command", "gemm"}, {"machine", "b200"}}},
          {"kernels", std::move(kernels)}};
}

Json source(const std::string& file, std::vector<std::pair<int, std::string>> lines) {
  Json texts = Json::array();
  for (const auto& [number, text] : lines) texts.push_back({number, text});
  return Json::array({{{"file", "/src/" + file}, {"lines", texts}}});
}

const Change& row(const std::vector<Change>& rows, const std::string& name) {
  return *std::ranges::find(rows, name, &Change::name);
}

TEST(Compare, FollowsLinesThatMoved) {
  // A line was put in at 2, one was changed at 4 (now 5).
  const Json before =
                 source("a.cu", {{1, "first();"}, {2, "  wait(full);"}, {3, "copy();"}, {4, "mma(x);"}, {5, "end();"}}),
             after = source(
                 "a.cu",
                 {{1, "first();"}, {2, "fresh();"}, {3, "wait(full);"}, {4, "copy();"}, {5, "mma(y);"}, {6, "end();"}});
  const auto partner = observe::align_lines(before, after);
  const std::map<observe::SourceLine, observe::SourceLine> expected = {{{"/src/a.cu", 1}, {"/src/a.cu", 1}},
                                                                       {{"/src/a.cu", 2}, {"/src/a.cu", 3}},
                                                                       {{"/src/a.cu", 3}, {"/src/a.cu", 4}},
                                                                       {{"/src/a.cu", 4}, {"/src/a.cu", 5}},
                                                                       {{"/src/a.cu", 5}, {"/src/a.cu", 6}}};
  EXPECT_EQ(partner, expected);
}

TEST(Compare, AFileThatIsLeftOverIsTheOthersPartner) {
  const auto partner = observe::align_lines(source("step4.cu", {{7, "copy();"}}), source("step5.cu", {{9, "copy();"}}));
  EXPECT_EQ(partner.at({"/src/step4.cu", 7}), (observe::SourceLine{"/src/step5.cu", 9}));
}

TEST(Compare, ShowsTimesLimitsWaitsAndLines) {
  const Json before = report({kernel("k", 2000, Json::array({line("a.cu", 2, 10, 500), line("a.cu", 3, 5, 0)}),
                                     source("a.cu", {{2, "wait(full);"}, {3, "copy();"}}))}),
             after = report({kernel(
                 "k", 1000, Json::array({line("a.cu", 3, 10, 100), line("a.cu", 4, 5, 0), line("a.cu", 2, 7, 0)}),
                 source("a.cu", {{2, "fresh();"}, {3, "wait(full);"}, {4, "copy();"}}))});
  const Comparison c = observe::compare(before, "old.html", after, "new.html");
  ASSERT_EQ(c.kernels.size(), 1u);
  const auto& k = c.kernels[0];
  EXPECT_EQ(row(k.times, "Cycles").before, "2,000");
  EXPECT_EQ(row(k.times, "Cycles").after, "1,000");
  EXPECT_EQ(row(k.times, "Cycles").difference, "−50.0 %");
  EXPECT_EQ(row(k.times, "Cycles").mark, Change::Mark::less);
  EXPECT_EQ(row(k.times, "Limited by").after, "tensor cores");
  EXPECT_EQ(row(k.times, "Limited by").mark, Change::Mark::other);
  EXPECT_EQ(row(k.units, "TMA busy").mark, Change::Mark::same);
  EXPECT_EQ(row(k.waits, "MMA: waiting for mbarrier full[0]").difference, "−25.0 points");
  ASSERT_EQ(k.lines.size(), 2u) << "the copy moved, and costs the same";
  EXPECT_EQ(k.lines[0].before_at, "a.cu:2");
  EXPECT_EQ(k.lines[0].after_at, "a.cu:3");
  EXPECT_EQ(k.lines[0].before, 510u);
  EXPECT_EQ(k.lines[0].after, 110u);
  EXPECT_EQ(k.lines[1].before_at, "") << "it is new";
  const std::string text = observe::render(c);
  EXPECT_THAT(text, HasSubstr("−50.0 %"));
  EXPECT_THAT(text, HasSubstr("wait(full);"));
  EXPECT_THAT(text, Not(HasSubstr("another kernel")));
}

TEST(Compare, PairsOtherKernelsInTheirOrderAndSaysSo) {
  const Json none = Json::array();
  const Json before = report({kernel("a", 1, none, none), kernel("b", 1, none, none), kernel("gone", 1, none, none)}),
             after = report({kernel("b", 1, none, none), kernel("c", 1, none, none)});
  const Comparison c = observe::compare(before, "old.html", after, "new.html");
  ASSERT_EQ(c.kernels.size(), 2u);
  EXPECT_EQ(c.kernels[0].before, "b");
  EXPECT_EQ(c.kernels[1].before, "a");
  EXPECT_EQ(c.kernels[1].after, "c");
  EXPECT_EQ(c.kernels[1].before_index, 0u);
  EXPECT_EQ(c.only_before, std::vector<std::string>{"gone"});
  EXPECT_THAT(observe::render(c), HasSubstr("in place of another kernel: a"));
}

TEST(Compare, NamesWhatMakesRunsHardToCompare) {
  Json before = report(Json::array()), after = report(Json::array());
  before["run"]["machine"] = "h200";
  after["run"]["free"] = "loads";
  const Comparison c = observe::compare(before, "old.html", after, "new.html");
  EXPECT_THAT(observe::render(c), HasSubstr("The machines differ: h200 before, b200 now."));
  EXPECT_THAT(observe::render(c), HasSubstr("What was free differs: nothing before, loads now."));
  EXPECT_THAT(observe::render(c), HasSubstr("no kernel was launched"));
}

TEST(Compare, NothingThatComesInIsMarkup) {
  const Json none = Json::array();
  const Json before = report({kernel("<b>old</b>", 1, Json::array({line("<i>.cu", 2, 10, 500)}), none)}),
             after = report({kernel("<script>alert(1)</script>", 2, Json::array({line("x&y.cu", 2, 1, 5)}), none)});
  const std::string page = observe::comparison_section(observe::compare(before, "<u>", after, "new"));
  for (const char* raw : {"<b>old", "<script", "<i>", "x&y", "<u>"}) EXPECT_THAT(page, Not(HasSubstr(raw)));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
}

/// What reading a file of this content says.
std::string said(const std::string& content) {
  const TemporaryFolder folder("gen5-compare-test-");
  const std::filesystem::path path = folder.path() / "r.html";
  std::ofstream(path, std::ios::binary) << content;
  try {
    observe::read_saved_report(path);
  } catch (const ReportError& e) {
    EXPECT_THAT(e.what(), HasSubstr(path.string()));
    return e.what();
  }
  return {};
}

std::string page(const Json& data) {
  return "<p></p><script type=\"application/json\" id=\"data\">" + observe::script(data) +
         "</script><script>1</script>";
}

TEST(Compare, RefusesWhatIsNoReport) {
  const Json good = report(Json::array());
  EXPECT_EQ(said(page(good)), "");
  EXPECT_THAT(said(""), HasSubstr("no report of gen5 run --report"));
  EXPECT_THAT(said("<html>"), HasSubstr("no report of gen5 run --report"));
  EXPECT_THAT(said("\x7f"
                   "ELF\x02"),
              HasSubstr("this is a program"));
  EXPECT_THAT(said(page(good).substr(0, 80)), HasSubstr("cut short"));
  EXPECT_THAT(said(page(Json::array())), HasSubstr("cut short"));
  Json other = good;
  other["format"] = 99;
  EXPECT_THAT(said(page(other)), HasSubstr("another version of gen5 wrote this report (format 99)"));
  other.erase("format");
  EXPECT_THAT(said(page(other)), HasSubstr("its data have no format"));
  Json lacks = good;
  lacks.erase("kernels");
  EXPECT_THAT(said(page(lacks)), HasSubstr("cut short"));
  EXPECT_THROW(observe::read_saved_report("/no/such/report"), ReportError);
  EXPECT_THROW(observe::read_saved_report("/"), ReportError);
  EXPECT_THROW(observe::read_saved_report("/dev/zero"), ReportError);
}

TEST(Compare, RefusesDataThatWereChanged) {
  const Json good = report({kernel("k", 1, Json::array({line("a.cu", 1, 1, 1)}), Json::array())});
  Json changed = good;
  changed["kernels"][0]["profile"]["lines"][0]["line"] = "one";
  EXPECT_THROW(observe::compare(changed, "old", good, "new"), ReportError);
  changed = good;
  changed["kernels"][0].erase("profile");
  EXPECT_THROW(observe::compare(good, "old", changed, "new"), ReportError);
}

TEST(Compare, KernelsHaveShortNames) {
  EXPECT_EQ(kernel_label("twice"), "twice");
  EXPECT_EQ(kernel_label("void ring<4, false>(unsigned int const*, unsigned long*)"), "ring<4, false>");
  EXPECT_EQ(kernel_label("void gemm::(anonymous namespace)::roles<(gemm::Element)1, float, (bool)1>(gemm::Arguments)"),
            "roles<1, float, true>");
  EXPECT_EQ(kernel_label("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int, "
                         "cutlass::gemm::collective::CollectiveMma<int>, cutlass::layout::RowMajor>>(P)"),
            "device_kernel<…>");
  EXPECT_EQ(kernel_label("void gemm::persistent<gemm::F16<(gen5::la … rguments)"), "persistent<…>");
  EXPECT_EQ(kernel_label("_Z6copiesILi3EEvPvS0_"), "copies<3>");
}

}  // namespace
}  // namespace tinygpu::test::compare_test
