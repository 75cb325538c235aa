// PTX in the order that ptxas chose: which instruction stands where, what passes in between, what is refused.
#include "common/tinygpu/program/sass/sass_order.h"

#include <gtest/gtest.h>

#include "common/tinygpu/program/sass/sass_match.h"

namespace tinygpu::test::sass_order_test {
namespace {

using Order = PtxFeatures::Order;

/// A block of PTX, instruction by instruction.
struct Ptx {
  std::vector<PtxFeatures> work;
  std::vector<Touch> touches;
  Ptx& add(InstructionKind kind, Order order, std::vector<uint32_t> defs, std::vector<uint32_t> uses) {
    PtxFeatures w;
    w.kind = kind;
    w.order = order;
    work.push_back(w);
    Touch t;
    t.defs = std::move(defs);
    t.uses = std::move(uses);
    touches.push_back(t);
    return *this;
  }
  Ptx& load(uint32_t to, uint32_t at) { return add(InstructionKind::shared_load, Order::reads, {to}, {at}); }
  Ptx& store(uint32_t at, uint32_t value) { return add(InstructionKind::shared_store, Order::writes, {}, {at, value}); }
  Ptx& multiply(uint32_t sum, uint32_t a, uint32_t b) {
    return add(InstructionKind::matrix, Order::free, {sum}, {a, b, sum});
  }
  Ptx& integer(uint32_t to, uint32_t from) { return add(InstructionKind::other, Order::free, {to}, {from}); }
  Ptx& branch() {
    add(InstructionKind::other, Order::free, {}, {});
    work.back().branches = true;
    return *this;
  }
  std::optional<SassBlock> in(const std::vector<SassInstruction>& code) const {
    return order_block(work, touches, 0, uint32_t(work.size()), code);
  }
};

SassInstruction machine(InstructionKind kind, uint8_t stall, uint8_t waits = 0, uint8_t sets = SassInstruction::kNone) {
  SassInstruction i;
  i.kind = kind;
  i.stall = stall;
  i.waits = waits;
  i.sets = sets;
  return i;
}
SassInstruction move(uint8_t stall, uint8_t waits = 0) {
  SassInstruction i = machine(InstructionKind::other, stall, waits);
  i.pipe = Pipe::alu;
  i.occupies = 2;
  return i;
}
SassInstruction back(uint8_t stall) {
  SassInstruction i = machine(InstructionKind::other, stall);
  i.branches = true;
  i.target = 0;
  return i;
}

/// Four loads and two products; the second product's loads need an address that is computed behind the first two.
Ptx product() {
  return Ptx()
      .load(10, 0)
      .load(11, 0)
      .integer(1, 0)
      .load(12, 1)
      .load(13, 1)
      .multiply(20, 10, 11)
      .multiply(21, 12, 13)
      .branch();
}

TEST(SassOrder, ProductsGoBetweenTheLoadsOfTheNext) {
  const auto b = product().in(
      {machine(InstructionKind::shared_load, 4, 0, 0), machine(InstructionKind::shared_load, 1, 0, 1), move(2, 0b10),
       move(3), machine(InstructionKind::matrix, 1), machine(InstructionKind::shared_load, 4),
       machine(InstructionKind::shared_load, 2, 0, 0), machine(InstructionKind::matrix, 1, 0b1), move(2), back(5)});
  ASSERT_TRUE(b);
  EXPECT_EQ(b->order, (std::vector<uint32_t>{0, 1, 5, 2, 3, 4, 6, 7}));
  const auto& p = b->places;
  EXPECT_EQ(p[0].stall, 4);
  EXPECT_EQ(p[1].sets, 1);
  ASSERT_EQ(p[2].before.size(), 1u) << "two moves in a row are one step";
  EXPECT_EQ(p[2].before[0].waits, 0b10);
  EXPECT_EQ(p[2].before[0].issue, 2);
  EXPECT_EQ(p[2].before[0].stall, 5);
  EXPECT_EQ(p[2].before[0].occupies, 4);
  EXPECT_EQ(p[3].stall, 0) << "the address is part of the load's in machine code";
  EXPECT_EQ(p[4].sets, 0) << "loads return in order: the next one's scoreboard tells of it";
  EXPECT_EQ(p[6].waits, 0b1);
  EXPECT_EQ(p[7].stall, 5);
  ASSERT_EQ(p[7].before.size(), 1u);
}

TEST(SassOrder, TheLoadsThatAreNeededFirstGoFirst) {
  // The first product needs what is loaded last.
  const Ptx ptx = Ptx().load(10, 0).load(11, 0).load(12, 0).load(13, 0).multiply(20, 12, 13).multiply(21, 10, 11);
  const auto b = ptx.in({machine(InstructionKind::shared_load, 1), machine(InstructionKind::shared_load, 1),
                         machine(InstructionKind::matrix, 1), machine(InstructionKind::shared_load, 1),
                         machine(InstructionKind::shared_load, 1), machine(InstructionKind::matrix, 1)});
  ASSERT_TRUE(b);
  EXPECT_EQ(b->order, (std::vector<uint32_t>{2, 3, 4, 0, 1, 5}));
}

TEST(SassOrder, AResultThatStepsBringIsWaitedFor) {
  SassInstruction special = machine(InstructionKind::other, 1, 0, 3);
  special.latency = 33;
  const auto b =
      Ptx().load(10, 0).in({special, move(2), move(2, 0b1000), machine(InstructionKind::shared_load, 1, 0, 0)});
  ASSERT_TRUE(b);
  const auto& steps = b->places[0].before;
  ASSERT_EQ(steps.size(), 3u) << "what brings something ends a step, what waits begins one";
  EXPECT_EQ(steps[0].sets, 3);
  EXPECT_EQ(steps[0].latency, 33);
  EXPECT_EQ(steps[1].waits, 0);
  EXPECT_EQ(steps[2].waits, 0b1000);
}

TEST(SassOrder, OtherCodeIsRefused) {
  const SassInstruction load = machine(InstructionKind::shared_load, 1), matrix = machine(InstructionKind::matrix, 1);
  EXPECT_FALSE(product().in({load, load, matrix, load, matrix, back(5)})) << "a load is missing";
  EXPECT_FALSE(product().in({load, load, matrix, load, load, matrix, matrix, back(5)})) << "a product more";
  EXPECT_FALSE(product().in({matrix, load, load, load, load, matrix, back(5)})) << "a product before its operands";
  EXPECT_FALSE(Ptx().load(10, 0).in({load, back(5)})) << "a branch that PTX lacks";
  EXPECT_FALSE(order_block({}, {}, 0, 0, {}));
}

TEST(SassOrder, AccessesKeepWhatMemoryAsks) {
  const SassInstruction load = machine(InstructionKind::shared_load, 1),
                        store = machine(InstructionKind::shared_store, 1);
  const Ptx ptx = Ptx().store(0, 5).load(10, 1);
  EXPECT_TRUE(ptx.in({store, load}));
  EXPECT_FALSE(ptx.in({load, store})) << "they may be one place";
  Ptx barrier = Ptx().load(10, 1);
  barrier.add(InstructionKind::barrier, Order::sync, {}, {}).load(11, 1);
  EXPECT_TRUE(barrier.in({load, machine(InstructionKind::barrier, 6), load}));
  EXPECT_FALSE(barrier.in({load, load, machine(InstructionKind::barrier, 6)}));
  Ptx clock = Ptx().load(10, 1);
  clock.add(InstructionKind::other, Order::fixed, {30}, {});
  EXPECT_FALSE(clock.in({load})) << "a look at the clock stays where it is";
}

}  // namespace
}  // namespace tinygpu::test::sass_order_test
