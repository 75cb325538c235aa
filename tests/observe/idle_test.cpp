// Why the tensor core was idle: every cycle has one reason.
#include "common/tinygpu/observe/idle.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/sm_timeline.h"
#include "tests/observe/kernels.h"

namespace tinygpu::test {
namespace {

using observe::IdleCause;

observe::KernelProfile profile_of(const std::string& text, const std::string& kernel, Dim3 grid, Dim3 block,
                                  LaunchStats* stats = nullptr, CompletionOrder order = {}) {
  observe::Profile profile;
  RunPtx machine(text);
  machine.gpu.options.observers = {&profile};
  machine.gpu.options.order = order;
  const uint64_t from = machine.upload(std::vector<uint32_t>(4096, 0)), to = machine.buffer<uint32_t>(64);
  const LaunchStats s = machine.launch(kernel, grid, block, from, to);
  if (stats) *stats = s;
  return profile.kernels().at(0);
}

uint64_t sum_of(const observe::IdleCauses::Sum& s) {
  uint64_t sum = s.busy;
  for (const auto& [cause, cycles] : s.idle) sum += cycles;
  return sum;
}

TEST(Idle, EveryCycleHasOneReason) {
  for (const auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    LaunchStats stats;
    const auto t = profile_of(two_mmas(), "fed", {3, 1, 1}, {32, 1, 1}, &stats, {mode, 5}).tensor_core;
    EXPECT_EQ(t.all, 3 * stats.cycles) << "three SMs";
    EXPECT_EQ(sum_of(t), t.all);
  }
}

TEST(Idle, IsForLoadsWhereTheFeederWaitsForThem) {
  LaunchStats stats;
  const auto t = profile_of(two_mmas(), "fed", {1, 1, 1}, {32, 1, 1}, &stats).tensor_core;
  EXPECT_GT(t.busy, 0u);
  EXPECT_LT(t.busy, 100u) << "two MMAs of 16 columns";
  // Two copies, of which each takes longer than 300 cycles; between the MMAs a wait for the first one's commit; behind
  // the last a wait for the other's, and the end.
  EXPECT_GT(t.idle.at(IdleCause::loads), 600u);
  EXPECT_GT(t.idle.at(IdleCause::mmas), 50u);
  EXPECT_EQ(t.idle.count(IdleCause::threads), 0u) << "no thread ends a phase";
  EXPECT_GT(t.idle.at(IdleCause::epilogue), 50u);
  EXPECT_GT(t.idle.at(IdleCause::set_up), 10u);
  EXPECT_GT(t.idle.at(IdleCause::instructions), 0u);
}

TEST(Idle, IsForThreadsWhereTheyEndThePhase) {
  // A second warp lets the first one wait: it sleeps, then arrives.
  const auto t = profile_of(two_mmas(true), "fed", {1, 1, 1}, {64, 1, 1}).tensor_core;
  EXPECT_GT(t.idle.at(IdleCause::threads), 1000u);
}

TEST(Idle, AKernelWithoutMmasHasNone) {
  const auto k = profile_of(two_copies(), "copies", {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(k.tensor_core.all, 0u);
  EXPECT_FALSE(k.json().contains("tensor_core"));
  EXPECT_EQ(k.render().find("tensor cores that got"), std::string::npos);
}

TEST(Idle, IsInTextAndJson) {
  const auto k = profile_of(two_mmas(), "fed", {1, 1, 1}, {32, 1, 1});
  EXPECT_NE(k.render().find("idle for loads"), std::string::npos) << k.render();
  const auto t = k.json().at("tensor_core");
  double all = t.at("busy"), before = 1;
  for (const auto& i : t.at("idle")) {
    EXPECT_LE(i.at("share"), before) << "the most first";
    before = i.at("share");
    all += before;
  }
  EXPECT_NEAR(all, 1, 1e-9);
}

TEST(SmTimeline, TellsOfTheFirstSmsCtasAndOperations) {
  observe::SmTimeline timeline;
  EXPECT_TRUE(timeline.json().is_null());
  RunPtx machine(two_copies());
  machine.gpu.options.observers = {&timeline};
  const uint64_t from = machine.upload(std::vector<uint32_t>(256, 7)), to = machine.buffer<uint32_t>(1);
  machine.launch("copies", {16, 1, 1}, {1, 1, 1}, from, to);
  EXPECT_EQ(timeline.json().at("ctas").size(), 2u) << "16 CTAs on 8 SMs";
  EXPECT_EQ(timeline.json().at("operations").size(), 4u);
  const LaunchStats stats = machine.launch("copies", {1, 1, 1}, {1, 1, 1}, from, to);
  const auto& t = timeline.json();
  EXPECT_EQ(t.at("kernel"), "copies");
  ASSERT_EQ(t.at("ctas").size(), 1u) << "the last launch";
  ASSERT_EQ(t.at("operations").size(), 2u);
  uint64_t before = 0;
  for (const auto& o : t.at("operations")) {
    EXPECT_EQ(o.at("kind"), "cp.async.bulk load");
    EXPECT_EQ(o.at("cta"), 0);
    EXPECT_EQ(o.at("warp"), 0);
    EXPECT_GE(o.at("issued"), before);
    EXPECT_LE(o.at("issued"), o.at("begin"));
    EXPECT_GT(o.at("busy"), 0);
    EXPECT_LT(o.at("begin").get<uint64_t>() + o.at("busy").get<uint64_t>(), o.at("end"));
    EXPECT_LE(o.at("end"), stats.cycles);
    before = o.at("end");  // the thread waits for one before it asks for the next
  }
  // It arrives, with the bytes to expect, and waits: twice.
  ASSERT_EQ(t.at("arrived").size(), 2u);
  ASSERT_EQ(t.at("waited").size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_LE(t.at("arrived")[i].at("at"), t.at("operations")[i].at("issued"));
    EXPECT_GE(t.at("waited")[i].at("at"), t.at("operations")[i].at("end"));
  }
}

}  // namespace
}  // namespace tinygpu::test
