// The report's page as a browser gets it, and the parts that it is made of.
#include "common/tinygpu/observe/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "common/tinygpu/observe/report/html.h"
#include "common/tinygpu/observe/report/swizzle.h"
#include "common/tinygpu/observe/report/timeline_json.h"
#include "tests/observe/kernels.h"

namespace tinygpu::test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// A kernel whose name for people has angle brackets: void copies<3>(void*, void*).
constexpr const char* kMangled = "_Z6copiesILi3EEvPvS0_";

struct Page {
  std::string text;
  Json data;
  std::string before_data;  // HTML that needs no script
};

Page parts_of(const std::string& text) {
  Page p;
  p.text = text;
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = text.find(open), end = text.find("</script>", begin);
  EXPECT_NE(begin, std::string::npos);
  EXPECT_NE(end, std::string::npos);
  p.before_data = text.substr(0, begin);
  p.data = Json::parse(text.substr(begin + open.size(), end - begin - open.size()));
  return p;
}

struct Choices {
  uint32_t ctas = 2;
  int launches = 1;
  observe::TimelineLimits limits = {};
  bool fault = false;
  std::vector<Diagnosis> diagnoses = {};
  std::string command = "copies";
};

Page page_of(const Choices& c) {
  std::string ptx = two_copies();
  ptx.replace(ptx.find("copies"), 6, kMangled);
  observe::Report report(c.limits);
  observe::Profile profile;
  RunPtx machine(ptx);
  machine.gpu.options.observers = report.observers();
  machine.gpu.options.observers.push_back(&profile);
  const uint64_t from = machine.upload(std::vector<uint32_t>(256, 7)), to = machine.buffer<uint32_t>(1);
  for (int i = 0; i < c.launches; ++i) machine.launch(kMangled, {c.ctas, 1, 1}, {1, 1, 1}, from, to);
  if (c.fault) {
    try {
      machine.launch(kMangled, {1, 1, 1}, {1, 1, 1}, uint64_t(0), to);
      ADD_FAILURE() << "a copy from address 0 is a fault";
    } catch (const KernelFault& fault) {
      report.add(fault.diagnosis);
    }
  }
  for (const Diagnosis& d : c.diagnoses) report.add(d);
  observe::RunFacts run;
  run.command = c.command;
  run.machine = "b200";
  run.sms = 148;
  run.clock_ghz = 2;
  run.peaks = {{"peak.f16", 8192, "FLOP/cycle", "dense f16", "a <source> & more", "measured"}};
  std::ostringstream out;
  report.write(out, profile.kernels(), run, [](const std::string& path) -> std::optional<std::string> {
    if (path == "/src/a.cu") return "one\n  two < 3 && \"x\"\nthree\n";
    return std::nullopt;
  });
  return parts_of(out.str());
}

/// A column's value for span `i`.
int64_t at(const Json& column, size_t i) {
  return column.is_array() ? column.at(i).get<int64_t>() : column.get<int64_t>();
}

TEST(Report, ItsDataIsOneJsonBlock) {
  const Page p = page_of({.ctas = 24, .launches = 2});
  ASSERT_EQ(p.data.at("kernels").size(), 1u);
  const Json& k = p.data.at("kernels").at(0);
  EXPECT_EQ(k.at("profile").at("kernel"), "void copies<3>(void*, void*)");
  EXPECT_EQ(k.at("profile").at("launches"), 2);
  ASSERT_EQ(k.at("launches").size(), 2u);
  EXPECT_EQ(k.at("launches").at(0).at("grid"), Json::array({24, 1, 1}));
  EXPECT_GT(k.at("launches").at(0).at("cycles"), 500);
  EXPECT_EQ(p.data.at("timelines").size(), 2u);
  EXPECT_EQ(p.data.at("peaks").at("peak.f16").at("source"), "a <source> & more");
}

// The roof of a kernel is that of what it multiplies: no other stands in where the machine has no number for it.
TEST(Report, NamesTheKindsOfMatrixInstructions) {
  const std::pair<const char*, const char*> cases[] = {
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, "
       "{%f0, %f1, %f2, %f3};",
       "tf32"},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, "
       "{%f0, %f1, %f2, %f3};",
       "f16"},
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d0}, {%d1}, {%d0, %d1};", "other"},
  };
  for (const auto& [instruction, kind] : cases) {
    observe::Report report({});
    observe::Profile profile;
    RunPtx machine(std::string(".visible .entry k() {\n.reg .f32 %f<4>; .reg .b32 %r<4>; .reg .f64 %d<2>;\n"
                               "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
                               "mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;\n"
                               "mov.f64 %d0, 0d0000000000000000; mov.f64 %d1, %d0;\n") +
                   instruction + "\nret;\n}\n");
    machine.gpu.options.observers = report.observers();
    machine.gpu.options.observers.push_back(&profile);
    machine.launch("k", {1, 1, 1}, {32, 1, 1});
    std::ostringstream out;
    report.write(out, profile.kernels(), {}, [](const std::string&) { return std::nullopt; });
    EXPECT_EQ(parts_of(out.str()).data.at("kernels").at(0).at("matrix_kinds"), Json::array({kind})) << instruction;
  }
}

TEST(Report, SpansOfARowFollowEachOtherWithinTheLaunch) {
  const Page p = page_of({.ctas = 8});
  const Json& t = p.data.at("timelines").at(0);
  const int64_t cycles = t.at("cycles");
  size_t spans = 0;
  int sm = -1;
  for (const Json& row : t.at("rows")) {
    EXPECT_GE(row.at("sm"), sm) << "an SM's rows stand together";
    sm = row.at("sm");
    int64_t time = 0, end = -1;
    for (size_t i = 0; i < row.at("count"); ++i, ++spans) {
      time += at(row.at("begin"), i);
      EXPECT_GE(time, std::max<int64_t>(end, 0)) << row.at("name");
      end = time + at(row.at("length"), i);
      EXPECT_LE(end, cycles);
      EXPECT_LT(at(row.at("word"), i), int64_t(t.at("words").size()));
      EXPECT_LT(at(row.at("place"), i), int64_t(t.at("places").size()));
      EXPECT_LT(at(row.at("thread"), i), int64_t(t.at("threads").size()));
    }
  }
  // Each of four SMs shows one CTA or more of two copies, two waits and two phases.
  EXPECT_EQ(spans, 6u * t.at("ctas").size());
  EXPECT_EQ(t.at("ctas").size(), 4u);
  EXPECT_EQ(t.at("left_out"), 0);
}

TEST(Report, ArrowsLeadFromACopyToTheWaitThatItEnds) {
  const Page p = page_of({.ctas = 1});
  const Json& t = p.data.at("timelines").at(0);
  std::vector<std::pair<std::string, int64_t>> spans;  // kind of the row, end
  for (const Json& row : t.at("rows")) {
    int64_t time = 0;
    for (size_t i = 0; i < row.at("count"); ++i) {
      time += at(row.at("begin"), i);
      spans.emplace_back(row.at("kind"), time + at(row.at("length"), i));
    }
  }
  const Json &from = t.at("arrows").at("from"), &to = t.at("arrows").at("to");
  ASSERT_EQ(from.size(), 2u);
  ASSERT_EQ(to.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const auto& [kind, end] = spans.at(from[i]);
    const auto& [waiting, ended] = spans.at(to[i]);
    EXPECT_EQ(kind, "tma");
    EXPECT_EQ(waiting, "warp");
    EXPECT_LE(end, ended);
  }
}

TEST(Report, KeepsToItsLimits) {
  const Page few = page_of({.ctas = 8, .launches = 3, .limits = {.sms = 2, .kernels = 1}});
  ASSERT_EQ(few.data.at("timelines").size(), 1u);
  EXPECT_EQ(few.data.at("timelines").at(0).at("rows").back().at("sm"), 1);
  const Json& launches = few.data.at("kernels").at(0).at("launches");
  EXPECT_EQ(launches.at(0).at("timeline"), 0);
  EXPECT_FALSE(launches.at(1).contains("timeline"));
  const Page many = page_of({.ctas = 1, .launches = 40});
  EXPECT_EQ(many.data.at("kernels").at(0).at("launches").size(), 32u);
  EXPECT_EQ(many.data.at("kernels").at(0).at("launches_left_out"), 8);
}

TEST(Report, ALongTimelineIsCutAtOneMomentForAllRows) {
  observe::KernelTimeline t;
  t.end = 100;
  for (uint32_t sm = 0; sm < 2; ++sm)
    for (uint64_t i = 0; i < 10; ++i) {
      observe::Span s;
      s.track = {observe::Track::Kind::tma, sm, 0, 0};
      s.begin = 10 * i;
      s.end = 10 * i + 5;
      t.spans.push_back(s);
    }
  t.left_out = 3;
  t.arrows = {{0, 1}, {0, 9}};
  const Json cut = observe::timeline_json(t, 8);
  EXPECT_EQ(cut.at("shown_until"), 40);
  EXPECT_EQ(cut.at("left_out"), 12 + 3);
  for (const Json& row : cut.at("rows")) EXPECT_EQ(row.at("count"), 4);
  EXPECT_EQ(cut.at("arrows").at("to"), Json::array({1})) << "the other leads to a span that is not shown";
  const Json whole = observe::timeline_json(t, 20);
  EXPECT_FALSE(whole.contains("shown_until"));
  EXPECT_EQ(whole.at("left_out"), 3);
}

TEST(Report, NothingThatComesInIsMarkup) {
  Diagnosis d;
  d.code = "made-up";
  d.message = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  d.help = "a \"quoted\" 'word' & <b>";
  d.where.cuda_file = "/src/<i>.cu";
  d.where.cuda_line = 2;
  d.where.ptx_text = "<u>";
  d.where.ptx_line = 1;
  const Page p = page_of({.diagnoses = {d}, .command = "<!--<script>{{data}}"});
  EXPECT_THAT(p.text, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(p.text, Not(HasSubstr("<img")));
  EXPECT_THAT(p.text, Not(HasSubstr("<!--")));
  EXPECT_THAT(p.text, Not(HasSubstr("copies<3>")));
  EXPECT_THAT(p.before_data, HasSubstr("void copies&lt;3&gt;(void*, void*)"));
  EXPECT_THAT(p.before_data, HasSubstr("&lt;!--&lt;script&gt;{{data}}")) << "what comes in is not filled in again";
  EXPECT_THAT(p.before_data, HasSubstr("a &quot;quoted&quot; &#39;word&#39; &amp; &lt;b&gt;"));
  EXPECT_THAT(p.before_data, HasSubstr("&lt;u&gt;"));
  EXPECT_EQ(p.data.at("run").at("command"), "<!--<script>{{data}}");
  size_t scripts = 0;
  for (size_t i = 0; (i = p.text.find("</script", i)) != std::string::npos; ++i) ++scripts;
  EXPECT_EQ(scripts, 2u);
}

TEST(Report, TextThatIsNotUtf8IsStillADocument) {
  const std::string text = observe::script({{"name", "\xff\xfe<"}});
  EXPECT_EQ(Json::parse(text).at("name"), "\uFFFD\uFFFD<");
  EXPECT_EQ(observe::html(std::string_view("a\0b", 3)), "a\uFFFDb");
}

TEST(Report, IsReadWithoutAScriptAndFetchesNothing) {
  Diagnosis d;
  d.code = "mbarrier-misaligned";
  d.message = "an mbarrier at 0x3";
  d.where.kernel = kMangled;
  d.where.cuda_file = "/src/a.cu";
  d.where.cuda_line = 2;
  const Page p = page_of({.diagnoses = {d, d}});
  EXPECT_THAT(p.before_data, HasSubstr("<caption>"));
  EXPECT_THAT(p.before_data, HasSubstr("a.cu:2</span> two &lt; 3 &amp;&amp; &quot;x&quot;"));
  EXPECT_THAT(p.before_data, HasSubstr("Declare it as uint64_t"));
  const std::string explain = "gen5 explain mbarrier-misaligned";
  const size_t first = p.before_data.find(explain);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(p.before_data.find(explain, first + 1), std::string::npos) << "a code is explained once";
  EXPECT_THAT(p.text, HasSubstr("default-src 'none'"));
  for (const char* resource : {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"})
    EXPECT_THAT(p.text, HasSubstr(resource));
  std::string rest = p.text;
  for (size_t i; (i = rest.find("http://www.w3.org/")) != std::string::npos;) rest.erase(i, 18);
  EXPECT_THAT(rest, Not(HasSubstr("http:")));
  EXPECT_THAT(rest, Not(HasSubstr("https:")));
}

TEST(Report, SaysWhatEndedALaunch) {
  const Page p = page_of({.fault = true});
  const Json& launches = p.data.at("kernels").at(0).at("launches");
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_FALSE(launches.at(0).contains("fault"));
  EXPECT_TRUE(launches.at(1).contains("fault"));
  EXPECT_FALSE(launches.at(1).contains("cycles"));
  EXPECT_EQ(p.data.at("timelines").at(1).at("ctas").size(), 1u) << "it was on its SM to the end";
  EXPECT_THAT(p.before_data, HasSubstr("<li class=\"error\">"));
  EXPECT_THAT(p.before_data, Not(HasSubstr(">stopped<"))) << "one launch has a length";
  EXPECT_THAT(page_of({.launches = 0, .fault = true}).before_data, HasSubstr(">stopped<"));
}

TEST(Report, BoundsItsDiagnoses) {
  Diagnosis d;
  d.code = "made-up";
  const Page p = page_of({.diagnoses = std::vector<Diagnosis>(203, d)});
  EXPECT_THAT(p.before_data, HasSubstr("3 more are left out"));
}

observe::KernelProfile costly(const std::string& file, std::vector<int> lines) {
  observe::KernelProfile k;
  for (const int n : lines) {
    observe::LineCost& c = k.lines[file + std::to_string(n)];
    c.file = file;
    c.line = n;
    c.issued = 1;
  }
  return k;
}

TEST(Report, QuotesCostlyLinesWithSomeAroundThem) {
  std::string text;
  for (int i = 1; i <= 40; ++i) text += "line " + std::to_string(i) + "\r\n";
  text += "no newline";
  int reads = 0;
  diagnosis::SourceFiles files([&](const std::string& path) -> std::optional<std::string> {
    ++reads;
    if (path == "a") return text;
    return std::nullopt;
  });
  const auto numbers = [&](std::vector<int> lines) {
    std::vector<int> out;
    const Json source = observe::source_of(costly("a", lines), files);
    for (const Json& line : source.at(0).at("lines")) out.push_back(line.at(0));
    return out;
  };
  EXPECT_THAT(numbers({5}), ElementsAre(3, 4, 5, 6, 7));
  EXPECT_THAT(numbers({1, 8}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)) << "two lines are not worth a mark";
  EXPECT_THAT(numbers({1, 20}), ElementsAre(1, 2, 3, 18, 19, 20, 21, 22));
  EXPECT_THAT(numbers({41}), ElementsAre(39, 40, 41));
  EXPECT_EQ(files.line("a", 40), "line 40");
  EXPECT_EQ(files.line("a", 41), "no newline");
  EXPECT_EQ(files.line("a", 42), std::nullopt);
  EXPECT_EQ(files.line("a", 0), std::nullopt);
  EXPECT_EQ(observe::source_of(costly("nowhere", {1}), files), Json::array());
  EXPECT_EQ(reads, 2) << "a file is read once";
}

TensorBox box_of(Swizzle swizzle, uint32_t inner, uint32_t rows) {
  TensorBox b;
  b.map.rank = 2;
  b.map.element = TensorElement::bf16;
  b.map.bits = 16;
  b.map.box[0] = inner;
  b.map.box[1] = rows;
  b.map.step[0] = b.map.step[1] = 1;
  b.map.swizzle = swizzle;
  return b;
}

// Rows of the figures "128-byte swizzle mode", "64-byte" and "32-byte" in PTX ISA 5.5.6, which number the 16-byte
// chunks of what lies where.
TEST(BankPicture, IsTheSwizzlesOfThePtxIsa) {
  const Json b128 = observe::bank_picture(box_of(Swizzle::b128, 64, 64), 0x400);
  const int expected[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5},
                              {3, 2, 1, 0, 7, 6, 5, 4}, {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
                              {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
  ASSERT_EQ(b128.at("banks").size(), 16u);
  for (size_t row = 0; row < 8; ++row) EXPECT_EQ(b128.at("banks").at(row), Json(expected[row])) << row;
  EXPECT_EQ(b128.at("banks").at(8), b128.at("banks").at(0));
  EXPECT_EQ(b128.at("rows"), 64);
  EXPECT_EQ(b128.at("column_passes"), 1);
  const Json b64 = observe::bank_picture(box_of(Swizzle::b64, 32, 8), 0);
  EXPECT_EQ(b64.at("banks").at(0), Json::array({0, 1, 2, 3}));
  EXPECT_EQ(b64.at("banks").at(1), Json::array({4, 5, 6, 7}));
  EXPECT_EQ(b64.at("banks").at(2), Json::array({1, 0, 3, 2}));
  EXPECT_EQ(b64.at("column_passes"), 1);
  const Json b32 = observe::bank_picture(box_of(Swizzle::b32, 16, 8), 0);
  EXPECT_EQ(b32.at("banks").at(4), Json::array({1, 0}));
  EXPECT_EQ(b32.at("column_passes"), 1);
}

TEST(BankPicture, CountsThePassesOfAColumnWithoutSwizzle) {
  EXPECT_EQ(observe::bank_picture(box_of(Swizzle::none, 64, 8), 0).at("column_passes"), 8) << "rows of 128 bytes";
  EXPECT_EQ(observe::bank_picture(box_of(Swizzle::none, 32, 8), 0).at("column_passes"), 4) << "rows of 64 bytes";
  EXPECT_EQ(observe::bank_picture(box_of(Swizzle::none, 8, 8), 0).at("column_passes"), 1) << "rows of 16 bytes";
  EXPECT_FALSE(observe::bank_picture(box_of(Swizzle::none, 64, 4), 0).contains("column_passes")) << "fewer than 8 rows";
  const Json wide = observe::bank_picture(box_of(Swizzle::none, 256, 8), 0);
  EXPECT_EQ(wide.at("banks").at(0).size(), 16u);
  EXPECT_EQ(wide.at("row_bytes"), 512);
}

}  // namespace
}  // namespace tinygpu::test
