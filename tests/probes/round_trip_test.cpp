// Round trip: the probes of global and shared memory, mbarriers and bulk copies, run on tinygpu with the h200 profile,
// give back what an H200 measured: every row of probes/results/h200, bank conflicts among them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/run_probe.h"

namespace gen5::test {
namespace {

/// Within 2 %, or a cycle.
double tolerance(double cycles) { return std::max(1.0, 0.02 * cycles); }
/// Figures below ten cycles are means over many operations: within an eighth of a cycle.
double close(double cycles) { return cycles < 10 ? std::max(0.125, 0.02 * cycles) : tolerance(cycles); }

struct Probe {
  std::string name;
  std::vector<std::string> loose;  // rows within tolerance() only; notes/evidence.md says why
};

void PrintTo(const Probe& p, std::ostream* out) { *out << p.name; }

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all = {
      {"00_global_memory", {}},
      {"00_shared_memory", {"load_warps/bits:128/stride:4/warps:2", "load_warps/bits:128/stride:4/warps:4"}},
      {"00_ldmatrix",
       {"ldmatrix_x2/pitch:16/swizzle:0", "ldmatrix_x2/pitch:144/swizzle:0", "ldmatrix_x2/pitch:128/swizzle:1",
        "ldmatrix_x2/pitch:32/swizzle:0", "ldmatrix_x4/pitch:16/swizzle:0", "ldmatrix_x4/pitch:144/swizzle:0",
        "ldmatrix_x4/pitch:128/swizzle:1", "ldmatrix_x4/pitch:32/swizzle:0", "ldmatrix_x2_trans/pitch:16/swizzle:0",
        "ldmatrix_x2_trans/pitch:144/swizzle:0", "ldmatrix_x2_trans/pitch:128/swizzle:1",
        "ldmatrix_x2_trans/pitch:32/swizzle:0", "ldmatrix_x4_trans/pitch:16/swizzle:0",
        "ldmatrix_x4_trans/pitch:144/swizzle:0", "ldmatrix_x4_trans/pitch:128/swizzle:1",
        "ldmatrix_x4_trans/pitch:32/swizzle:0"}},
      {"01_mbarrier", {}},
      {"02_bulk", {}},
      {"02_bulk_tensor", {"issue/prefetch"}}};
  return all;
}

class RoundTrip : public testing::TestWithParam<Probe> {};

TEST_P(RoundTrip, GivesWhatTheH200Measured) {
  const Probe& probe = GetParam();
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/" + probe.name + ".json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_" + probe.name, "h200");
  EXPECT_EQ(got.size(), stored.at("benchmarks").size());
  std::set<std::string> loose(probe.loose.begin(), probe.loose.end());
  for (const auto& row : stored.at("benchmarks")) {
    const std::string name = row.at("name");
    const double want = row.at("median");
    const auto found = got.find(name);
    ASSERT_NE(found, got.end()) << name << " is no row of the probe: measure anew";
    const double have = found->second, percent = 100 * (have / want - 1);
    if (loose.erase(name)) {
      EXPECT_GT(std::fabs(have - want), close(want)) << name << " is no exception any more";
      EXPECT_NEAR(have, want, tolerance(want)) << fmt::format("{}: {:+.1f} %", name, percent);
    } else {
      EXPECT_NEAR(have, want, close(want)) << fmt::format("{}: {:+.1f} %", name, percent);
    }
  }
  for (const std::string& name : loose) ADD_FAILURE() << "no row is named " << name;
}

/// What a loop's branch back costs a warp that is alone, and the port where eight warps share it. Cold code and jumps
/// ahead are not modelled, nor code that an SM's cache does not hold (notes/evidence.md).
TEST(Fetch, TurnsOfLoops) {
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/00_fetch.json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_00_fetch", "h200");
  EXPECT_EQ(got.size(), stored.at("benchmarks").size());
  int alone = 0, shared = 0;
  for (const auto& row : stored.at("benchmarks")) {
    const std::string name = row.at("name");
    int instructions = 0, warps = 0;
    if (std::sscanf(name.c_str(), "turn/instructions:%d/warps:%d", &instructions, &warps) != 2) continue;
    ASSERT_TRUE(got.contains(name)) << name;
    const double want = row.at("median");
    if (warps == 1 && instructions >= 20) {
      EXPECT_NEAR(got.at(name), want, 0.5) << name;
      ++alone;
    } else if (warps == 32 && instructions <= 64) {
      EXPECT_NEAR(got.at(name), want, 0.05 * want) << name;
      ++shared;
    }
  }
  EXPECT_GE(alone, 12);
  EXPECT_GE(shared, 10);
}

/// Fences and the cluster's barrier on two SMs. Left out: many warps behind stores of their own, which come out up to a
/// third too fast, bulk copies of other sizes, barriers of 32 warps, whose fences come out beside each other there, the
/// system's scope with more than four warps (notes/evidence.md). One row is known to be 6 % too slow and held there:
/// the chip's memory takes the 16 KiB of one SM before those of the other, where the H200 takes both side by side.
TEST(Fences, OnTwoSms) {
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/00_fences.json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_00_fences", "h200", "everywhere:0");
  const std::vector<std::string> kinds = {"cta/nothing/warps:1/",
                                          "cluster/nothing/",
                                          "gpu/nothing/",
                                          "gpu/store/warps:1/",
                                          "gpu/store/warps:4/",
                                          "sys/nothing/warps:1/",
                                          "sys/nothing/warps:4/",
                                          "proxy_all/nothing/warps:1/",
                                          "proxy_all/store/warps:1/",
                                          "cluster_barrier_relaxed/",
                                          "cluster_barrier/nothing/",
                                          "cluster_barrier/store/warps:1/",
                                          "cluster_barrier/bulk/warps:1/",
                                          "gpu/bulk_done/warps:1/"};
  for (const std::string& kind : kinds) {
    int rows = 0;
    for (const auto& row : stored.at("benchmarks")) {
      const std::string name = row.at("name");
      if (!name.starts_with("fence/" + kind) || name.find("everywhere:0") == std::string::npos) continue;
      if (name.find("warps:32") != std::string::npos) continue;
      ASSERT_TRUE(got.contains(name)) << name;
      const double want = row.at("median");
      if (kind == "cluster_barrier/bulk/warps:1/")
        EXPECT_NEAR(got.at(name), 1.06 * want, 0.02 * want) << name;
      else
        EXPECT_NEAR(got.at(name), want, 0.05 * want) << name;
      ++rows;
    }
    EXPECT_GE(rows, 1) << kind;
  }
}

/// How far a warpgroup issues wgmmas ahead of the tensor core. Left out: the first seven, which issue every 4 to 13
/// cycles, and with 256 columns every 28 (here 8 to 14); two warpgroups, between which places are shared out otherwise
/// here (notes/evidence.md).
TEST(Wgmma, IssuesSixAhead) {
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/05_wgmma.json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_05_wgmma", "h200", "wgmma_issue/.*/groups:1/operation:(9|12|16)");
  int rows = 0;
  for (const auto& row : stored.at("benchmarks")) {
    const std::string name = row.at("name");
    if (!got.contains(name)) continue;
    EXPECT_NEAR(got.at(name), row.at("median").get<double>(), 8) << name;
    ++rows;
  }
  EXPECT_EQ(rows, 12);
}

/// GPCs, and who shares what. Left out: all of a GPC that write (13 % too slow here), four and more SMs that read the
/// same and rings of four and more copies, whose loops of waits and copies are a fifth too fast here, and SMs that read
/// the same later (notes/evidence.md, probe_00_gpc).
TEST(Gpcs, ReadAndShare) {
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/00_gpc.json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_00_gpc", "h200",
                             "gpcs|gpc_sms|gpc_read|cpc_write|shared_read/sms:(1|2|8)/|slots:2");
  const std::vector<std::pair<std::string, double>> kinds = {{"gpcs", 0},
                                                             {"gpc_sms", 0},
                                                             {"gpc_read/", 0.03},
                                                             {"cpc_write", 0.05},
                                                             {"bulk_read/tpcs:1/sms:1/slots:2", 0.05},
                                                             {"bulk_read/tpcs:1/sms:2/slots:2", 0.05},
                                                             {"shared_read/sms:1/", 0.05},
                                                             {"shared_read/sms:2/", 0.1},
                                                             {"shared_read/sms:8/apart:1", 0.05}};
  for (const auto& [kind, share] : kinds) {
    int rows = 0;
    for (const auto& row : stored.at("benchmarks")) {
      const std::string name = row.at("name");
      if (!name.starts_with(kind)) continue;
      ASSERT_TRUE(got.contains(name)) << name;
      const double want = row.at("median");
      EXPECT_NEAR(got.at(name), want, share * want) << name;
      ++rows;
    }
    EXPECT_GE(rows, 1) << kind;
  }
}

/// What copies by multicast bring into SMs. Left out: all SMs whose clusters copy everything for all of their CTAs, or
/// the same as others, which get a tenth less on the chip (notes/evidence.md).
TEST(Multicast, ComesIntoAnSmInItsTurn) {
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/00_l2_multicast.json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const std::string everywhere = "cluster:2/own_quarters:2/everywhere:1/same:1";
  const auto got = run_probe(GEN5_PROBES "/probe_00_l2_multicast", "h200", "everywhere:0|" + everywhere);
  int rows = 0;
  for (const auto& row : stored.at("benchmarks")) {
    const std::string name = row.at("name");
    const bool few = name.find("everywhere:0") != std::string::npos;
    if (!few && name.find(everywhere) == std::string::npos) continue;
    ASSERT_TRUE(got.contains(name)) << name;
    const double want = row.at("median");
    EXPECT_NEAR(got.at(name), want, (few ? 0.03 : 0.08) * want) << name;
    ++rows;
  }
  EXPECT_EQ(rows, 8);
}

TEST(Setmaxnreg, TakesItsTime) {
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/00_setmaxnreg.json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_00_setmaxnreg", "h200");
  EXPECT_EQ(got.size(), stored.at("benchmarks").size());
  for (const auto& row : stored.at("benchmarks"))
    EXPECT_NEAR(got.at(row.at("name")), double(row.at("median")), 20) << std::string(row.at("name"));
}

/// Hand-overs by counters, fences beside loads, and grids of a graph. Left out: CTAs of 128 threads, a counter that
/// lies far from its SM, turns beside loads, and fences beside more than three pages (notes/evidence.md).
TEST(HandOvers, ByCountersAndGrids) {
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/16_handover.json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_16_handover", "h200",
                             "turn|raise|passed/re|grid_(graph|dep)|fence_behind|within/(fence|release)/pages:(0|3)");
  const std::vector<std::pair<std::string, double>> kinds = {
      {"turn/relaxed/ctas:0", 0.01},           {"turn/acquire/ctas:0", 0.01},
      {"turn/relaxed/load/ctas:0", 0.03},      {"raise/ctas:0/shared:0/release:1", 0.02},
      {"passed/red/relaxed/pairs:0", 0.06},    {"grid_graph", 0.02},
      {"grid_dependent_graph", 0.02},          {"within/release/pages:0", 0.02},
      {"within/release/pages:3", 0.05},        {"within/fence/pages:3", 0.08},
      {"fence_behind/load/pause:0", 0.01},     {"fence_behind/bulk/pause:3000", 0.01},
      {"passed/release/acquire/pairs:0", 0.05}};
  for (const auto& [name, share] : kinds) {
    const auto row =
        std::ranges::find(stored.at("benchmarks"), name, [](const auto& b) { return std::string(b.at("name")); });
    ASSERT_NE(row, stored.at("benchmarks").end()) << name;
    ASSERT_TRUE(got.contains(name)) << name;
    const double want = row->at("median");
    EXPECT_NEAR(got.at(name), want, share * want) << name;
  }
}

/// A layer's five grids that stream pages, and the hand-over in a graph of dependent grids. Left out: dependent grids
/// that stream, which end up to a sixth too late here, and those of a stream (notes/evidence.md).
TEST(Grids, ThatStreamALayer) {
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/16_grids.json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_16_grids", "h200", "layer/by:[01]/.*part:3|passed/graph:1/ctas:0");
  int rows = 0;
  for (const auto& row : stored.at("benchmarks")) {
    const std::string name = row.at("name");
    if (!got.contains(name)) continue;
    const double want = row.at("median");
    EXPECT_NEAR(got.at(name), want, (name.starts_with("layer") ? 0.08 : 0.15) * want) << name;
    ++rows;
  }
  EXPECT_EQ(rows, 12);
}

INSTANTIATE_TEST_SUITE_P(Probes, RoundTrip, testing::ValuesIn(probes()),
                         [](const auto& info) { return "p" + info.param.name; });

}  // namespace
}  // namespace gen5::test
