// The probes of chapters 06 to 10, compiled by nvcc, run on tinygpu with the b200 profile. Bursts give back what a B200
// was measured to take (SemiAnalysisAI/microbench-blackwell); intervals that nobody has published give back what the
// profile's numbers make by the rules written down here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/run_probe.h"

namespace gen5::test {
namespace {

/// Median cycles of bursts: what the rows of a format in the published tables say that the probe has too.
void expect_published(const std::map<std::string, double>& probe, const std::string& format, size_t least) {
  std::ifstream in(std::string(GEN5_SOURCE_DIR) + "/../shared/data/b200/tput_results_full.csv");
  if (!in) GTEST_SKIP() << "../shared/data/b200 is not here";
  std::string line;
  std::getline(in, line);
  double sum = 0, worst = 0;
  size_t count = 0;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string f[10];
    for (auto& x : f) std::getline(fields, x, ',');
    if (f[0] != format || f[1] != "SS" || f[2] != "1") continue;
    const auto found = probe.find(fmt::format("burst_{}/{}/{}/{}", format, f[3], f[4], f[6]));
    if (found == probe.end()) continue;
    const double measured = std::stod(f[8]) * std::stod(f[6]), error = std::fabs(found->second - measured) / measured;
    sum += error;
    worst = std::max(worst, error);
    ++count;
  }
  EXPECT_GE(count, least) << format;
  EXPECT_LT(sum / double(count), 0.01) << format;
  EXPECT_LT(worst, 0.06) << format;
}

double row(const std::map<std::string, double>& probe, const std::string& name) {
  const auto found = probe.find(name);
  EXPECT_NE(found, probe.end()) << name;
  return found == probe.end() ? 0 : found->second;
}

/// A number of the profile.
double number(const std::string& name) {
  std::ifstream in(std::string(GEN5_SOURCE_DIR) + "/probes/machines/b200.json");
  return nlohmann::json::parse(in).at("numbers").at(name).at("value");
}
/// Cycles that N columns of D take, and those that so many bytes of operands do.
double columns(double n) { return n / number("tcgen05.mma.columns_per_cycle"); }
double bytes(double b) { return b / number("tcgen05.mma.smem_bytes_per_cycle"); }

void expect_near(double have, double want, const std::string& what) {
  EXPECT_NEAR(have, want, std::max(1.0, 0.02 * want)) << what;
}

TEST(KindProbes, OperandsOfAByte) {
  const auto probe = run_probe(GEN5_PROBE_06, "b200");
  for (const char* format : {"E4M3", "F4", "S8"}) expect_published(probe, format, 6);
  // A kind's K is 32 bytes: all take bf16's time for their bytes and columns.
  for (const int m : {64, 128})
    for (const int n : {16, 64, 128, 256}) {
      const double want = std::max(columns(n), bytes(32.0 * m + 32.0 * n));
      expect_near(row(probe, fmt::format("interval_e4m3/{}/{}", m, n)), want, "e4m3");
      expect_near(row(probe, fmt::format("interval_s8/{}/{}", m, n)), want, "s8");
      expect_near(row(probe, fmt::format("interval_f16_in_f16/{}/{}", m, n)), want, "f16");
      if (n > 16)  // below, the thread does not issue as fast
        expect_near(row(probe, fmt::format("interval_f16_in_f16_tmem/{}/{}", m, n)),
                    std::max(columns(n), bytes(32.0 * n)), "A in Tensor Memory");
    }
}

TEST(KindProbes, Copies) {
  const auto probe = run_probe(GEN5_PROBE_07, "b200");
  const double fixed = number("tcgen05.cp.fixed"), rate = number("tcgen05.cp.bytes_per_cycle");
  // All copies of a multicast count.
  const std::pair<const char*, double> shapes[] = {{"128x256b", 128 * 32},
                                                   {"128x128b", 128 * 16},
                                                   {"4x256b", 4 * 32},
                                                   {"64x128b_warpx2", 2 * 64 * 16},
                                                   {"32x128b_warpx4", 4 * 32 * 16}};
  for (const auto& [shape, written] : shapes)
    expect_near(row(probe, fmt::format("interval/{}", shape)), fixed + written / rate, shape);
}

TEST(KindProbes, BlockScales) {
  const auto probe = run_probe(GEN5_PROBE_08, "b200");
  for (const char* format : {"MXF8", "MXF4"}) expect_published(probe, format, 3);
  for (const int n : {64, 128, 192, 256})
    for (const char* kind : {"mxf8f6f4", "mxf4", "mxf4nvf4"})
      expect_near(row(probe, fmt::format("interval_{}/{}", kind, n)),
                  std::max(columns(n), bytes(32.0 * 128 + 32.0 * n)), kind);
}

// B is twice as deep (estimated: notes/evidence.md).
TEST(KindProbes, Sparse) {
  const auto probe = run_probe(GEN5_PROBE_09, "b200");
  for (const int m : {64, 128})
    for (const int n : {64, 128, 256})
      for (const char* kind : {"f16", "f8f6f4"})
        expect_near(row(probe, fmt::format("interval/{}/{}/{}", kind, m, n)),
                    std::max(columns(n), bytes(32.0 * m + 64.0 * n)), kind);
}

// As many cells of D in a cycle as with 128 rows (estimated).
TEST(KindProbes, WeightStationary) {
  const auto probe = run_probe(GEN5_PROBE_10, "b200");
  for (const int m : {32, 64, 128})
    for (const int n : {64, 128, 256})
      for (const char* use : {"discard", "fill"})
        expect_near(row(probe, fmt::format("interval/{}/{}/{}", use, m, n)),
                    std::max(columns(n) * m / 128, bytes(32.0 * m + 32.0 * n)), use);
}

}  // namespace
}  // namespace gen5::test
