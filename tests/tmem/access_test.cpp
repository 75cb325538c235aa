// tcgen05.ld, st and wait: when values arrive, what an un-waited register is, and the rules of addresses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "tests/support/run_ptx.h"
#include "tests/tmem/cute_maps.h"
#include "tests/tmem/kernel_text.h"

namespace tinygpu::test {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using Mode = CompletionOrder::Mode;

std::vector<std::string> codes(const RunPtx& run) {
  std::vector<std::string> c;
  for (const Diagnosis& d : run.reports) c.push_back(d.code);
  return c;
}

// ---- Waiting

/// One warp writes lane + 100 to column 3 and reads it back; `between` stands between the load and the use.
std::string load_use(const std::string& between,
                     const std::string& after_store = "  tcgen05.wait::st.sync.aligned;\n") {
  TmemKernel k;
  k.columns = 32;
  k.body = "  add.u32 %r0, %l, 100;\n" + st("32x32b.x1", 1, "%mine+3") + after_store + "  mov.u32 %r1, 7;\n" +
           ld("32x32b.x1", 1, "%mine+3", 1) + between + "  add.u32 %r2, %r1, 1;\n" +
           "  tcgen05.wait::ld.sync.aligned;\n" + store_registers(1, 2, 2);
  return k.text();
}

TEST(Wait, WaitedRegistersHoldTheValueInEveryOrder) {
  for (Mode mode : {Mode::timed, Mode::late, Mode::seeded}) {
    RunPtx run(load_use("  tcgen05.wait::ld.sync.aligned;\n"));
    run.gpu.options.order = {mode, 1};
    const uint64_t out = run.buffer<uint32_t>(64);
    run.launch("k", {1}, {32}, uint64_t(0), out);
    const auto got = run.download<uint32_t>(out, 64);
    for (uint32_t t = 0; t < 32; ++t) {
      EXPECT_EQ(got[2 * t], t + 100);
      EXPECT_EQ(got[2 * t + 1], t + 101);
    }
    EXPECT_TRUE(run.reports.empty());
  }
}

// A load that a function leaves in flight has no registers to land in once the function has returned: what the next
// frame keeps in the same place stays.
TEST(Wait, ALoadOfAFunctionThatReturnedDoesNotReachTheNextFrame) {
  TmemKernel k;
  k.columns = 32;
  k.body = "  add.u32 %r0, %l, 100;\n" + st("32x32b.x1", 1, "%mine+3") + "  tcgen05.wait::st.sync.aligned;\n" + R"(
  { .param .b32 a; st.param.b32 [a], %mine; call leave, (a); }
  { .param .b32 a; st.param.b32 [a], %mine; call leave, (a); }
  { .param .b32 s; call (s), sum; ld.param.b32 %r1, [s]; }
)" + store_registers(1, 1, 1);
  const std::string functions = R"(
.func leave(.param .b32 a)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r0, [a];
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r0+3];
  ret;
}
.func (.param .b32 s) sum
{
  .reg .b32 %a<8>;
  mov.u32 %a0, %laneid; add.u32 %a1, %a0, 10; add.u32 %a2, %a0, 20; add.u32 %a3, %a0, 30; add.u32 %a4, %a0, 40;
  tcgen05.wait::ld.sync.aligned;
  add.u32 %a0, %a0, %a1; add.u32 %a2, %a2, %a3; add.u32 %a0, %a0, %a2; add.u32 %a0, %a0, %a4;
  add.u32 %a0, %a0, 10; add.u32 %a0, %a0, 20; add.u32 %a0, %a0, 30; add.u32 %a0, %a0, 40;
  st.param.b32 [s], %a0;
  ret;
}
)";
  for (Mode mode : {Mode::timed, Mode::late, Mode::seeded}) {
    RunPtx run(functions + k.text());
    run.gpu.options.order = {mode, 1};
    const uint64_t out = run.buffer<uint32_t>(32);
    run.launch("k", {1}, {32}, uint64_t(0), out);
    const auto got = run.download<uint32_t>(out, 32);
    for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(got[t], 5 * t + 200) << int(mode);
  }
}

// Hardware honours the dependence on the value; the rule is broken all the same.
TEST(Wait, TimedOrderWaitsForTheValueAndSaysSo) {
  RunPtx run(load_use(""));
  const uint64_t out = run.buffer<uint32_t>(64);
  run.launch("k", {1}, {32}, uint64_t(0), out);
  const auto got = run.download<uint32_t>(out, 64);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(got[2 * t + 1], t + 101);
  ASSERT_EQ(codes(run), std::vector<std::string>{"tmem-load-not-waited"});
  EXPECT_EQ(run.reports[0].severity, Severity::note);
  EXPECT_THAT(run.reports[0].help, HasSubstr("tcgen05.wait::ld"));
  EXPECT_THAT(run.reports[0].where.ptx_text, HasSubstr("add.u32"));
  run.launch("k", {1}, {128}, uint64_t(0), run.buffer<uint32_t>(1024));
  EXPECT_EQ(run.reports.size(), 1u);  // once a kernel, however many warps and launches there are
}

// The dependence on the value holds in every legal order: the manual grants it, and NVIDIA's own examples rely on it.
TEST(Wait, OtherOrdersGiveTheValueAndSaySo) {
  for (Mode mode : {Mode::late, Mode::seeded})
    for (uint64_t seed = 0; seed < 8; ++seed) {
      RunPtx run(load_use(""));
      run.gpu.options.order = {mode, seed};
      const uint64_t out = run.buffer<uint32_t>(64);
      run.launch("k", {1}, {32}, uint64_t(0), out);
      const auto got = run.download<uint32_t>(out, 64);
      EXPECT_EQ(codes(run), std::vector<std::string>{"tmem-load-not-waited"});
      for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(got[2 * t + 1], t + 101);
    }
}

// The note does not depend on how long ago the load landed.
TEST(Wait, ALandedLoadStillHasToBeWaitedFor) {
  std::string delay =
      "  mov.u32 %a5, 0;\nDELAY:\n  add.u32 %a5, %a5, 1; setp.lt.u32 %p3, %a5, 200;\n  @%p3 bra DELAY;\n";
  RunPtx run(load_use(delay));
  run.launch("k", {1}, {32}, uint64_t(0), run.buffer<uint32_t>(64));
  EXPECT_EQ(codes(run), std::vector<std::string>{"tmem-load-not-waited"});
}

TEST(Wait, ALoadThatPassesAStoreIsNamed) {
  RunPtx run(load_use("  tcgen05.wait::ld.sync.aligned;\n", ""));
  run.launch("k", {1}, {32}, uint64_t(0), run.buffer<uint32_t>(64));
  EXPECT_THAT(codes(run), Contains("tmem-not-complete"));
}

TEST(Wait, AnOrderExistsInWhichThePassedStoreIsNotSeen) {
  int stale = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    RunPtx run(load_use("  tcgen05.wait::ld.sync.aligned;\n", ""));
    run.gpu.options.order = {Mode::seeded, seed};
    const uint64_t out = run.buffer<uint32_t>(64);
    run.launch("k", {1}, {32}, uint64_t(0), out);
    stale += run.download<uint32_t>(out, 64)[0] == tmem_poison(0, 3);
  }
  EXPECT_GT(stale, 0);
  EXPECT_LT(stale, 16);
}

/// Warps 0 to 3 store and arrive; warps 4 to 7, which have the same lanes, wait for the arrivals and load. What warps
/// 4 to 7 got, as the number of lanes that saw the store.
int seen_behind_an_arrive(const std::string& after_store, Mode mode, std::vector<std::string>& told) {
  TmemKernel k;
  k.columns = 32;
  k.before =
      "  mov.u32 %a2, smem;\n  setp.eq.u32 %p0, %t, 0;\n  @%p0 mbarrier.init.shared::cta.b64 [%a2], 128;\n  bar.sync "
      "0;\n";
  k.body = "  mov.u32 %r1, 7;\n  setp.ge.u32 %p1, %w, 4;\n  @%p1 bra LOAD;\n  mov.u32 %r0, 42;\n" +
           st("32x32b.x1", 1, "%mine") + after_store +
           "  mbarrier.arrive.shared::cta.b64 _, [%a2];\n  bra END;\nLOAD:\n"
           "  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%a2], 0;\n  @!%p2 bra LOAD;\n" +
           ld("32x32b.x1", 1, "%mine", 1) + "  tcgen05.wait::ld.sync.aligned;\nEND:\n" + store_registers(1, 1, 1);
  RunPtx run(k.text());
  run.gpu.options.order = {mode, 1};
  const uint64_t out = run.buffer<uint32_t>(256);
  run.launch("k", {1}, {256}, uint64_t(0), out);
  told = codes(run);
  int seen = 0;
  const auto got = run.download<uint32_t>(out, 256);
  for (int t = 128; t < 256; ++t) seen += got[t] == 42;
  return seen;
}

// CUTLASS's 77_blackwell_fmha does this and runs on a B200: there, and at the profile's times, the store is in time.
// The ISA orders nothing but what wait::st waited for, so the latest legal order shows the old cells and says why.
TEST(Wait, AnArriveDoesNotPublishAStore) {
  std::vector<std::string> told;
  EXPECT_EQ(seen_behind_an_arrive("", Mode::timed, told), 128);
  EXPECT_EQ(seen_behind_an_arrive("", Mode::late, told), 0);
  EXPECT_THAT(told, Contains("tmem-not-complete"));
  for (Mode mode : {Mode::timed, Mode::late, Mode::seeded}) {
    EXPECT_EQ(seen_behind_an_arrive("  tcgen05.wait::st.sync.aligned;\n", mode, told), 128);
    EXPECT_TRUE(told.empty());
  }
}

// ld of stage 0, then a store into the same cells without wait::ld (a stage released too early).
TEST(Wait, RewritingCellsUnderALoadIsNamed) {
  TmemKernel k;
  k.columns = 32;
  k.body = "  mov.u32 %r0, 1; mov.u32 %r5, 2;\n" + st("32x32b.x1", 1, "%mine") + "  tcgen05.wait::st.sync.aligned;\n" +
           ld("32x32b.x1", 1, "%mine", 1) + st("32x32b.x1", 1, "%mine", 5) +
           "  tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;\n" + store_registers(1, 1, 1);
  RunPtx run(k.text());
  run.launch("k", {1}, {32}, uint64_t(0), run.buffer<uint32_t>(32));
  EXPECT_EQ(codes(run), std::vector<std::string>{"tmem-load-not-waited"});
  // Late: the load reads after the store and gets the new value.
  int news = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    RunPtx late(k.text());
    late.gpu.options.order = {Mode::seeded, seed};
    const uint64_t out = late.buffer<uint32_t>(32);
    late.launch("k", {1}, {32}, uint64_t(0), out);
    news += late.download<uint32_t>(out, 1)[0] == 2;
  }
  EXPECT_GT(news, 0);
}

TEST(Wait, DeallocUnderALoadIsNamed) {
  TmemKernel k;
  k.columns = 32;
  k.free = false;
  k.body = "  mov.u32 %r0, 1;\n" + st("32x32b.x1", 1, "%mine") + "  tcgen05.wait::st.sync.aligned;\n" +
           ld("32x32b.x32", 32, "%mine", 1) + "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 32;\n" +
           "  tcgen05.wait::ld.sync.aligned;\n";
  RunPtx run(k.text());
  run.launch("k", {1}, {32}, uint64_t(0), uint64_t(0));
  EXPECT_THAT(codes(run), Contains("tmem-load-not-waited"));
}

// A warp, and then its CTA, leaves without waiting: what is under way lands where it can and nothing else breaks.
TEST(Wait, ExitWithAccessesUnderWay) {
  for (Mode mode : {Mode::timed, Mode::late, Mode::seeded}) {
    TmemKernel k;
    k.columns = 128;
    k.free = false;
    k.body = "  @%first bra FREE;\n  mov.u32 %r0, 1;\n" + st("32x32b.x1", 1, "%mine+64") +
             ld("32x32b.x64", 64, "%mine", 1) +
             "  bar.sync 0;\n  bra END;\nFREE:\n  bar.sync 0;\n  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, "
             "128;\nEND:\n";
    RunPtx run(k.text());
    run.gpu.options.order = {mode, 5};
    const LaunchStats stats = run.launch("k", {20}, {64}, uint64_t(0), uint64_t(0));
    EXPECT_GT(stats.instructions, 20u * 2 * 4) << int(mode);  // every warp of every CTA came to its end
  }
}

TEST(Wait, FreshColumnsHoldPoison) {
  TmemKernel k;
  k.columns = 64;
  k.body = ld("32x32b.x2", 2, "%mine+40", 0) + "  tcgen05.wait::ld.sync.aligned;\n" + store_registers(0, 2, 2);
  RunPtx run(k.text());
  const uint64_t out = run.buffer<uint32_t>(256);
  run.launch("k", {1}, {128}, uint64_t(0), out);
  const auto got = run.download<uint32_t>(out, 256);
  for (uint32_t t = 0; t < 128; ++t) {
    EXPECT_EQ(got[2 * t], 0xDEAD0000 | 40 << 7 | t);
    EXPECT_EQ(got[2 * t + 1], 0xDEAD0000 | 41 << 7 | t);
  }
  EXPECT_EQ(codes(run), std::vector<std::string>{"tmem-uninitialised"});
}

// ---- Addresses

struct Rule {
  const char* name;
  const char* code;
  uint32_t columns;
  std::string body;
};
std::ostream& operator<<(std::ostream& o, const Rule& r) { return o << r.name; }

class AccessRule : public testing::TestWithParam<Rule> {
 protected:
  std::string text() const {
    TmemKernel k;
    k.columns = GetParam().columns;
    k.body = "  mov.u32 %r0, 1; mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 1;\n" + GetParam().body +
             "  tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;\n";
    return k.text();
  }
};

TEST_P(AccessRule, StopsTheKernelWhenStrict) {
  RunPtx run(text());
  const Diagnosis d = run.fault_of("k", {1}, {128}, uint64_t(0), uint64_t(0));
  EXPECT_EQ(d.code, GetParam().code) << diagnosis::render(d);
  EXPECT_FALSE(d.help.empty());
  EXPECT_THAT(d.where.ptx_text, HasSubstr("tcgen05."));
}

TEST_P(AccessRule, IsAWarningByDefault) {
  RunPtx run(text());
  run.gpu.options.strict_tmem = RunOptions().strict_tmem;
  run.launch("k", {1}, {128}, uint64_t(0), uint64_t(0));
  EXPECT_THAT(codes(run), Contains(GetParam().code));
  for (const Diagnosis& d : run.reports) EXPECT_NE(d.severity, Severity::error);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AccessRule,
    testing::Values(
        Rule{"StoreToOtherQuarter", "tmem-warp-owner", 32, st("32x32b.x1", 1, "%base")},
        Rule{"LoadFromOtherQuarter", "tmem-warp-owner", 32, ld("16x256b.x1", 4, "%base")},
        Rule{"SecondHalfInOtherQuarter", "tmem-warp-owner", 64, ld("16x32bx2.x1", 1, "%mine", 0, "2097152")},
        Rule{"LaneNotFirst", "tmem-alignment", 32, ld("32x32b.x1", 1, "%mine+65536")},
        Rule{"HalfLaneFor32", "tmem-alignment", 32, st("32x32b.x1", 1, "%mine+1048576")},
        Rule{"LaneNot16", "tmem-alignment", 32, ld("16x64b.x1", 1, "%mine+524288")},
        Rule{"LanePast127", "tmem-out-of-bounds", 32, ld("32x32b.x1", 1, "%mine+8388608")},
        Rule{"ColumnPast511", "tmem-out-of-bounds", 512, st("32x32b.x4", 4, "%mine+509")},
        Rule{"SplitPast511", "tmem-out-of-bounds", 512, ld("16x32bx2.x1", 1, "%mine", 0, "512")},
        Rule{"PackPast511", "tmem-out-of-bounds", 512, ld("16x64b.x2.pack::16b", 2, "%mine+505")},
        Rule{"Unallocated", "tmem-unallocated", 64, st("32x32b.x1", 1, "%mine+64")},
        Rule{"UnallocatedTail", "tmem-unallocated", 64, ld("32x32b.x4", 4, "%mine+61")},
        Rule{"PackedTail", "tmem-unallocated", 32, ld("32x32b.x2.pack::16b", 2, "%mine+29")},
        Rule{"NotUniform", "tcgen05-not-uniform", 64, "  add.u32 %a0, %mine, %l;\n" + ld("32x32b.x1", 1, "%a0")}),
    [](const auto& info) { return info.param.name; });

TEST(Access, AFreedColumnIsUnallocated) {
  TmemKernel k;
  k.columns = 32;
  k.free = false;
  k.body = "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 32;\n" + ld("32x32b.x1", 1, "%mine");
  RunPtx run(k.text());
  EXPECT_EQ(run.fault_of("k", {1}, {32}, uint64_t(0), uint64_t(0)).code, "tmem-unallocated");
}

TEST(Access, AnotherCtasColumnsAreUnallocated) {
  MachineSpec spec = plain_machine();
  spec.sms = 1;
  TmemKernel k;
  k.columns = 32;
  k.body =
      "  mov.u32 %a5, 0;\nDELAY:\n  add.u32 %a5, %a5, 1; setp.lt.u32 %p3, %a5, 500;\n  @%p3 bra DELAY;\n"
      "  xor.b32 %a6, %mine, 32;\n" +
      ld("32x32b.x1", 1, "%a6") + "  tcgen05.wait::ld.sync.aligned;\n";
  RunPtx run(k.text(), spec);
  const Diagnosis d = run.fault_of("k", {2}, {32}, uint64_t(0), uint64_t(0));
  EXPECT_EQ(d.code, "tmem-unallocated");
  EXPECT_THAT(d.message, HasSubstr("another CTA"));
}

TEST(Access, WholeWarpsOnly) {
  TmemKernel k;
  k.columns = 32;
  k.body = "  setp.lt.u32 %p1, %l, 16;\n  @%p1 bra SKIP;\n" + ld("32x32b.x1", 1, "%mine") + "SKIP:\n";
  RunPtx run(k.text());
  const Diagnosis d = run.fault_of("k", {1}, {32}, uint64_t(0), uint64_t(0));
  EXPECT_EQ(d.kind, FaultKind::deadlock) << diagnosis::render(d);
}

// DeepGEMM and FlashMLA pass lane 0 in every warp (on sm_100), GEMMs of CTA pairs lanes 128 to 255 in the odd CTA: each
// warp gets its own quarter.
TEST(Access, EachWarpGetsItsOwnQuarter) {
  TmemKernel k;
  k.columns = 32;
  k.body = "  mov.u32 %r0, %t;\n" + st("32x32b.x1", 1, "%base") + "  tcgen05.wait::st.sync.aligned;\n" +
           ld("32x32b.x1", 1, "%mine", 1) + "  tcgen05.wait::ld.sync.aligned;\n" + store_registers(1, 1, 1);
  for (const char* lane : {"%base", "%base+8388608", "%base+14680064", "%mine+8388608"}) {  // lanes 0, 128, 224, 128 on
    TmemKernel other = k;
    other.body.replace(other.body.find("[%base]"), 7, std::string("[") + lane + "]");
    RunPtx run(other.text());
    run.gpu.options.strict_tmem = RunOptions().strict_tmem;
    const uint64_t out = run.buffer<uint32_t>(128);
    run.launch("k", {1}, {128}, uint64_t(0), out);
    const auto got = run.download<uint32_t>(out, 128);
    for (uint32_t t = 0; t < 128; ++t) EXPECT_EQ(got[t], t) << lane;
    EXPECT_FALSE(run.reports.empty()) << lane;
    for (const Diagnosis& d : run.reports) EXPECT_EQ(d.severity, Severity::warning);
  }
}

TEST(Access, WarpsOfASecondWarpgroupShareTheQuarters) {
  TmemKernel k;
  k.columns = 64;
  // Warps 4..7 write columns 32 on, warps 0..3 read them.
  k.body = "  setp.lt.u32 %p1, %w, 4;\n  @%p1 bra WAIT;\n  mov.u32 %r0, %t;\n" + st("32x32b.x1", 1, "%mine+32") +
           "  tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;\nWAIT:\n  bar.sync 0;\n"
           "  tcgen05.fence::after_thread_sync;\n" +
           ld("32x32b.x1", 1, "%mine+32", 1) + "  tcgen05.wait::ld.sync.aligned;\n" + store_registers(1, 1, 1);
  RunPtx run(k.text());
  const uint64_t out = run.buffer<uint32_t>(256);
  run.launch("k", {1}, {256}, uint64_t(0), out);
  const auto got = run.download<uint32_t>(out, 256);
  for (uint32_t t = 0; t < 256; ++t) EXPECT_EQ(got[t], t % 128 + 128);
  EXPECT_TRUE(run.reports.empty());
}

// ---- Any pair of shapes, any program

struct Pick {
  const CuteMap* map;
  uint32_t column, start, offset;
  std::string address() const { return fmt::format("%mine+{}", (start << 16) + column); }
  std::pair<uint32_t, uint32_t> cell(uint32_t thread, uint32_t r) const {
    const MapCell c = map->cell(thread % 32, r);
    return {thread / 32 * 32 + start + c.lane, column + c.column + (map->split() && thread % 32 >= 16 ? offset : 0)};
  }
  std::string form(const char* packing) const { return map->suffix() + (map->pack ? packing : ""); }
};

/// A form whose cells fit into `columns`, at a random place. No cell may be in two registers.
Pick pick(std::mt19937& random, uint32_t columns, uint32_t max_registers) {
  for (;;) {
    const CuteMap& m = cute_maps()[random() % cute_maps().size()];
    if (m.registers > max_registers) continue;
    const uint32_t span = m.split() ? 2 * m.columns : m.columns;
    if (span > columns) continue;
    Pick p{&m, 0, 0, 0};
    p.start = m.lanes() == 16 ? 16 * (random() % 2) : 0;
    p.column = random() % (columns - span + 1);
    if (m.split()) p.offset = m.columns + random() % (columns - p.column - span + 1);
    return p;
  }
}

/// 128 lanes x 128 columns, as a plain array.
struct Cells {
  uint32_t at[128][128];
};

TEST(Property, StoreThenLoadInAnyPairOfShapesIsThePermutationOfTheMaps) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const Pick a = pick(random, 128, 64), b = pick(random, 128, 64);
    TmemKernel k;
    k.columns = 128;
    k.body = "  shl.b32 %fill, %t, 8;\n";
    for (uint32_t c = 0; c < 128; c += 32) {
      for (uint32_t i = 0; i < 32; ++i) k.body += fmt::format("  mov.u32 %r{}, {};\n", i, 0x10001 * (c + i));
      k.body += st("32x32b.x32", 32, fmt::format("%mine+{}", c));
    }
    k.body += "  tcgen05.wait::st.sync.aligned;\n";
    for (uint32_t r = 0; r < a.map->registers; ++r)
      k.body += fmt::format("  add.u32 %a0, %fill, {}; mul.lo.u32 %r{}, %a0, 0x9e3779b1;\n", r, r);
    k.body += st(a.form(".unpack::16b"), a.map->registers, a.address(), 0, std::to_string(a.offset)) +
              "  tcgen05.wait::st.sync.aligned;\n" +
              ld(b.form(".pack::16b"), b.map->registers, b.address(), 64, std::to_string(b.offset)) +
              "  tcgen05.wait::ld.sync.aligned;\n" + store_registers(64, b.map->registers, b.map->registers);
    RunPtx run(k.text());
    const uint64_t out = run.buffer<uint32_t>(128 * b.map->registers);
    run.launch("k", {1}, {128}, uint64_t(0), out);
    const auto got = run.download<uint32_t>(out, 128 * b.map->registers);
    static Cells cells;
    for (auto& lane : cells.at)
      for (uint32_t c = 0; c < 128; ++c) lane[c] = 0x10001 * c;
    for (uint32_t t = 0; t < 128; ++t)
      for (uint32_t r = 0; r < a.map->registers; ++r) {
        const auto [lane, c] = a.cell(t, r);
        const uint32_t v = (t << 8 | r) * 0x9e3779b1u;
        cells.at[lane][c] = a.map->pack ? v & 0xffff : v;
        if (a.map->pack) cells.at[lane][c + 1] = v >> 16;
      }
    for (uint32_t t = 0; t < 128; ++t)
      for (uint32_t r = 0; r < b.map->registers; ++r) {
        const auto [lane, c] = b.cell(t, r);
        const uint32_t want =
            b.map->pack ? (cells.at[lane][c] & 0xffff) | cells.at[lane][c + 1] << 16 : cells.at[lane][c];
        ASSERT_EQ(got[t * b.map->registers + r], want) << "round " << round << ": st " << a.form(".unpack") << " ld "
                                                       << b.form(".pack") << " thread " << t << " register " << r;
      }
  }
}

// Stores and loads with only the waits that the rules ask for, against an array that knows nothing of time.
TEST(Property, RandomProgramsAgreeWithAnArray) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    TmemKernel k;
    k.columns = 128;
    static Cells cells;
    std::vector<std::vector<uint32_t>> regs(128, std::vector<uint32_t>(128));
    for (uint32_t r = 0; r < 128; ++r)
      k.body += fmt::format("  mad.lo.u32 %r{0}, %t, 0x1003f, {1};\n", r, r * 0x2545f491u);
    for (uint32_t t = 0; t < 128; ++t)
      for (uint32_t r = 0; r < 128; ++r) regs[t][r] = t * 0x1003f + r * 0x2545f491u;
    for (uint32_t c = 0; c < 128; ++c)
      for (uint32_t t = 0; t < 128; ++t) cells.at[t][c] = regs[t][c];
    k.body += st("32x32b.x128", 128, "%mine") + "  tcgen05.wait::st.sync.aligned;\n";
    // Without a wait: cells being written, cells and registers being loaded.
    struct Area {
      uint32_t lane, lanes, column, columns;
      bool meets(const Area& o) const {
        return lane < o.lane + o.lanes && o.lane < lane + lanes && column < o.column + o.columns &&
               o.column < column + columns;
      }
    };
    std::vector<Area> storing, loading;
    uint32_t loaded_from = 128, loaded_to = 0;
    const auto areas = [](const Pick& p) {
      std::vector<Area> a{{p.start, p.map->lanes(), p.column, p.map->columns}};
      if (p.map->split()) a.push_back({p.start, p.map->lanes(), p.column + p.offset, p.map->columns});
      return a;
    };
    const auto meets = [](const std::vector<Area>& a, const std::vector<Area>& b) {
      for (const Area& x : a)
        for (const Area& y : b)
          if (x.meets(y)) return true;
      return false;
    };
    const auto wait_ld = [&] {
      k.body += "  tcgen05.wait::ld.sync.aligned;\n";
      loading.clear();
      loaded_from = 128;
      loaded_to = 0;
    };
    const auto wait_st = [&] {
      k.body += "  tcgen05.wait::st.sync.aligned;\n";
      storing.clear();
    };
    for (int step = 0; step < 40; ++step) {
      const Pick p = pick(random, 128, 64);
      const uint32_t n = p.map->registers, first = random() % (128 - n + 1);
      const auto mine = areas(p);
      const bool busy = first < loaded_to && loaded_from < first + n;
      if (busy) wait_ld();
      if (meets(mine, storing)) wait_st();
      if (random() % 2) {
        if (meets(mine, loading)) wait_ld();
        k.body += st(p.form(".unpack::16b"), n, p.address(), first, std::to_string(p.offset));
        for (uint32_t t = 0; t < 128; ++t)
          for (uint32_t r = 0; r < n; ++r) {
            const auto [lane, c] = p.cell(t, r);
            const uint32_t v = regs[t][first + r];
            cells.at[lane][c] = p.map->pack ? v & 0xffff : v;
            if (p.map->pack) cells.at[lane][c + 1] = v >> 16;
          }
        storing.insert(storing.end(), mine.begin(), mine.end());
      } else {
        k.body += ld(p.form(".pack::16b"), n, p.address(), first, std::to_string(p.offset));
        for (uint32_t t = 0; t < 128; ++t)
          for (uint32_t r = 0; r < n; ++r) {
            const auto [lane, c] = p.cell(t, r);
            regs[t][first + r] =
                p.map->pack ? (cells.at[lane][c] & 0xffff) | cells.at[lane][c + 1] << 16 : cells.at[lane][c];
          }
        loading.insert(loading.end(), mine.begin(), mine.end());
        loaded_from = std::min(loaded_from, first);
        loaded_to = std::max(loaded_to, first + n);
      }
      if (random() % 8 == 0) wait_ld();
      if (random() % 8 == 0) wait_st();
    }
    wait_ld();
    wait_st();
    k.body += store_registers(0, 128, 128);
    for (Mode mode : {Mode::timed, Mode::late, Mode::seeded}) {
      RunPtx run(k.text());
      run.gpu.options.order = {mode, seed};
      const uint64_t out = run.buffer<uint32_t>(128 * 128);
      run.launch("k", {1}, {128}, uint64_t(0), out);
      const auto got = run.download<uint32_t>(out, 128 * 128);
      for (uint32_t t = 0; t < 128; ++t)
        for (uint32_t r = 0; r < 128; ++r)
          ASSERT_EQ(got[t * 128 + r], regs[t][r])
              << "seed " << seed << " order " << int(mode) << " thread " << t << " register " << r;
      EXPECT_TRUE(run.reports.empty()) << diagnosis::render(run.reports[0]);
    }
  }
}

// ---- ld.red (targets sm_103 and sm_110)

TEST(LoadReduce, MinAndMaxOverTheRegistersOfAThread) {
  struct Case {
    const char* op;
    uint32_t want;
  };
  // Columns 0..3: 1.0, NaN, -3.0, 2.0; as integers 0x3f800000, 0x7fc00001, 0xc0400000, 0x40000000.
  const Case cases[] = {{"min.f32", 0xc0400000},     {"max.f32", 0x40000000},     {"max.abs.f32", 0x40400000},
                        {"min.abs.f32", 0x3f800000}, {"min.NaN.f32", 0x7fffffff}, {"max.abs.NaN.f32", 0x7fffffff},
                        {"min.u32", 0x3f800000},     {"max.u32", 0xc0400000},     {"min.s32", 0xc0400000},
                        {"max.s32", 0x7fc00001}};
  for (const Case& c : cases) {
    TmemKernel k;
    k.columns = 32;
    k.body = "  mov.u32 %r0, 0x3f800000; mov.u32 %r1, 0x7fc00001; mov.u32 %r2, 0xc0400000; mov.u32 %r3, 0x40000000;\n" +
             st("32x32b.x4", 4, "%mine") + "  tcgen05.wait::st.sync.aligned;\n" +
             fmt::format("  tcgen05.ld.red.sync.aligned.32x32b.x4.{} {}, %r14, [%mine];\n", c.op, registers(10, 4)) +
             "  tcgen05.wait::ld.sync.aligned;\n" + store_registers(10, 5, 5);
    RunPtx run(ptx_header("sm_103a") + k.text());
    const uint64_t out = run.buffer<uint32_t>(160);
    run.launch("k", {1}, {32}, uint64_t(0), out);
    const auto got = run.download<uint32_t>(out, 160);
    EXPECT_EQ(got[5 * 31], 0x3f800000u);
    EXPECT_EQ(got[5 * 31 + 2], 0xc0400000u);
    EXPECT_EQ(got[5 * 31 + 4], c.want) << c.op;
  }
}

TEST(LoadReduce, IsRefusedForSm100) {
  TmemKernel k;
  k.body = "  tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r0,%r1}, %r2, [%mine];\n";
  EXPECT_THROW(RunPtx run(k.text()), std::exception);
}

}  // namespace
}  // namespace tinygpu::test
