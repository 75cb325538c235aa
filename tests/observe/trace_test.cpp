// The trace as a viewer reads it.
#include "common/tinygpu/observe/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/observe/kernels.h"

namespace tinygpu::test::trace_test {
namespace {

using Json = nlohmann::json;

Json trace_of(uint32_t ctas, observe::TimelineLimits limits = {}, int launches = 1, CompletionOrder order = {}) {
  std::ostringstream out;
  {
    observe::Trace trace(out, limits);
    RunPtx machine(two_copies());
    machine.gpu.options.observers = {&trace};
    machine.gpu.options.order = order;
    const uint64_t from = machine.upload(std::vector<uint32_t>(256, 7)), to = machine.buffer<uint32_t>(1);
    for (int i = 0; i < launches; ++i) machine.launch("copies", {ctas, 1, 1}, {1, 1, 1}, from, to);
  }
  return Json::parse(out.str());
}

/// Cycles: the format counts microseconds, and a cycle is written as a nanosecond.
int64_t cycles(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

using Row = std::pair<int, int>;
Row row_of(const Json& e) { return {e.at("pid"), e.at("tid")}; }

struct Document {
  std::map<Row, std::string> names;
  std::map<Row, std::vector<Json>> spans;
  std::vector<Json> arrows, counters;
  explicit Document(const Json& trace) {
    for (const Json& e : trace.at("traceEvents")) {
      const std::string ph = e.at("ph");
      if (ph == "X") spans[row_of(e)].push_back(e);
      if (ph == "s" || ph == "f") arrows.push_back(e);
      if (ph == "C") counters.push_back(e);
      if (ph == "M" && e.at("name") == "thread_name") names[row_of(e)] = e.at("args").at("name");
    }
  }
  const std::vector<Json>& row(const std::string& name) const {
    for (const auto& [r, n] : names)
      if (n == name) return spans.at(r);
    ADD_FAILURE() << "no row " << name;
    static const std::vector<Json> none;
    return none;
  }
};

TEST(Trace, AKernelsSpanIsCalledAsItsLaunch) {
  std::ostringstream out;
  {
    observe::Trace trace(out, {});
    RunPtx machine(two_copies());
    machine.gpu.options.observers = {&trace};
    const uint64_t from = machine.upload(std::vector<uint32_t>(256, 7)), to = machine.buffer<uint32_t>(1);
    trace.name_launches("step 6");
    machine.launch("copies", {1, 1, 1}, {1, 1, 1}, from, to);
  }
  const Json trace = Json::parse(out.str());
  size_t spans = 0;
  for (const Json& e : trace.at("traceEvents"))
    if (e.at("name") == "step 6: copies") {
      ++spans;
      EXPECT_EQ(e.at("args").at("kernel"), "copies");
    }
  EXPECT_EQ(spans, 1u);
}

TEST(Trace, SpansOfARowFollowEachOther) {
  const Document d(trace_of(8));
  for (const auto& [row, spans] : d.spans) {
    EXPECT_TRUE(d.names.count(row)) << "a row without a name";
    int64_t end = -1;
    for (const Json& s : spans) {
      EXPECT_GE(cycles(s.at("ts")), end) << s;
      EXPECT_GT(cycles(s.at("dur")), 0) << s;
      end = cycles(s.at("ts")) + cycles(s.at("dur"));
    }
  }
}

TEST(Trace, CountsTrafficOfL2AndDeviceMemory) {
  std::ostringstream out;
  {
    observe::Trace trace(out, {});
    RunPtx machine(two_copies());
    machine.gpu.options.observers = {&trace};
    const uint64_t from = machine.buffer<uint32_t>(256), to = machine.buffer<uint32_t>(1);
    machine.launch("copies", {1, 1, 1}, {1, 1, 1}, from, to);
  }
  double l2 = 0, device = 0;
  int64_t last = -1;
  Json end;
  for (const Json& e : Document(Json::parse(out.str())).counters) {
    if (e.at("name") != "bytes a cycle") continue;
    EXPECT_GT(cycles(e.at("ts")), last) << "a counter has one value at a time";
    last = cycles(e.at("ts"));
    l2 += 256 * e.at("args").at("L2").get<double>();
    device += 256 * e.at("args").at("device memory").get<double>();
    end = e.at("args");
  }
  EXPECT_EQ(l2, 2 * 1024 + 32) << "both copies and a word's sector";
  EXPECT_EQ(device, 1024) << "the first copy brings the lines in";
  EXPECT_EQ(end.at("L2"), 0) << "the last value stands for ever";
}

TEST(Trace, ShowsCopiesWaitsAndPhases) {
  const Document d(trace_of(1));
  const auto& copies = d.row("TMA");
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].at("name"), "cp.async.bulk load");
  EXPECT_EQ(copies[0].at("args").at("bytes"), 1024);
  EXPECT_NE(copies[0].at("args").at("ptx").get<std::string>().find("cp.async.bulk.shared::cluster"), std::string::npos);
  const auto& waits = d.row("CTA slot 0 warp 0: TMA producer");
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].at("name").get<std::string>().substr(0, 8), "mbarrier");
  EXPECT_NE(waits[0].at("args").at("ptx").get<std::string>().find("mbarrier.try_wait"), std::string::npos);
  int phases = 0;
  for (const auto& [row, name] : d.names)
    if (name.find("mbarrier full") != std::string::npos) phases += int(d.spans.at(row).size());
  EXPECT_EQ(phases, 2);
}

TEST(Trace, ArrowsLeadFromACopyToTheWaitThatItEnds) {
  const Document d(trace_of(1));
  ASSERT_EQ(d.arrows.size(), 4u);
  const auto within = [&](const Json& arrow, const std::string& name) {
    for (const Json& s : d.row(name))
      if (row_of(s) == row_of(arrow) && cycles(s.at("ts")) <= cycles(arrow.at("ts")) &&
          cycles(arrow.at("ts")) < cycles(s.at("ts")) + cycles(s.at("dur")))
        return true;
    return false;
  };
  for (size_t i = 0; i < d.arrows.size(); i += 2) {
    const Json &start = d.arrows[i], &finish = d.arrows[i + 1];
    EXPECT_EQ(start.at("ph"), "s");
    EXPECT_EQ(finish.at("ph"), "f");
    EXPECT_EQ(start.at("id"), finish.at("id"));
    EXPECT_LE(cycles(start.at("ts")), cycles(finish.at("ts")));
    EXPECT_TRUE(within(start, "TMA")) << start;
    EXPECT_TRUE(within(finish, "CTA slot 0 warp 0: TMA producer")) << finish;
  }
}

TEST(Trace, CountersReturnToNothing) {
  const Document d(trace_of(8));
  std::map<int, int64_t> last, most;
  for (const Json& c : d.counters)
    if (c.at("name") == "bytes in flight") {
      last[c.at("pid")] = c.at("args").at("TMA");
      most[c.at("pid")] = std::max<int64_t>(most[c.at("pid")], c.at("args").at("TMA"));
    }
  ASSERT_FALSE(last.empty());
  for (const auto& [pid, bytes] : last) EXPECT_EQ(bytes, 0);
  for (const auto& [pid, bytes] : most) EXPECT_EQ(bytes, 1024);
}

TEST(Trace, KeepsToItsLimits) {
  const auto sms = [](const Document& d) {
    std::set<int> out;
    for (const auto& [row, spans] : d.spans) out.insert(row.first);
    return out.size();
  };
  EXPECT_EQ(sms(Document(trace_of(8, {.sms = 2}))), 2u);
  EXPECT_EQ(sms(Document(trace_of(8))), 4u);
  EXPECT_EQ(Document(trace_of(1, {.kernels = 2}, 3)).row("kernel").size(), 2u);
  const Document cut(trace_of(1, {.spans = 3}));
  EXPECT_GT(cut.row("kernel")[0].at("args").at("spans left out"), 0);
}

TEST(Trace, IsADocumentInEveryOrder) {
  for (const auto mode : {CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    const Document d(trace_of(8, {}, 1, {mode, 5}));
    EXPECT_EQ(d.row("TMA").size(), 2u);
  }
}

}  // namespace
}  // namespace tinygpu::test::trace_test
