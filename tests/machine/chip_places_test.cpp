// Where SMs lie, in which order they are given CTAs, and what they share on their way to L2.
#include "common/tinygpu/timing/chip_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/tinygpu/machine/memory/chip_memory.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

using testing::ElementsAre;

TEST(ChipPlaces, GpcsTakeTpcsInTurns) {
  const auto places = chip_places(132, 8, 3);
  std::map<uint32_t, int> gpcs, cpcs;
  for (const ChipPlace& p : places) ++gpcs[p.gpc], ++cpcs[p.cpc];
  std::map<int, int> gpc_sizes, cpc_sizes;
  for (const auto& [gpc, n] : gpcs) ++gpc_sizes[n];
  for (const auto& [cpc, n] : cpcs) ++cpc_sizes[n];
  // As on an H200: six GPCs of 16 SMs and two of 18; of 24 CPCs, six have 4 SMs and the others 6.
  EXPECT_EQ(gpc_sizes, (std::map<int, int>{{16, 6}, {18, 2}}));
  EXPECT_EQ(cpc_sizes, (std::map<int, int>{{4, 6}, {6, 18}}));
  EXPECT_EQ(places[0].gpc, places[1].gpc) << "a TPC";
  EXPECT_EQ(places[0].gpc, places[16].gpc);
  EXPECT_NE(places[0].half, places[2].half);
}

TEST(ChipPlaces, CtasThatFollowEachOtherComeToOneGpc) {
  const auto places = chip_places(132, 8, 3);
  const auto all = hand_out_order(places, 132);
  EXPECT_THAT(std::vector(all.begin() + 18, all.begin() + 26), ElementsAre(2, 3, 18, 19, 34, 35, 50, 51));
  const auto few = hand_out_order(places, 33);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(few[i] % 2, 0u) << "a TPC each";
  EXPECT_EQ(places[few[0]].gpc, places[few[3]].gpc);
  EXPECT_NE(places[few[0]].gpc, places[few[6]].gpc);
  EXPECT_EQ(std::set<uint32_t>(few.begin(), few.end()).size(), 132u) << "no SM is left out";
}

TEST(ChipPlaces, AClusterLiesInOneGpc) {
  const auto places = chip_places(132, 8, 3);
  for (uint32_t size = 2; size <= 16; ++size) {
    const auto clusters = cluster_places(places, size, 132 / size);
    std::set<uint32_t> used;
    for (const auto& sms : clusters) {
      EXPECT_EQ(sms.size(), size);
      for (uint32_t sm : sms) {
        EXPECT_EQ(places[sm].gpc, places[sms[0]].gpc) << "SM " << sm << ", clusters of " << size;
        EXPECT_TRUE(used.insert(sm).second) << "SM " << sm << " twice, clusters of " << size;
      }
    }
    // Six GPCs of 16 SMs and two of 18.
    EXPECT_EQ(clusters.size(), std::min(132 / size, 6 * (16 / size) + 2 * (18 / size))) << "clusters of " << size;
  }
  const auto pairs = cluster_places(places, 2, 66);
  EXPECT_THAT(pairs[1], ElementsAre(2, 3)) << "in turns";
  EXPECT_THAT(cluster_places(places, 4, 5).back(), ElementsAre(8, 9, 24, 25));
  EXPECT_EQ(cluster_places(places, 4, 5).size(), 5u) << "no more than are asked for";
}

TEST(ChipPlaces, AChipOfSmallGpcsHasClustersOfNeighbours) {
  const auto clusters = cluster_places(chip_places(8, 8, 3), 4, 2);
  EXPECT_THAT(clusters, ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
}

/// What SMs ask for at one time, of lines that lie in L2.
class Shares : public testing::Test {
 protected:
  static constexpr uint32_t kLines = 512;  // of each
  static constexpr uint32_t kSms = 132;
  const MachineSpec spec = hopper_machine();
  const MemoryTiming timing{spec};
  GlobalMemory memory{64 << 20};
  const uint64_t at = memory.allocate(32 << 20, 512, MemoryKind::device);
  L2Cache cache{memory, 50 << 20, 1};
  ChipMemory chip{cache, timing, kSms};
  const std::vector<ChipPlace> places = chip_places(kSms, timing.gpcs, timing.cpcs_of_gpc);

  std::vector<LineUse> lines(uint32_t number, uint8_t sectors = 4) {
    std::vector<LineUse> uses;
    const auto [first, last] = cache.lines_of(at + uint64_t(number) * kLines * 128, kLines * 128);
    for (uint64_t line = first; line < last; ++line)
      uses.push_back({uint32_t(line), sectors, 0, uint16_t(line - first)});
    return uses;
  }
  /// Cycles until the last of `sms` has its lines, the `data(sm)`th, or so many sectors of each.
  template <class Data>
  double until_all(const std::vector<uint32_t>& sms, Data data, uint8_t sectors = 4) {
    cache.written(at, 32 << 20);
    double most = 0;
    // A line of each at a time, as the exchange has it.
    std::map<uint32_t, std::vector<LineUse>> uses;
    for (uint32_t sm : sms) uses[sm] = lines(data(sm), sectors);
    for (uint32_t i = 0; i < kLines; ++i)
      for (uint32_t sm : sms) {
        LineUse use = uses[sm][i];
        use.at = 0;
        const MemoryReply reply = chip.read(start_ + i, sm, {&use, 1});
        most = std::max(most, double(i + reply.delay));
      }
    start_ += 1'000'000;
    return most;
  }
  std::vector<uint32_t> of_gpc(uint32_t gpc) const {
    std::vector<uint32_t> sms;
    for (uint32_t sm = 0; sm < places.size(); ++sm)
      if (places[sm].gpc == gpc) sms.push_back(sm);
    return sms;
  }
  /// Of 512 lines that SM 0 has asked for, how many SM 1 of the same GPC has with it if it asks `later` cycles behind.
  double shared(uint64_t later, uint8_t sectors, bool loads) {
    cache.written(at, 32 << 20);
    uint32_t together = 0;
    for (LineUse use : lines(0, sectors)) {
      use.at = 0;
      chip.read(start_, 0, {&use, 1}, loads);
      const uint64_t before = chip.l2_read();
      chip.read(start_ + later, 1, {&use, 1}, loads);
      together += chip.l2_read() == before;
      start_ += 10'000;
    }
    return double(together) / kLines;
  }
  uint64_t start_ = 1'000'000;
};

// An H200: 16 SMs of a GPC get 642 to 653 bytes a cycle together, and 48 SMs, six of each, 4,564.
TEST_F(Shares, AGpcHasOneWayToL2) {
  const auto own = [](uint32_t sm) { return sm; };
  const double rate = 16.0 * kLines * 128 / until_all(of_gpc(2), own);
  EXPECT_NEAR(rate, 645, 65);
  std::vector<uint32_t> two;
  for (uint32_t gpc = 0; gpc < 8; ++gpc)
    for (size_t i = 0; i < 2; ++i) two.push_back(of_gpc(gpc)[i]);
  EXPECT_GT(16.0 * kLines * 128 / until_all(two, own), 1500) << "two SMs of each GPC";
}

// An H200: 132 SMs that read the same as the others of their GPC get 96 bytes a cycle each; as one SM of each other
// GPC, 38.4, and 39.0 if each reads its own.
TEST_F(Shares, WhatSmsOfAGpcReadTogetherComesOnce) {
  const auto gpc = of_gpc(2);
  const double own = until_all(gpc, [](uint32_t sm) { return sm; }), same = until_all(gpc, [](uint32_t) { return 0; });
  EXPECT_LT(same, own / 2);
}

TEST_F(Shares, GpcsDoNotShare) {
  std::vector<uint32_t> all;
  for (uint32_t sm = 0; sm < kSms; ++sm) all.push_back(sm);
  const double own = until_all(all, [](uint32_t sm) { return sm; });
  std::map<uint32_t, uint32_t> nth;
  std::vector<uint32_t> number(all.size());
  for (uint32_t sm : all) number[sm] = nth[places[sm].gpc]++;
  const double across = until_all(all, [&](uint32_t sm) { return number[sm]; });
  EXPECT_GT(across, 0.85 * own);
}

TEST_F(Shares, WhoComesLateAsksAnew) {
  const LineUse line = lines(0)[0];
  chip.read(1000, 0, {&line, 1});
  const uint64_t before = chip.l2_read();
  chip.read(1000 + uint64_t(timing.gpc_shares_within) - 1, 1, {&line, 1});
  EXPECT_EQ(chip.l2_read(), before) << "comes with the other's";
  chip.read(1000 + uint64_t(timing.gpc_shares_within) + 1, 16, {&line, 1});
  EXPECT_EQ(chip.l2_read(), before + 128);
  chip.read(1000 + uint64_t(timing.gpc_shares_within) + 2, 2, {&line, 1});
  EXPECT_EQ(chip.l2_read(), before + 256) << "of another GPC";
  chip.read(1000 + uint64_t(timing.gpc_shares_within) + 3, 2, {&line, 1});
  EXPECT_EQ(chip.l2_read(), before + 384) << "the SM itself: other bytes of the line, perhaps";
}

// An H200 (notes/evidence.md): 2, 3, 6 and 16 SMs of a GPC that read equal data by loads share 0.70, 0.75, 0.69 and
// 0.63 of it, 0 and 640 cycles apart alike under load.
TEST_F(Shares, TwoOfThreeLoadsShareALineUntilItArrives) {
  EXPECT_NEAR(shared(20, 4, true), 0.69, 0.07);
  EXPECT_NEAR(shared(timing.least_latency - 1, 4, true), 0.69, 0.07);
  EXPECT_EQ(shared(uint64_t(timing.gpc_shares_within) + 1, 4, false), 0) << "a bulk copy";
  EXPECT_EQ(shared(1000, 4, true), 0) << "it has arrived";
}

// An H200 (probe_00_l2_rows): tiles that others read too take 45.2 and 22.9 cycles a KiB in rows of 32 and 64 bytes,
// which are 0.90 and 0.82 of what tiles of one's own take, and 0.52 in rows of 128.
TEST_F(Shares, BulkCopiesOfPartsOfLinesShareSeldom) {
  EXPECT_EQ(shared(100, 4, false), 1);
  EXPECT_NEAR(shared(100, 2, false), 0.35, 0.15);
}

// An H200 (probe_00_l2_rows): 132 SMs that each read one, two or four sectors of lines of their own take 58.1, 30.5
// and 30.7 cycles a KiB.
TEST_F(Shares, ASliceAnswersWithTwoSectorsAtATime) {
  std::vector<uint32_t> all;
  for (uint32_t sm = 0; sm < kSms; ++sm) all.push_back(sm);
  const auto own = [](uint32_t sm) { return sm; };
  // All ask at once, and some slices are behind: up to an eighth more than in the steady state of the probe.
  const double kib = kLines * 32 / 1024.0;
  EXPECT_NEAR(until_all(all, own, 1) / kib, 58.1, 7);
  EXPECT_NEAR(until_all(all, own, 2) / (2 * kib), 30.5, 4);
  EXPECT_NEAR(until_all(all, own, 4) / (4 * kib), 30.7, 4);
}

// An H200: of all SMs that write, six of a CPC get 18.0 bytes a cycle each and four 23.6.
TEST_F(Shares, CpcsThatWriteHaveEqualShares) {
  std::map<uint32_t, double> ends;
  for (uint32_t i = 0; i < 256; ++i)
    for (uint32_t sm = 0; sm < kSms; ++sm) {
      const LineUse use = lines(sm)[i];
      const LineUse one{use.line, 4, 0, 0};
      ends[sm] = 4.0 * i + double(chip.write(1'000'000 + 4 * i, sm, {&one, 1}).delay);
    }
  std::map<uint32_t, std::vector<double>> cpcs;
  for (const auto& [sm, end] : ends) cpcs[places[sm].cpc].push_back(end);
  double six = 0, four = 0;
  for (const auto& [cpc, e] : cpcs) (e.size() == 6 ? six : four) = std::max(e.size() == 6 ? six : four, e.back());
  EXPECT_GT(six, 1.05 * four);
}

}  // namespace
}  // namespace tinygpu::test
