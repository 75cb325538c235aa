// The probes of chapters 06 to 10, compiled by nvcc, run on tinygpu with the b200 profile. KindProbes: bursts,
// intervals and copies take what a B200 was measured to take (SemiAnalysisAI/microbench-blackwell and others).
// Plumbing: no figures of these are published; that they take what the profile's numbers make by the model's own rules
// only shows that each number reaches the clock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/published.h"
#include "tests/support/run_probe.h"

namespace gen5::test {
namespace {

/// Median cycles of bursts: what the rows of a format in the published tables say that the probe has too.
void expect_published(const std::map<std::string, double>& probe, const std::string& format, size_t least) {
  double sum = 0, worst = 0;
  size_t count = 0;
  for (const auto& f : tinygpu::test::published_rows(GEN5_SOURCE_DIR, "tput_results_full.csv")) {
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

/// Cycles from one MMA to the next that the authors of the tables fitted to their bursts: all that the probe has too.
void expect_published_intervals(const std::map<std::string, double>& probe, const std::string& format,
                                const std::string& name, size_t least) {
  size_t count = 0;
  for (const auto& f : tinygpu::test::published_rows(GEN5_SOURCE_DIR, "fit_results.csv")) {
    if (f[0] != format || f[1] != "SS" || f[2] != "1") continue;
    const auto found = probe.find(fmt::format(fmt::runtime(name), f[3], f[4]));
    if (found == probe.end()) continue;
    const double published = std::stod(f[7]);
    EXPECT_NEAR(found->second, published, std::max(1.0, 0.02 * published)) << format << " " << f[3] << " " << f[4];
    ++count;
  }
  EXPECT_GE(count, least) << name;
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
  expect_published_intervals(probe, "E4M3", "interval_e4m3/{}/{}", 6);
  expect_published_intervals(probe, "S8", "interval_s8/{}/{}", 6);
}

TEST(Plumbing, AccumulatorsOfF16) {
  const auto probe = run_probe(GEN5_PROBE_06, "b200");
  for (const int m : {64, 128})
    for (const int n : {16, 64, 128, 256}) {
      expect_near(row(probe, fmt::format("interval_f16_in_f16/{}/{}", m, n)),
                  std::max(columns(n), bytes(32.0 * m + 32.0 * n)), "f16");
      if (n > 16)  // below, the thread does not issue as fast
        expect_near(row(probe, fmt::format("interval_f16_in_f16_tmem/{}/{}", m, n)),
                    std::max(columns(n), bytes(32.0 * n)), "A in Tensor Memory");
    }
}

// Published of a B200: 51.3 cycles for 2 KB, 68 to 75 for 4 KB (notes/evidence.md has the sources).
TEST(KindProbes, Copies) {
  const auto probe = run_probe(GEN5_PROBE_07, "b200");
  EXPECT_NEAR(row(probe, "interval/128x128b"), 51.3, 3);
  EXPECT_NEAR(row(probe, "interval/128x256b"), 71.5, 3.5);
}

TEST(Plumbing, CopiesOfOtherShapes) {
  const auto probe = run_probe(GEN5_PROBE_07, "b200");
  const double fixed = number("tcgen05.cp.fixed"), rate = number("tcgen05.cp.bytes_per_cycle");
  // All copies of a multicast count.
  const std::pair<const char*, double> shapes[] = {
      {"4x256b", 4 * 32}, {"64x128b_warpx2", 2 * 64 * 16}, {"32x128b_warpx4", 4 * 32 * 16}};
  for (const auto& [shape, written] : shapes)
    expect_near(row(probe, fmt::format("interval/{}", shape)), fixed + written / rate, shape);
}

TEST(KindProbes, BlockScales) {
  const auto probe = run_probe(GEN5_PROBE_08, "b200");
  for (const char* format : {"MXF8", "MXF4"}) expect_published(probe, format, 3);
  expect_published_intervals(probe, "MXF8", "interval_mxf8f6f4/{1}", 3);
}

TEST(Plumbing, BlockScalesOfFourBits) {
  const auto probe = run_probe(GEN5_PROBE_08, "b200");
  for (const int n : {64, 128, 192, 256})
    for (const char* kind : {"mxf4", "mxf4nvf4"})
      expect_near(row(probe, fmt::format("interval_{}/{}", kind, n)),
                  std::max(columns(n), bytes(32.0 * 128 + 32.0 * n)), kind);
}

// B is twice as deep (estimated: notes/evidence.md).
TEST(Plumbing, Sparse) {
  const auto probe = run_probe(GEN5_PROBE_09, "b200");
  for (const int m : {64, 128})
    for (const int n : {64, 128, 256})
      for (const char* kind : {"f16", "f8f6f4"})
        expect_near(row(probe, fmt::format("interval/{}/{}/{}", kind, m, n)),
                    std::max(columns(n), bytes(32.0 * m + 64.0 * n)), kind);
}

// As many cells of D in a cycle as with 128 rows (estimated).
TEST(Plumbing, WeightStationary) {
  const auto probe = run_probe(GEN5_PROBE_10, "b200");
  for (const int m : {32, 64, 128})
    for (const int n : {64, 128, 256})
      for (const char* use : {"discard", "fill"})
        expect_near(row(probe, fmt::format("interval/{}/{}/{}", use, m, n)),
                    std::max(columns(n) * m / 128, bytes(32.0 * m + 32.0 * n)), use);
}

}  // namespace
}  // namespace gen5::test
