// Probes 03 and 04, run on tinygpu with the b200 profile, give back published figures and, where there are none, the
// profile's.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/tinygpu/timing/profile.h"
#include "tests/support/run_probe.h"

namespace {

/// Within 2 % or one cycle.
void expect_about(const std::map<std::string, double>& got, const std::string& name, double want) {
  ASSERT_TRUE(got.contains(name)) << name;
  EXPECT_NEAR(got.at(name), want, std::max(1.0, 0.02 * want)) << name;
}
/// Intervals are averages over a burst: within 2 % or a tenth of a cycle.
void expect_interval(const std::map<std::string, double>& got, const std::string& name, double want) {
  ASSERT_TRUE(got.contains(name)) << name;
  EXPECT_NEAR(got.at(name), want, std::max(0.1, 0.02 * want)) << name;
}

// Published of a B300 (QuickRunCUDA catalogue): 253 cycles for either, 128 columns; 1.9 and 12 for waits that have
// nothing to wait for; the loads and stores below.
TEST(Published, AllocationAndWaits) {
  const auto alloc = gen5::test::run_probe(GEN5_PROBE_03, "b200");
  expect_about(alloc, "alloc/128", 253);
  expect_about(alloc, "dealloc/128", 253);
  const auto access = gen5::test::run_probe(GEN5_PROBE_04, "b200");
  expect_about(access, "wait_ld_idle", 1.9);
  expect_about(access, "wait_st_idle", 12);
}

TEST(Published, AccessIntervals) {
  const auto got = gen5::test::run_probe(GEN5_PROBE_04, "b200");
  expect_interval(got, "ld_interval/32x32b_x1/warps:1", 7.47);
  expect_interval(got, "ld_interval/32x32b_x2/warps:1", 7.47);
  expect_interval(got, "ld_interval/32x32b_x4/warps:1", 12.96);
  expect_interval(got, "ld_interval/32x32b_x8/warps:1", 21.46);
  expect_interval(got, "ld_interval/32x32b_x16/warps:1", 38.47);
  expect_interval(got, "st_interval/32x32b_x4/warps:1", 3.38);
  expect_interval(got, "st_interval/32x32b_x64/warps:1", 49.8);
  // A quarter has one path: an access to it costs the same from four warps, and from eight that share the quarters.
  expect_interval(got, "ld_interval/32x32b_x16/warps:4", 38.47);
  expect_interval(got, "ld_interval/32x32b_x16/warps:8", 38.47);
}

// No figures of these are published: that they take the profile's own numbers only shows that each reaches the clock.
TEST(Plumbing, AllocationCosts) {
  const tinygpu::MachineSpec b200 = tinygpu::load_profile("b200");
  const auto got = gen5::test::run_probe(GEN5_PROBE_03, "b200");
  for (const char* columns : {"32", "64", "256", "512"}) {
    expect_about(got, std::string("alloc/") + columns, b200.number("tcgen05.alloc"));
    expect_about(got, std::string("dealloc/") + columns, b200.number("tcgen05.dealloc"));
  }
  expect_about(got, "relinquish", b200.number("tcgen05.relinquish"));
  expect_about(got, "alloc_contended", b200.number("tcgen05.alloc.contended"));
  expect_about(got, "alloc_pair", b200.number("tcgen05.alloc"));
  expect_about(got, "dealloc_pair", b200.number("tcgen05.dealloc"));
}

TEST(Plumbing, LongAccesses) {
  const tinygpu::MachineSpec b200 = tinygpu::load_profile("b200");
  const auto got = gen5::test::run_probe(GEN5_PROBE_04, "b200");
  const auto ld = [&](double n) {
    return b200.number("tcgen05.ld.fixed") + n * b200.number("tcgen05.ld.per_register");
  };
  expect_interval(got, "ld_interval/32x32b_x128/warps:1", ld(128));
  expect_interval(got, "ld_interval/16x256b_x8/warps:1", ld(32));
  expect_about(got, "ld_latency/32x32b_x16",
               ld(16) + b200.number("tcgen05.ld.latency") + b200.number("tcgen05.wait.ld"));
}

}  // namespace
