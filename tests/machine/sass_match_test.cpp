// PTX and what ptxas made of it: which loop is which, what a turn costs.
#include "common/tinygpu/program/sass/sass_match.h"

#include <gtest/gtest.h>

#include "common/tinygpu/program/lower/loops.h"

namespace tinygpu::test {
namespace {

using Blocks = std::vector<std::vector<uint32_t>>;

TEST(Loops, NestedOnesAreFound) {
  // 0 → 1 → 2 ⟲, 2 → 3 → 1, 3 → 4
  const Loops l = find_loops(Blocks{{1}, {2}, {2, 3}, {1, 4}, {}});
  ASSERT_EQ(l.all.size(), 2u);
  EXPECT_EQ(l.all[0].header, 1u);
  EXPECT_EQ(l.all[0].blocks, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(l.all[1].header, 2u);
  EXPECT_EQ(l.all[1].parent, 0);
  EXPECT_EQ(l.loop_of, (std::vector<int32_t>{-1, 0, 1, 0, -1}));
}

TEST(Loops, ABranchBackIsNoLoopWhereTheTargetIsReachedOtherwise) {
  // 1 and 2 lead to each other, and 0 to both.
  EXPECT_TRUE(find_loops(Blocks{{1, 2}, {2}, {1, 3}, {}}).all.empty());
  // A block at the end that goes back to the middle.
  EXPECT_TRUE(find_loops(Blocks{{1, 3}, {2}, {}, {1}}).all.empty());
}

TEST(Loops, UnreachedBlocksAreNone) {
  const Loops l = find_loops(Blocks{{1}, {}, {2}});
  EXPECT_TRUE(l.all.empty());
  EXPECT_FALSE(l.reached[2]);
  EXPECT_TRUE(find_loops({}).all.empty());
}

/// Instructions of PTX: an entry block, a loop of `body`, an exit.
struct Ptx {
  explicit Ptx(std::vector<PtxFeatures> body) {
    const uint32_t n = uint32_t(body.size());
    work.push_back(rest());
    work.insert(work.end(), body.begin(), body.end());
    work.push_back(rest());
    touches.resize(work.size());
    flow.blocks = {{0, 1, {1}, {}, false}, {1, 1 + n, {1, 2}, {0, 1}, true}, {1 + n, 2 + n, {}, {1}, false}};
  }
  static PtxFeatures rest() {
    PtxFeatures w;
    w.shared_out = true;
    return w;
  }
  static PtxFeatures load() {
    PtxFeatures w;
    w.kind = InstructionKind::global_load;
    return w;
  }
  static PtxFeatures sum() {
    PtxFeatures w;
    w.floating = true;
    return w;
  }
  static PtxFeatures special() {
    PtxFeatures w;
    w.special = true;
    return w;
  }
  std::vector<PtxFeatures> work;
  std::vector<Touch> touches;
  Flow flow;
};

/// Machine code: one instruction before, a loop of `body` that ends in a branch to its begin, EXIT.
SassCode machine(std::vector<SassInstruction> body) {
  SassCode c;
  c.code.emplace_back();
  c.code.insert(c.code.end(), body.begin(), body.end());
  SassInstruction back;
  back.branches = back.guarded = true;
  back.target = 1;
  c.code.push_back(back);
  SassInstruction exit;
  exit.leaves = true;
  c.code.push_back(exit);
  return c;
}
SassInstruction loads(uint8_t board) {
  SassInstruction i;
  i.kind = InstructionKind::global_load;
  i.sets = board;
  return i;
}
SassInstruction adds(uint8_t waits, uint8_t stall = 4) {
  SassInstruction i;
  i.floating = true;
  i.pipe = Pipe::fma;
  i.occupies = 2;
  i.waits = waits;
  i.stall = stall;
  return i;
}
SassInstruction special() {
  SassInstruction i;
  i.pipe = Pipe::xu;
  i.occupies = 8;
  return i;
}
SassInstruction integer() {
  SassInstruction i;
  i.pipe = Pipe::alu;
  i.occupies = 2;
  return i;
}

TEST(SassMatching, AnUnrolledLoopWhoseLoadsGoFirst) {
  const Ptx ptx({Ptx::load(), Ptx::sum(), Ptx::rest(), Ptx::rest(), Ptx::rest()});
  const SassMatch s = match_sass(ptx.work, ptx.touches, ptx.flow,
                                 machine({loads(0), loads(0), loads(1), loads(1), adds(1), adds(0), adds(2), adds(0),
                                          integer(), integer(), integer()}));
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_EQ(s.loops[0].unrolled, 4u);
  EXPECT_EQ(s.loops[0].turns, 4u) << "four loads stand before the first that waits";
  EXPECT_FALSE(s.loops[0].no_loads);
  EXPECT_EQ(s.loops[0].instructions, 12u) << "with its branch";
  // Four turns have three integers and a branch between them: one of a turn's three gets a place.
  uint32_t places = 0;
  for (uint32_t i = 3; i < 6; ++i) {
    EXPECT_TRUE(s.shares[i].known);
    places += s.shares[i].issue;
  }
  EXPECT_EQ(places, 1u);
  EXPECT_FALSE(s.shares[2].known) << "a sum is a sum";
}

TEST(SassMatching, LoadsThatWaitForEachOtherStayAlone) {
  const Ptx ptx({Ptx::load(), Ptx::sum(), Ptx::rest()});
  const SassMatch s =
      match_sass(ptx.work, ptx.touches, ptx.flow,
                 machine({loads(0), adds(1), loads(0), adds(1), loads(0), adds(1), loads(0), adds(1), integer()}));
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_EQ(s.loops[0].unrolled, 4u);
  EXPECT_EQ(s.loops[0].turns, 1u);
}

TEST(SassMatching, LoadsThatStandBeforeTheLoop) {
  const Ptx ptx({Ptx::load(), Ptx::sum(), Ptx::rest()});
  const SassMatch s = match_sass(ptx.work, ptx.touches, ptx.flow, machine({adds(0), integer()}));
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_TRUE(s.loops[0].no_loads);
}

TEST(SassMatching, ACyclesPace) {
  const Ptx ptx({Ptx::sum(), Ptx::rest(), Ptx::rest()});
  const SassMatch s =
      match_sass(ptx.work, ptx.touches, ptx.flow, machine({adds(0), adds(0), adds(0), adds(0), integer()}));
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_EQ(s.loops[0].unrolled, 4u);
  EXPECT_EQ(s.loops[0].cycles, 5u) << "(4 * 4 + 1 + 1) / 4";
}

// v = v * a + c, four times in a turn that counts once: six machine instructions for three of PTX might be one turn.
TEST(SassMatching, ProductsOfIntegersTellTurns) {
  PtxFeatures product = Ptx::rest();
  product.product = true;
  const Ptx ptx({product, Ptx::rest(), Ptx::rest()});
  SassInstruction multiplies = integer();
  multiplies.pipe = Pipe::fma_heavy;
  multiplies.product = true;
  const SassMatch s = match_sass(ptx.work, ptx.touches, ptx.flow,
                                 machine({integer(), multiplies, integer(), multiplies, multiplies, multiplies}));
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_EQ(s.loops[0].unrolled, 4u);
}

TEST(SassMatching, AnotherLoopIsNotTaken) {
  const Ptx ptx({Ptx::load(), Ptx::load(), Ptx::rest()});
  const SassMatch s = match_sass(ptx.work, ptx.touches, ptx.flow, machine({loads(0), loads(1), loads(2), integer()}));
  EXPECT_TRUE(s.loops.empty()) << "three loads are no turns of two";
  for (const SassMatch::Share& share : s.shares) EXPECT_FALSE(share.known);
}

TEST(SassMatching, NoCodeNoShares) {
  const Ptx ptx({Ptx::load(), Ptx::rest()});
  const SassMatch s = match_sass(ptx.work, ptx.touches, ptx.flow, {});
  EXPECT_TRUE(s.loops.empty());
}

// exp2f() of what may be denormal: ptxas scales before the MUFU and squares behind it. Three products for one of PTX
// are not three turns.
TEST(SassMatching, ProductsThatPtxasAddsAreNoTurns) {
  const Ptx ptx({Ptx::special(), Ptx::sum(), Ptx::special(), Ptx::sum(), Ptx::rest()});
  const SassMatch s =
      match_sass(ptx.work, ptx.touches, ptx.flow,
                 machine({adds(0), special(), adds(0), adds(0), adds(0), special(), adds(0), adds(0), integer()}));
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_EQ(s.loops[0].unrolled, 1u);
  EXPECT_FALSE(s.shares[1].known) << "each keeps its unit";
  EXPECT_FALSE(s.shares[3].known);
}

TEST(SassMatching, SpecialFunctionsOfTwoTurns) {
  const Ptx ptx({Ptx::special(), Ptx::sum(), Ptx::rest()});
  const SassMatch s =
      match_sass(ptx.work, ptx.touches, ptx.flow, machine({special(), adds(0), special(), adds(0), integer()}));
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_EQ(s.loops[0].unrolled, 2u);
}

/// A special register that comes `latency` cycles later.
SassInstruction asks(uint8_t board, uint8_t latency = 33) {
  SassInstruction i;
  i.sets = board;
  i.latency = latency;
  return i;
}
SassInstruction integer(uint8_t waits, uint8_t stall = 1) {
  SassInstruction i = integer();
  i.waits = waits;
  i.stall = stall;
  return i;
}
template <class T>
T of_kind(InstructionKind kind) {
  T i;
  i.kind = kind;
  return i;
}
constexpr auto kEngine = InstructionKind::engine;
using Waits = std::vector<std::pair<uint32_t, uint32_t>>;
Waits waits_of(const Ptx& ptx, const SassCode& sass) {
  Waits out;
  for (const SassMatch::Wait& w : match_sass(ptx.work, ptx.touches, ptx.flow, sass).waits)
    out.emplace_back(w.place, w.cycles);
  return out;
}

// ptxas asks for the CTA's place in its cluster wherever it needs an address of shared memory, in a ring's loop too.
TEST(SassMatching, BesideMbarriersAWarpWaitsForSpecialRegisters) {
  const Ptx ptx({Ptx::rest(), of_kind<PtxFeatures>(kEngine), Ptx::rest(), of_kind<PtxFeatures>(kEngine)});
  const SassInstruction engine = of_kind<SassInstruction>(kEngine);
  EXPECT_EQ(waits_of(ptx, machine({asks(1), integer(1 << 1), engine, engine})), (Waits{{2, 32}}));
  EXPECT_EQ(waits_of(ptx, machine({engine, asks(1), integer(1 << 1), engine})), (Waits{{4, 32}}));
  // Two that are asked for together come together; what is done meanwhile costs nothing.
  EXPECT_EQ(waits_of(ptx, machine({asks(1), asks(2), integer(1 << 1 | 1 << 2), engine, engine})), (Waits{{2, 32}}));
  EXPECT_EQ(waits_of(ptx, machine({asks(1), integer(0, 25), integer(1 << 1), engine, engine})), (Waits{{2, 7}}));
  // Nobody waits.
  EXPECT_TRUE(waits_of(ptx, machine({asks(1), integer(1 << 2), engine, engine})).empty());
  // The chip waits before something that PTX does not have here.
  const SassInstruction vote = of_kind<SassInstruction>(InstructionKind::vote);
  EXPECT_EQ(waits_of(ptx, machine({asks(1), integer(1 << 1), vote, engine, engine})), (Waits{{2, 32}}));
}

// Polls until a phase is over: the machine code polls once before its loop, and waits for the address before that.
TEST(SassMatching, WhatAPollNeedsIsWaitedForOnce) {
  Ptx ptx({of_kind<PtxFeatures>(kEngine), Ptx::rest()});
  ptx.work.back() = of_kind<PtxFeatures>(kEngine);  // an arrive behind the loop
  const SassInstruction engine = of_kind<SassInstruction>(kEngine);
  SassCode c;
  c.code = {asks(1), integer(1 << 1), engine, engine, SassInstruction()};
  c.code.back().leaves = true;
  EXPECT_EQ(waits_of(ptx, c), (Waits{{1, 32}})) << "before the poll";
  ptx.touches[1].defs = ptx.touches[1].uses = {7};
  EXPECT_EQ(waits_of(ptx, c), (Waits{{3, 32}})) << "a loop that counts is none that polls";
}

// A turn takes its stalls whatever it waits for; those beside its loads are part of the wait.
TEST(SassMatching, ATurnThatWaitsHasALeast) {
  const Ptx ptx({Ptx::load(), Ptx::sum(), Ptx::rest()});
  const SassMatch s = match_sass(ptx.work, ptx.touches, ptx.flow,
                                 machine({integer(0, 13), loads(0), integer(0, 6), adds(1, 4), integer(0, 13)}));
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_EQ(s.loops[0].cycles, 0u) << "what it waits is not known here";
  EXPECT_EQ(s.loops[0].least, 13u + 1 + 4 + 13 + 1) << "with the load's own cycle and the branch";
  // An instruction that waits for the load right away, as CCTL does behind one that acquires.
  SassInstruction held = loads(0);
  held.stall = 4;
  const SassMatch t =
      match_sass(ptx.work, ptx.touches, ptx.flow, machine({integer(0, 13), held, adds(1, 4), integer(0, 13)}));
  ASSERT_EQ(t.loops.size(), 1u);
  EXPECT_EQ(t.loops[0].least, 13u + 1 + 4 + 13 + 1) << "what holds the warp behind its load passes while it waits";
}

// What one side of a branch waits for is nothing to the other side, whose code stands behind it.
TEST(SassMatching, AnotherPathDoesNotWait) {
  const Ptx ptx({of_kind<PtxFeatures>(kEngine), Ptx::rest(), Ptx::rest(), Ptx::rest(), of_kind<PtxFeatures>(kEngine)});
  const SassInstruction engine = of_kind<SassInstruction>(kEngine);
  SassInstruction aside, joins;
  aside.branches = aside.guarded = joins.branches = true;
  aside.target = 5;
  joins.target = 6;
  const auto places = [&](bool jumps) {
    joins.guarded = !jumps;
    return waits_of(ptx, machine({engine, aside, asks(1), joins, integer(1 << 1), engine}));
  };
  EXPECT_EQ(places(false).size(), 1u);
  EXPECT_TRUE(places(true).empty());
}

TEST(SassMatching, ElsewhereTheyAreTimeOfTheLoop) {
  const Ptx ptx({Ptx::load(), Ptx::sum(), Ptx::rest()});
  EXPECT_TRUE(waits_of(ptx, machine({asks(1), integer(1 << 1), loads(0), adds(1)})).empty());
}

}  // namespace
}  // namespace tinygpu::test
