// What a profile's counts say about a kernel's limit.
#include "common/tinygpu/observe/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/tinygpu/observe/profile.h"
#include "tests/observe/kernels.h"

namespace tinygpu::test::verdict_test {
namespace {

using observe::IdleCause;
using observe::KernelProfile;
using observe::Verdict;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// 1,000 cycles on 4 SMs of 4, whose tensor cores were idle for these causes, in cycles of 4,000.
KernelProfile fed(std::map<IdleCause, uint64_t> idle) {
  KernelProfile k;
  k.name = "k";
  k.cycles = 1000;
  k.sms = k.chip_sms = 4;
  k.sm_cycles = k.tensor_core.all = 4000;
  k.l2_peak = k.device_peak = 1000;
  k.tensor_core.idle = std::move(idle);
  k.tensor_core.busy = 4000;
  for (const auto& [cause, cycles] : k.tensor_core.idle) k.tensor_core.busy -= cycles;
  return k;
}

TEST(Verdict, NamesTheCauseThatStandsOutAndItsLine) {
  KernelProfile k = fed({{IdleCause::loads, 2000}, {IdleCause::epilogue, 800}});
  k.tensor_core.waits[IdleCause::loads] = {{{"mbarrier full[0]", "gemm.cu:7"}, 1500},
                                           {{"mbarrier full[1]", "gemm.cu:7"}, 500}};
  k.tensor_core.waits[IdleCause::epilogue] = {{{"mbarrier empty[0]", "gemm.cu:9"}, 5000}};
  const Verdict v = verdict_of(k);
  EXPECT_TRUE(v.clear);
  EXPECT_EQ(v.limit, "loads");
  EXPECT_THAT(v.why, HasSubstr("50.0 % of the time for loads"));
  EXPECT_EQ(v.place, "gemm.cu:7");
  EXPECT_THAT(v.at_place, HasSubstr("mbarrier full[0], 75.0 %"));
  EXPECT_THAT(v.advice, HasSubstr("more stages"));
  EXPECT_EQ(v.beside, "");
  EXPECT_THAT(v.render("  "), StartsWith("  limited by  loads. "));
}

TEST(Verdict, OfInstructionsNamesTheCostliestLine) {
  KernelProfile k = fed({{IdleCause::instructions, 3000}});
  k.lines["a.cu:5"].operands = 300;
  k.lines["a.cu:6"].issued = 200;
  k.lines["a.cu:7"].waits["barrier 0"] = 1000;
  EXPECT_EQ(verdict_of(k).place, "a.cu:5") << "waits are another cause";
}

TEST(Verdict, IsUnclearWhereTwoCausesAreAlike) {
  const Verdict v = verdict_of(fed({{IdleCause::loads, 1500}, {IdleCause::epilogue, 1400}}));
  EXPECT_FALSE(v.clear);
  EXPECT_EQ(v.limit, "loads, epilogue");
  EXPECT_THAT(v.why, HasSubstr("No cause stands out."));
  EXPECT_THAT(v.render(""), StartsWith("unclear "));
}

TEST(Verdict, IsTheUnitThatIsSaturated) {
  EXPECT_EQ(verdict_of(fed({{IdleCause::loads, 800}})).limit, "tensor cores");
  // However the warps wait: L2 gives no more.
  KernelProfile k = fed({{IdleCause::loads, 3000}});
  k.memory.l2_bytes = 900'000;
  k.lines["a.cu:3"].memory.l2_bytes = 800'000;
  k.lines["a.cu:4"].memory.l2_bytes = 100'000;
  const Verdict v = verdict_of(k);
  EXPECT_TRUE(v.clear);
  EXPECT_EQ(v.limit, "L2");
  EXPECT_THAT(v.why, HasSubstr("90.0 %"));
  EXPECT_EQ(v.place, "a.cu:3");
}

TEST(Verdict, SaysWhetherBanksWorkForConflicts) {
  KernelProfile k;
  k.cycles = 1000;
  k.sms = k.chip_sms = 1;
  k.sm_cycles = 1000;
  k.memory.passes = 900;
  k.memory.ideal = 800;
  EXPECT_THAT(verdict_of(k).advice, HasSubstr("Access shared memory less"));
  k.memory.ideal = 100;
  const Verdict v = verdict_of(k);
  EXPECT_EQ(v.limit, "shared memory");
  EXPECT_THAT(v.advice, HasSubstr("swizzle or pad"));
}

TEST(Verdict, OfAKernelWithoutMmasIsWhatItsWarpsDid) {
  KernelProfile k;
  k.cycles = 1000;
  k.sms = k.chip_sms = 1;
  k.sm_cycles = 1000;
  observe::RoleCost& role = k.roles["others"];
  role.lived = 1000;
  role.issued = 200;
  role.operands = 700;
  role.port = 100;
  k.lines["a.cu:8"].operands = 650;
  k.lines["a.cu:9"].operands = 50;
  const Verdict v = verdict_of(k);
  EXPECT_TRUE(v.clear);
  EXPECT_EQ(v.limit, "late operands");
  EXPECT_EQ(v.place, "a.cu:8");
}

TEST(Verdict, OfAKernelThatIsOverBeforeItsLaunchIsTheLaunch) {
  KernelProfile k;
  k.cycles = k.sm_cycles = 1000;
  k.sms = k.chip_sms = k.resident = 1;
  k.ctas = 1;
  observe::RoleCost& role = k.roles["others"];
  role.warps = 2;
  role.lived = role.issued = 400;  // a CTA of 200 cycles
  Verdict v = verdict_of(k);
  EXPECT_EQ(v.limit, "no CTA");
  EXPECT_THAT(v.why, HasSubstr("80.0 %"));
  k.resident = 2;  // how the lives of CTAs lay in time is not known then
  EXPECT_EQ(verdict_of(k).limit, "instructions");
}

TEST(Verdict, TensorCoresThatWorkLessThanHalfTheTimeAreNoLimit) {
  const Verdict v = verdict_of(fed({{IdleCause::loads, 900}, {IdleCause::epilogue, 850}, {IdleCause::set_up, 800}}));
  EXPECT_FALSE(v.clear);
  EXPECT_EQ(v.limit, "loads, epilogue") << "they work 36 % of the time";
  EXPECT_EQ(verdict_of(fed({{IdleCause::loads, 900}, {IdleCause::epilogue, 850}})).limit, "tensor cores") << "56 %";
}

TEST(Verdict, TellsOfAnEmptyChipAndOfAFault) {
  KernelProfile k = fed({{IdleCause::loads, 2000}});
  k.chip_sms = 148;
  EXPECT_EQ(verdict_of(k).beside, "Only 4 of 148 SMs had a CTA: a grid of more CTAs would use the others.");
  k.cycles = 0;
  const Verdict v = verdict_of(k);
  EXPECT_FALSE(v.clear);
  EXPECT_EQ(v.limit, "");
  EXPECT_THAT(v.why, HasSubstr("no verdict"));
}

// A warp copies, waits, multiplies, waits: two copies of longer than 300 cycles, two small MMAs.
TEST(Verdict, OfARealRun) {
  observe::Profile profile;
  RunPtx machine(two_mmas());
  machine.gpu.options.observers = {&profile};
  const uint64_t from = machine.upload(std::vector<uint32_t>(4096, 0)), to = machine.buffer<uint32_t>(64);
  machine.launch("fed", {8, 1, 1}, {32, 1, 1}, from, to);
  KernelProfile k = profile.kernels().at(0);
  EXPECT_EQ(verdict_of(k).limit, "no CTA") << "a launch takes longer than this";
  EXPECT_NE(k.render().find(verdict_of(k).why), std::string::npos);
  EXPECT_EQ(k.json().at("verdict").at("limit"), "no CTA");
  k.tensor_core.all -= k.tensor_core.idle.at(IdleCause::no_cta);
  k.tensor_core.idle.erase(IdleCause::no_cta);
  const Verdict v = verdict_of(k);
  EXPECT_THAT(v.limit, StartsWith("loads"));
  EXPECT_THAT(v.at_place, HasSubstr("mbarrier"));
  EXPECT_FALSE(k.lines.at(v.place).waits.empty()) << "the profile saw a wait at this line";
}

}  // namespace
}  // namespace tinygpu::test::verdict_test
