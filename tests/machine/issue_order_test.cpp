// The order that a compiler would choose, and the times that come of it.
#include "common/tinygpu/program/schedule/issue_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

IssueNode load(uint32_t address, uint32_t to) {
  IssueNode n;
  n.uses = {address};
  n.defs = {to};
  n.expected = 200;
  n.words = 1;
  n.memory = IssueNode::reads_other;
  return n;
}
IssueNode sum(uint32_t a, uint32_t b, uint32_t to) {
  IssueNode n;
  n.uses = {a, b};
  n.defs = {to};
  n.latency = 4;
  return n;
}
IssueNode store(uint32_t address, uint32_t value) {
  IssueNode n;
  n.uses = {address, value};
  n.memory = IssueNode::writes_other;
  return n;
}
uint32_t place(const std::vector<uint32_t>& order, uint32_t node) {
  return uint32_t(std::ranges::find(order, node) - order.begin());
}

TEST(IssueOrder, LoadsGoBeforeTheSumsOfOthers) {
  // r0: address; three times: load, add to r9.
  const std::vector<IssueNode> run{load(0, 1), sum(9, 1, 9), load(0, 2), sum(9, 2, 9), load(0, 3), sum(9, 3, 9)};
  EXPECT_EQ(issue_order(run), (std::vector<uint32_t>{0, 2, 4, 1, 3, 5}));
}

TEST(IssueOrder, ALoadWhoseAddressWasLoadedWaitsForIt) {
  const std::vector<IssueNode> run{load(0, 1), sum(9, 1, 9), load(1, 2), sum(9, 2, 9)};
  const auto order = issue_order(run);
  EXPECT_LT(place(order, 0), place(order, 2));
  EXPECT_EQ(order.back(), 3u);
}

TEST(IssueOrder, NoLoadPassesAStore) {
  const std::vector<IssueNode> run{load(0, 1), store(5, 1), load(0, 2), store(6, 2)};
  EXPECT_EQ(issue_order(run), (std::vector<uint32_t>{0, 1, 2, 3}));
  std::vector<IssueNode> apart = run;
  for (uint32_t i : {1u, 3u}) apart[i].memory = IssueNode::writes_shared;
  EXPECT_EQ(issue_order(apart), (std::vector<uint32_t>{0, 2, 1, 3})) << "shared memory is another";
}

TEST(IssueOrder, RegistersLimitTheLoadsOnTheirWay) {
  std::vector<IssueNode> run;
  for (uint32_t i = 0; i < 200; ++i) {
    run.push_back(load(0, 1 + i));
    run.push_back(sum(999, 1 + i, 999));
  }
  const auto order = issue_order(run);
  const auto first_sum = std::ranges::find_if(order, [](uint32_t n) { return n % 2; }) - order.begin();
  EXPECT_GE(first_sum, 32);
  EXPECT_LE(first_sum, 128);
}

TEST(IssueOrder, ARegisterIsNotWrittenBeforeItsReaders) {
  const std::vector<IssueNode> run{sum(1, 2, 3), load(0, 1), sum(1, 3, 4)};
  const auto order = issue_order(run);
  EXPECT_LT(place(order, 0), place(order, 1));
}

TEST(IssueOrder, TimesHonourLatenciesAndUnits) {
  RegisterTimes ready(10);
  const std::vector<IssueNode> chain{sum(0, 0, 1), sum(1, 1, 2), sum(2, 2, 3)};
  EXPECT_EQ(issue_times(chain, {0, 1, 2}, 10, ready), (std::vector<uint64_t>{10, 14, 18, 19}));
  std::vector<IssueNode> apart{sum(0, 0, 4), sum(0, 0, 5), sum(0, 0, 6)};
  for (IssueNode& n : apart) {
    n.pipe = Pipe::alu;
    n.occupies = 2;
  }
  apart[1].pipe = Pipe::fma;
  EXPECT_EQ(issue_times(apart, {0, 1, 2}, 0, ready), (std::vector<uint64_t>{0, 1, 2, 3}));
  apart[1].pipe = Pipe::alu;
  EXPECT_EQ(issue_times(apart, {0, 1, 2}, 0, ready), (std::vector<uint64_t>{0, 2, 4, 5})) << "one unit for all";
}

TEST(IssueOrder, UnitsAreKeptBusySideBySide) {
  // Four of a unit that is busy for 8 cycles, then 16 of others: a unit's work hides the others'.
  std::vector<IssueNode> run(20);
  for (uint32_t i = 0; i < run.size(); ++i) {
    run[i].uses = {0};
    run[i].defs = {1 + i};
    run[i].pipe = i < 4 ? Pipe::xu : Pipe::alu;
    run[i].occupies = i < 4 ? 8 : 2;
  }
  RegisterTimes ready(30);
  EXPECT_LE(issue_times(run, issue_order(run), 0, ready).back(), 36u);
}

/// Cycles of a warp for exponentials and products that need nothing of each other, evenly mixed.
uint32_t side_by_side(int exponentials, int products) {
  std::string body;
  const int all = exponentials + products;
  for (int i = 0, e = 0, p = 0; i < all; ++i)
    if (e * all <= i * exponentials && e < exponentials) {
      body += "  ex2.approx.ftz.f32 %x" + std::to_string(e++) + ", %z;\n";
    } else {
      const std::string y = "%y" + std::to_string(p++ % 16);
      body += "  fma.rn.f32 " + y + ", " + y + ", %z, %z;\n";
    }
  RunPtx run(R"(
.visible .entry k(.param .u64 o, .param .f32 v) {
  .reg .b64 %out, %t0, %t1;
  .reg .b32 %n;
  .reg .f32 %z, %x<16>, %y<16>;
  ld.param.u64 %out, [o];
  ld.param.f32 %z, [v];
)" +
                 [] {
                   std::string zero;
                   for (int i = 0; i < 16; ++i) zero += "  add.f32 %y" + std::to_string(i) + ", %z, %z;\n";
                   return zero;
                 }() +
                 "  mov.u64 %t0, %clock64;\n" + body + R"(
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  cvt.u32.u64 %n, %t1;
  st.global.u32 [%out], %n;
})",
             hopper_machine());
  const uint64_t out = run.buffer<uint32_t>(1);
  run.launch("k", {1}, {32}, out, 1.0f);
  return run.download<uint32_t>(out, 1)[0];
}

// An H200, driver 580.159.04, 22 November 2026: 137, 124 and 183 cycles, and 139 with 64 products, two reads of the
// clock among them.
TEST(IssueOrder, ExponentialsAndProductsOverlapAsOnTheChip) {
  EXPECT_NEAR(side_by_side(16, 0), 137, 12) << "the model starts and ends with nothing in its pipes";
  EXPECT_NEAR(side_by_side(0, 112), 124, 10);
  EXPECT_NEAR(side_by_side(16, 64), 139, 10);
  EXPECT_NEAR(side_by_side(16, 112), 183, 10);
}

/// Cycles of a warp that adds up eight words, `apart` bytes from each other.
uint64_t sum_of_eight(bool needs_each) {
  std::string body;
  for (int i = 0; i < 8; ++i) {
    const std::string v = "%v" + std::to_string(i);
    body += "  ld.global.u32 " + v + ", [%at+" + std::to_string(i * 512) + "];\n  add.u32 %sum, %sum, " + v + ";\n";
    // The next address needs what was loaded, which is 0.
    if (needs_each) body += "  cvt.u64.u32 %w, " + v + ";\n  add.u64 %at, %at, %w;\n";
  }
  RunPtx run(R"(
.visible .entry k(.param .u64 p, .param .u64 o) {
  .reg .b64 %at, %out, %w;
  .reg .b32 %sum, %v<8>;
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  mov.u32 %sum, 0;
)" + body + R"(
  st.global.u32 [%out], %sum;
})");
  const uint64_t at = run.upload(std::vector<uint32_t>(8 * 128)), out = run.buffer<uint32_t>(1);
  return run.launch("k", {1}, {32}, at, out).cycles;
}

TEST(IssueOrder, EightLoadsTakeALoadsTimeUnlessTheyNeedEachOther) {
  const uint64_t together = sum_of_eight(false), chained = sum_of_eight(true);
  EXPECT_GT(chained, together + 7 * 150) << "seven wait for the one before";
}

/// Cycles of a warp that loads 16 bytes `loads` times. What a load brings is folded into one word before the next
/// address is computed, as a function does that loads and folds: words and addresses need nothing of each other.
uint64_t folded(int loads) {
  std::string body;
  for (int i = 0; i < loads; ++i) {
    const std::string n = std::to_string(i);
    body += "  and.b64 %in" + n + ", %step, 4194303;\n  add.u64 %a" + n + ", %at, %in" + n +
            ";\n  ld.global.cg.v4.u32 {%r" + n + ", %s" + n + ", %t" + n + ", %u" + n + "}, [%a" + n +
            "];\n  xor.b32 %f" + n + ", %r" + n + ", %s" + n + ";\n  xor.b32 %g" + n + ", %t" + n + ", %u" + n +
            ";\n  xor.b32 %h" + n + ", %f" + n + ", %g" + n +
            ";\n  add.u64 %step, %step, 65536;\n  xor.b32 %sum, %sum, %h" + n + ";\n";
  }
  RunPtx run(R"(
.visible .entry k(.param .u64 p, .param .u64 o) {
  .reg .b64 %at, %out, %step, %a<8>, %in<8>;
  .reg .b32 %sum, %r<8>, %s<8>, %t<8>, %u<8>, %f<8>, %g<8>, %h<8>;
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  mov.u32 %sum, 0;
  mov.u64 %step, 0;
)" + body + R"(
  st.global.u32 [%out], %sum;
})");
  const uint64_t at = run.upload(std::vector<uint32_t>(8 * 65536)), out = run.buffer<uint32_t>(1);
  return run.launch("k", {1}, {32}, at, out).cycles;
}

TEST(IssueOrder, AFoldedLoadDoesNotHoldUpTheNextOne) {
  EXPECT_LT(folded(8), folded(1) + 3 * 281) << "none waits for the one before";
}

}  // namespace
}  // namespace tinygpu::test
