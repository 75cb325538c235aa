// Round trip: the probes of shared memory, mbarriers and bulk copies, run on tinygpu with the h200 profile, give back
// what an H200 measured: every row of probes/results/h200, bank conflicts among them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/run_probe.h"

namespace gen5::test {
namespace {

/// Within 2 %, or a cycle; of figures below ten cycles, which are means over many operations, an eighth of one.
double tolerance(double cycles) { return std::max(cycles < 10 ? 0.125 : 1.0, 0.02 * cycles); }

/// Rows that miss, and by how much: a model that gets worse fails, and so does one that needs its exception no more.
struct Exception {
  std::string rows;    // their names begin so
  double least, most;  // per cent
  std::string reason;
};

struct Probe {
  std::string name;
  std::vector<Exception> exceptions;
};

void PrintTo(const Probe& p, std::ostream* out) { *out << p.name; }

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all = {
      {"00_shared_memory",
       {{"load_warps/bits:128/stride:4/warps:1", 30, 36,
         "ptxas mixes the loads of a batch with the additions of the one before; tinygpu runs them in PTX's order"},
        {"load_warps/bits:128/stride:4/warps:2", 15, 21, "likewise"},
        {"store_warps/bits:128/stride:4/warps:8", 3, 4.5,
         "warps run ahead of each other by some cycles, and a full pipe delays those that are ahead"}}},
      {"00_ldmatrix", {}},
      {"01_mbarrier",
       {{"arrive_to_observe_spinning", -52, -50,
         "on the chip a polling warp hears after 100 to 180 cycles: its loop takes some 80; here it is shorter"}}},
      {"02_bulk", {{"load_latency_dram", -63, -50, "there is no cache model: all of global memory is in L2"}}},
      {"02_bulk_tensor",
       {{"load_latency_dram", -63, -50, "there is no cache model: all of global memory is in L2"},
        {"issue/prefetch", 7, 8, "costs are whole cycles: 7 for 6.5"},
        {"stages_in_flight/stages:1", 2, 3.5,
         "the instructions between a wait and the next load take longer in PTX's order than in ptxas's"},
        {"cast_latency", -4.7, -3.5,
         "the chip takes 403 to 420 cycles for one and the same load, by the code before it"},
        {"store_row/row_bytes:48/swizzle:0", -8, -7,
         "a row of one and a half sectors, every fourth of which crosses a line: 3.25 cycles, 3 here"}}}};
  return all;
}

class RoundTrip : public testing::TestWithParam<Probe> {};

TEST_P(RoundTrip, GivesWhatTheH200Measured) {
  const Probe& probe = GetParam();
  std::ifstream in(GEN5_SOURCE "/probes/results/h200/" + probe.name + ".json");
  const nlohmann::json stored = nlohmann::json::parse(in);
  const auto got = run_probe(GEN5_PROBES "/probe_" + probe.name, "h200");
  EXPECT_EQ(got.size(), stored.at("benchmarks").size());
  std::vector<size_t> used(probe.exceptions.size());
  for (const auto& row : stored.at("benchmarks")) {
    const std::string name = row.at("name");
    const double want = row.at("median");
    const auto found = got.find(name);
    ASSERT_NE(found, got.end()) << name << " is no row of the probe: measure anew";
    const double have = found->second, percent = 100 * (have / want - 1);
    const auto exception =
        std::ranges::find_if(probe.exceptions, [&](const Exception& e) { return name.starts_with(e.rows); });
    if (exception == probe.exceptions.end()) {
      EXPECT_NEAR(have, want, tolerance(want)) << fmt::format("{}: {:+.1f} %", name, percent);
      continue;
    }
    ++used[size_t(exception - probe.exceptions.begin())];
    EXPECT_GE(percent, exception->least) << name << ": " << exception->reason;
    EXPECT_LE(percent, exception->most) << name << ": " << exception->reason;
    EXPECT_GT(std::fabs(have - want), tolerance(want)) << name << " is no exception any more";
  }
  for (size_t i = 0; i < used.size(); ++i) EXPECT_GT(used[i], 0u) << "no row is named " << probe.exceptions[i].rows;
}

INSTANTIATE_TEST_SUITE_P(Probes, RoundTrip, testing::ValuesIn(probes()),
                         [](const auto& info) { return "p" + info.param.name; });

}  // namespace
}  // namespace gen5::test
