// tcgen05.alloc, dealloc, relinquish_alloc_permit: who gets which columns when, and the rules.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "tests/support/run_ptx.h"
#include "tests/tmem/kernel_text.h"

namespace tinygpu::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Allocator, LowestAlignedBlockFirst) {
  EXPECT_EQ(TensorMemory::find_free(0, 1), 0);
  EXPECT_EQ(TensorMemory::find_free(0b1, 1), 1);
  EXPECT_EQ(TensorMemory::find_free(0b1, 2), 2);
  EXPECT_EQ(TensorMemory::find_free(0b101, 2), -1 + 5);
  EXPECT_EQ(TensorMemory::find_free(0b1, 8), 8);
  EXPECT_EQ(TensorMemory::find_free(0x0101, 8), -1);
  EXPECT_EQ(TensorMemory::find_free(0, 16), 0);
  EXPECT_EQ(TensorMemory::find_free(0x8000, 16), -1);
}

/// One warp; `body` with %slot, %first ready, and out.
std::string one_warp(const std::string& body, const std::string& declarations = "") {
  return R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>; .reg .b32 %r<64>; .reg .b64 %rd<16>, %out;
  .shared .align 16 .b32 slot[16];
)" + declarations +
         "  ld.param.u64 %out, [out];\n" + body + "\n  ret;\n}\n";
}

const char* kAlloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32";
const char* kDealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32";

TEST(Alloc, ReturnsLaneZeroAndTheColumnInSharedMemory) {
  RunPtx run(one_warp(fmt::format(R"(
  mov.u32 %r0, slot;
  {0} [%r0], 128;      {0} [%r0+4], 64;     {0} [%r0+8], 32;
  ld.shared.b32 %r1, [%r0]; ld.shared.b32 %r2, [%r0+4]; ld.shared.b32 %r3, [%r0+8];
  {1} %r2, 64;
  {0} [%r0+12], 32;
  ld.shared.b32 %r4, [%r0+12];
  st.global.b32 [%out], %r1; st.global.b32 [%out+4], %r2; st.global.b32 [%out+8], %r3; st.global.b32 [%out+12], %r4;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  {1} %r1, 128; {1} %r3, 32; {1} %r4, 32;)",
                                  kAlloc, kDealloc)));
  const uint64_t out = run.buffer<uint32_t>(4);
  run.launch("k", {1}, {32}, out);
  EXPECT_THAT(run.download<uint32_t>(out, 4), ElementsAre(0, 128, 192, 128));
  EXPECT_TRUE(run.reports.empty());
}

TEST(Alloc, GenericAddressAndRegisterCount) {
  RunPtx run(one_warp(R"(
  mov.u64 %rd0, slot; cvta.shared.u64 %rd0, %rd0; mov.u32 %r5, 256;
  tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd0+8], %r5;
  ld.shared.b32 %r1, [slot+8];
  add.u32 %r2, %r1, 7; st.global.b32 [%out], %r2;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, %r5;)"));
  const uint64_t out = run.buffer<uint32_t>(1);
  run.launch("k", {1}, {32}, out);
  EXPECT_THAT(run.download<uint32_t>(out, 1), ElementsAre(7));
}

TEST(Alloc, TakesTheProfilesTime) {
  RunPtx run(one_warp(fmt::format(R"(
  mov.u32 %r0, slot;
  mov.u64 %rd0, %clock64;
  mov.u64 %rd1, %clock64;
  {0} [%r0], 128;
  mov.u64 %rd2, %clock64;
  ld.shared.b32 %r1, [%r0]; add.u32 %r2, %r1, 1;
  mov.u64 %rd3, %clock64;
  {1} %r1, 128;
  mov.u64 %rd4, %clock64;
  sub.u64 %rd0, %rd1, %rd0; sub.u64 %rd1, %rd2, %rd1; sub.u64 %rd2, %rd4, %rd3;
  st.global.u64 [%out], %rd0; st.global.u64 [%out+8], %rd1; st.global.u64 [%out+16], %rd2; st.global.u32 [%out+24], %r2;)",
                                  kAlloc, kDealloc)));
  const uint64_t out = run.buffer<uint64_t>(4);
  run.launch("k", {1}, {32}, out);
  const auto t = run.download<uint64_t>(out, 3);
  EXPECT_NEAR(double(t[1] - t[0]), run.gpu.spec.number("tcgen05.alloc"), 3);
  EXPECT_NEAR(double(t[2] - t[0]), run.gpu.spec.number("tcgen05.dealloc"), 3);
}

/// PTX: a loop of `turns` turns.
std::string linger(int turns) {
  return fmt::format("mov.u32 %r3, 0;\nLOOP: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, {};\n  @%p1 bra LOOP;", turns);
}

// Two CTAs on one SM, 512 columns each: the second waits until the first has freed.
TEST(Alloc, BlocksUntilColumnsAreFree) {
  MachineSpec spec = plain_machine();
  spec.sms = 1;
  RunPtx run(one_warp(fmt::format(R"(
  mov.u32 %r0, slot;
  mov.u32 %r8, %ctaid.x; mul.wide.u32 %rd5, %r8, 24; add.u64 %out, %out, %rd5;
  {0} [%r0], 512;
  mov.u64 %rd1, %clock64;
  ld.shared.b32 %r1, [%r0];
  {2}
  mov.u64 %rd2, %clock64;
  {1} %r1, 512;
  st.global.u64 [%out], %rd1; st.global.u64 [%out+8], %rd2; st.global.u32 [%out+16], %r1;)",
                                  kAlloc, kDealloc, linger(1000))),
             spec);
  const uint64_t out = run.buffer<uint64_t>(9);
  run.launch("k", {3}, {32}, out);
  auto t = run.download<uint64_t>(out, 9);
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (int c = 0; c < 3; ++c) {
    spans.emplace_back(t[c * 3], t[c * 3 + 1]);
    EXPECT_EQ(uint32_t(t[c * 3 + 2]), 0u);
  }
  std::sort(spans.begin(), spans.end());
  EXPECT_GE(spans[1].first, spans[0].second);
  EXPECT_GE(spans[2].first, spans[1].second);
}

TEST(Alloc, CoResidentCtasGetDifferentColumns) {
  MachineSpec spec = plain_machine();
  spec.sms = 1;
  RunPtx run(one_warp(fmt::format(R"(
  mov.u32 %r0, slot;
  mov.u32 %r8, %ctaid.x; mul.wide.u32 %rd5, %r8, 4; add.u64 %out, %out, %rd5;
  {0} [%r0], 128;
  ld.shared.b32 %r1, [%r0];
  st.global.b32 [%out], %r1;
  {2}
  {1} %r1, 128;)",
                                  kAlloc, kDealloc, linger(2000))),
             spec);
  const uint64_t out = run.buffer<uint32_t>(4);
  run.launch("k", {4}, {32}, out);
  auto bases = run.download<uint32_t>(out, 4);
  std::sort(bases.begin(), bases.end());
  EXPECT_THAT(bases, ElementsAre(0, 128, 256, 384));
}

TEST(Alloc, ADeadlockNamesWhoWaitsForColumns) {
  RunPtx run(one_warp(fmt::format("  mov.u32 %r0, slot; {0} [%r0], 512; {0} [%r0+4], 512;", kAlloc)));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1));
  EXPECT_EQ(d.kind, FaultKind::deadlock);
  EXPECT_EQ(d.label, "all lanes wait for free Tensor Memory columns");
  EXPECT_THAT(d.where.ptx_text, HasSubstr("tcgen05.alloc"));
}

// ---- Rules: each an error when strict; by default a warning that lets the kernel go on, but for what the generated
// code traps on

struct Rule {
  const char* name;
  const char* code;
  std::string body;
  const char* traps = nullptr;  // the error that stops the kernel in any case
};

std::ostream& operator<<(std::ostream& o, const Rule& r) { return o << r.name; }

class AllocRule : public testing::TestWithParam<Rule> {};

TEST_P(AllocRule, StopsTheKernelWhenStrict) {
  RunPtx run(one_warp(GetParam().body));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(4));
  EXPECT_EQ(d.code, GetParam().code) << diagnosis::render(d);
  EXPECT_FALSE(d.help.empty());
  EXPECT_GT(d.where.ptx_line, 0);
}

TEST_P(AllocRule, IsAWarningByDefaultUnlessHardwareTraps) {
  RunPtx run(one_warp(GetParam().body));
  run.gpu.options.strict_tmem = RunOptions().strict_tmem;
  if (GetParam().traps) {
    const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(4));
    EXPECT_EQ(d.code, GetParam().traps) << diagnosis::render(d);
    EXPECT_EQ(d.kind, FaultKind::trap);
    return;
  }
  run.launch("k", {1}, {32}, run.buffer<uint32_t>(4));
  ASSERT_FALSE(run.reports.empty());
  EXPECT_EQ(run.reports[0].code, GetParam().code);
  EXPECT_EQ(run.reports[0].severity, Severity::warning);
}

std::string filled(const char* body) { return fmt::format(fmt::runtime(body), kAlloc, kDealloc); }

INSTANTIATE_TEST_SUITE_P(
    Rules, AllocRule,
    testing::Values(
        Rule{"Granularity0", "alloc-granularity",
             filled("mov.u32 %r0, slot; mov.u32 %r1, 0; {0} [%r0], %r1; ld.shared.b32 %r2, [%r0]; {1} %r2, 32;")},
        Rule{"Granularity48", "alloc-granularity",
             filled("mov.u32 %r0, slot; mov.u32 %r1, 48; {0} [%r0], %r1; ld.shared.b32 %r2, [%r0]; {1} %r2, 64;")},
        Rule{"Granularity1024", "alloc-granularity",
             filled("mov.u32 %r0, slot; mov.u32 %r1, 1024; {0} [%r0], %r1; ld.shared.b32 %r2, [%r0]; {1} %r2, 512;")},
        Rule{"AfterRelinquish", "alloc-after-relinquish",
             filled("mov.u32 %r0, slot; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; {0} [%r0], 32; "
                    "ld.shared.b32 %r2, [%r0]; {1} %r2, 32;"),
             "alloc-after-relinquish"},
        Rule{"SizeGrew", "alloc-size-grew",
             filled("mov.u32 %r0, slot; {0} [%r0], 32; {0} [%r0+4], 64; ld.shared.b32 %r2, [%r0]; "
                    "ld.shared.b32 %r3, [%r0+4]; {1} %r2, 32; {1} %r3, 64;")},
        Rule{"Leak", "tmem-leak", filled("mov.u32 %r0, slot; {0} [%r0], 32;")},
        Rule{"DeallocOtherAddress", "dealloc-mismatch",
             filled("mov.u32 %r0, slot; {0} [%r0], 64; ld.shared.b32 %r2, [%r0]; add.u32 %r3, %r2, 32; {1} %r3, 32; "
                    "{1} %r2, 32;"),
             "dealloc-mismatch"},
        Rule{"DeallocWithLane", "dealloc-mismatch",
             filled("mov.u32 %r0, slot; {0} [%r0], 64; ld.shared.b32 %r2, [%r0]; add.u32 %r3, %r2, 0x100000; {1} %r3, "
                    "64;")},
        Rule{"DeallocPart", "dealloc-mismatch",
             filled("mov.u32 %r0, slot; {0} [%r0], 64; ld.shared.b32 %r2, [%r0]; {1} %r2, 32;")},
        Rule{"DeallocTwice", "tmem-unallocated",
             filled("mov.u32 %r0, slot; {0} [%r0], 64; ld.shared.b32 %r2, [%r0]; {1} %r2, 64; {1} %r2, 64;"),
             "tmem-unallocated"},
        Rule{"DeallocGranularity", "alloc-granularity",
             filled("mov.u32 %r0, slot; {0} [%r0], 128; ld.shared.b32 %r2, [%r0]; {1} %r2, 96;")},
        Rule{"DeallocOutOfBounds", "tmem-out-of-bounds",
             filled("mov.u32 %r0, slot; {0} [%r0], 128; ld.shared.b32 %r2, [%r0]; mov.u32 %r3, 480; {1} %r3, 64; {1} "
                    "%r2, 128;"),
             "tmem-unallocated"}),
    [](const auto& info) { return info.param.name; });

// Refused before it runs, as ptxas does, here also across calls.
TEST(Alloc, MixedCtaGroups) {
  EXPECT_THROW(RunPtx(one_warp("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; "
                               "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;")),
               std::exception);
  EXPECT_THROW(RunPtx(".func other() { tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned; ret; }\n" +
                      one_warp("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; call other;")),
               std::exception);
}

TEST(Alloc, OperandsMustBeUniform) {
  RunPtx run(one_warp(filled("mov.u32 %r0, slot; mov.u32 %r1, %laneid; shl.b32 %r1, %r1, 5; {0} [%r0], %r1;")));
  EXPECT_EQ(run.fault_of("k", {1}, {32}, uint64_t(0)).code, "tcgen05-not-uniform");
}

TEST(Alloc, WholeWarpsOnly) {
  RunPtx run(one_warp(filled("mov.u32 %r0, slot; {0} [%r0], 32;")));
  EXPECT_EQ(run.fault_of("k", {1}, {16}, uint64_t(0)).code, "tcgen05-partial-warp");
}

TEST(Alloc, DestinationIsOwnSharedMemory) {
  RunPtx run(one_warp("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%out], 32;"));
  EXPECT_EQ(run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1)).code, "alloc-destination");
}

// What a leak does: the columns stay taken, so a later CTA of the SM waits forever. Inferred; no document says.
TEST(Alloc, ALeakStarvesTheNextCta) {
  MachineSpec spec = plain_machine();
  spec.sms = 1;
  RunPtx run(one_warp(filled(R"(
  mov.u32 %r0, slot; mov.u32 %r8, %ctaid.x; setp.eq.u32 %p1, %r8, 0;
  {0} [%r0], 512;
  @%p1 bra DONE;
  ld.shared.b32 %r2, [%r0]; {1} %r2, 512;
DONE:)")),
             spec);
  run.gpu.options.strict_tmem = false;
  const Diagnosis d = run.fault_of("k", {2}, {32}, uint64_t(0));
  EXPECT_EQ(d.kind, FaultKind::deadlock);
  ASSERT_FALSE(run.reports.empty());
  EXPECT_EQ(run.reports[0].code, "tmem-leak");
}

// ---- cta_group::2

const char* kAlloc2 = "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32";
const char* kDealloc2 = "tcgen05.dealloc.cta_group::2.sync.aligned.b32";
std::string pair(const char* body) { return one_warp(fmt::format(fmt::runtime(body), kAlloc2, kDealloc2)); }

const char* kSync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

TEST(AllocPair, BothGetTheSameColumns) {
  for (const auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    RunPtx run(one_warp(fmt::format(R"(
  mov.u32 %r0, slot; mov.u32 %r8, %ctaid.x; mul.wide.u32 %rd5, %r8, 8; add.u64 %out, %out, %rd5;
  {0} [%r0], 256; {0} [%r0+4], 64;
  {2}
  ld.shared.b32 %r1, [%r0]; ld.shared.b32 %r2, [%r0+4];
  st.global.b32 [%out], %r1; st.global.b32 [%out+4], %r2;
  {1} %r1, 256; {1} %r2, 64;)",
                                    kAlloc2, kDealloc2, kSync)));
    run.gpu.options.order = {mode, 3};
    run.cluster = {2};
    const uint64_t out = run.buffer<uint32_t>(8);
    run.launch("k", {4}, {32}, out);
    EXPECT_THAT(run.download<uint32_t>(out, 8), ElementsAre(0, 256, 0, 256, 0, 256, 0, 256));
    EXPECT_TRUE(run.reports.empty());
  }
}

TEST(AllocPair, TheFirstWaitsForThePeer) {
  RunPtx run(pair(R"(
  mov.u32 %r0, slot; mov.u32 %r8, %cluster_ctarank; setp.eq.u32 %p1, %r8, 0; mul.wide.u32 %rd5, %r8, 16; add.u64 %out, %out, %rd5;
  mov.u32 %r3, 0;
  @%p1 bra GO;
LOOP:
  add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 1000;
  @%p2 bra LOOP;
GO:
  mov.u64 %rd1, %clock64;
  {0} [%r0], 256;
  mov.u64 %rd2, %clock64;
  st.global.u64 [%out], %rd1; st.global.u64 [%out+8], %rd2;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ld.shared.b32 %r1, [%r0];
  {1} %r1, 256;)"));
  run.cluster = {2};
  const uint64_t out = run.buffer<uint64_t>(4);
  run.launch("k", {2}, {32}, out);
  const auto t = run.download<uint64_t>(out, 4);
  EXPECT_GT(t[2], t[0] + 1000);  // CTA 1 asked late
  EXPECT_GT(t[1], t[2]);         // CTA 0 got its answer after that
  EXPECT_NEAR(double(t[1]), double(t[3]), 4);
}

TEST(AllocPair, WaitsForAPairOfFreeBlocks) {
  // Two pairs share two SMs; each wants everything.
  MachineSpec spec = plain_machine();
  spec.sms = 2;
  RunPtx run(pair(R"(
  mov.u32 %r0, slot;
  {0} [%r0], 512;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ld.shared.b32 %r1, [%r0];
  {1} %r1, 512;)"),
             spec);
  run.cluster = {2};
  run.launch("k", {8}, {32}, uint64_t(0));
  EXPECT_TRUE(run.reports.empty());
}

TEST(AllocPair, NeedsACluster) {
  RunPtx run(pair("mov.u32 %r0, slot; {0} [%r0], 32;"));
  EXPECT_EQ(run.fault_of("k", {2}, {32}, uint64_t(0)).code, "cta-pair-missing");
}

TEST(AllocPair, SameColumnsInBoth) {
  RunPtx run(pair(
      "mov.u32 %r0, slot; mov.u32 %r8, %cluster_ctarank; add.u32 %r8, %r8, 1; shl.b32 %r8, %r8, 5; {0} [%r0], %r8;"));
  run.cluster = {2};
  EXPECT_EQ(run.fault_of("k", {2}, {32}, uint64_t(0)).code, "cta-pair-mismatch");
}

TEST(AllocPair, APeerThatLeavesIsNamed) {
  RunPtx run(pair(R"(
  mov.u32 %r0, slot; mov.u32 %r8, %cluster_ctarank; setp.eq.u32 %p1, %r8, 1;
  @%p1 bra DONE;
  {0} [%r0], 32;
DONE:)"));
  run.cluster = {2};
  EXPECT_EQ(run.fault_of("k", {2}, {32}, uint64_t(0)).code, "cta-pair-exited");
}

TEST(AllocPair, APeerThatLeavesBeforeDeallocIsNamed) {
  RunPtx run(pair(R"(
  mov.u32 %r0, slot; mov.u32 %r8, %cluster_ctarank; setp.eq.u32 %p1, %r8, 1;
  {0} [%r0], 32;
  ld.shared.b32 %r1, [%r0];
  @%p1 bra DONE;
  {1} %r1, 32;
DONE:)"));
  run.cluster = {2};
  const Diagnosis d = run.fault_of("k", {2}, {32}, uint64_t(0));
  EXPECT_TRUE(d.code == "tmem-leak" || d.code == "cta-pair-exited") << diagnosis::render(d);
}

// CUTLASS #3435: one CTA frees while the other is still inside the allocation.
TEST(AllocPair, DeallocBeforeThePeersAllocEndedIsNamed) {
  bool seen = false;
  for (uint64_t seed = 0; seed < 16 && !seen; ++seed) {
    RunPtx run(pair("mov.u32 %r0, slot; {0} [%r0], 32; ld.shared.b32 %r1, [%r0]; {1} %r1, 32;"));
    run.cluster = {2};
    run.gpu.options.order = {CompletionOrder::Mode::seeded, seed};
    try {
      run.launch("k", {2}, {32}, uint64_t(0));
    } catch (const KernelFault& f) {
      seen |= f.diagnosis.code == "dealloc-before-peer";
    }
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace tinygpu::test
