// Kernels that never end are told from those that take their time: with who spins where, and what the others wait for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "tests/support/run_ptx.h"

namespace tinygpu::test::endless_test {
namespace {

using ::testing::HasSubstr;

std::string kernel(const std::string& body, const std::string& outside = {}) {
  return ptx_header() + outside + R"(
.file 1 "spin.cu"
.visible .entry k(.param .u64 pin)
{
  .reg .b32 %r<16>, %t, %cta; .reg .b64 %rd<16>, %in; .reg .pred %p<8>;
  .local .align 8 .b8 depot[64];
  ld.param.u64 %in, [pin]; mov.u32 %t, %tid.x; mov.u32 %cta, %ctaid.x;
)" + body +
         "\n  ret;\n}\n";
}

Diagnosis fault(const std::string& body, uint32_t ctas = 1, uint32_t threads = 64) {
  RunPtx run(kernel(body));
  return run.fault_of("k", {ctas}, {threads}, run.buffer<uint32_t>(64));
}

/// Runs to the end; the first words of the buffer. No error may be reported on the way.
std::vector<uint32_t> words(const std::string& body, uint32_t ctas, uint32_t threads) {
  RunPtx run(kernel(body));
  const uint64_t buffer = run.buffer<uint32_t>(64);
  run.launch("k", {ctas}, {threads}, buffer);
  for (const Diagnosis& d : run.reports) EXPECT_NE(d.severity, Severity::error) << diagnosis::render(d);
  return run.download<uint32_t>(buffer, 64);
}

void expect_spin(const Diagnosis& d, const char* at) {
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_EQ(d.kind, FaultKind::deadlock);
  EXPECT_THAT(d.message, HasSubstr("the kernel spins forever"));
  EXPECT_THAT(diagnosis::render(d), HasSubstr(at));
}

TEST(Endless, ABranchToItself) {
  for (const uint32_t ctas : {1, 3, 20})
    expect_spin(fault("  .loc 1 7 1\nL: bra L;", ctas), "  --> spin.cu:7:1\n   |\n   | all lanes spin");
}

TEST(Endless, APollByAtomic) {
  expect_spin(fault("L: atom.global.add.u32 %r1, [%in], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;", 4),
              "all lanes spin  [and 7 more warps, in 4 CTAs]\n   | by CTA (0,0,0), warp 0");
  expect_spin(fault("L: atom.add.u32 %r1, [%in], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"), "lanes spin");
  expect_spin(fault("L: ld.weak.global.u32 %r1, [%in]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;", 2), "lanes spin");
}

// The first warp takes it and exits.
TEST(Endless, APollWithAFence) {
  expect_spin(fault("L: fence.acq_rel.gpu; atom.global.add.u32 %r1, [%in], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"),
              "lanes spin");
}

TEST(Endless, ALockThatNobodyReleases) {
  expect_spin(fault("L: atom.global.cas.b32 %r1, [%in], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;", 1, 33),
              "\n   | by CTA (0,0,0), warp ");  // the one that comes second
}

TEST(Endless, OneHalfAtABarrierWhileTheOtherPolls) {
  const Diagnosis d = fault(
      "  setp.lt.u32 %p0, %t, 32; @%p0 bra W;\nL: ld.volatile.global.u32 %r1, [%in]; setp.eq.u32 %p1, %r1, 0; @%p1 bra "
      "L;\n"
      "W: bar.sync 0;\n");
  expect_spin(
      d,
      "all lanes wait at barrier 0: 32 of 64 threads have arrived; warp 1 could end that\n   | by CTA (0,0,0), warp 0");
  EXPECT_THAT(diagnosis::render(d), HasSubstr("all lanes spin\n   | by CTA (0,0,0), warp 1"));
}

TEST(Endless, ALoopThatKeepsItsVariablesInLocalMemory) {
  expect_spin(fault("L: ld.volatile.global.u32 %r1, [%in]; st.local.u32 [depot+4], %r1; ld.local.u32 %r2, [depot+4];\n"
                    "  setp.eq.u32 %p1, %r2, 0; @%p1 bra L;"),
              "lanes spin");
}

TEST(Endless, APollWithABackoffThatCounts) {
  expect_spin(fault("L: mov.u32 %r2, 0;\nM: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 300; @%p2 bra M;\n"
                    "  nanosleep.u32 100; ld.acquire.gpu.global.u32 %r1, [%in]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"),
              "");
}

TEST(Endless, LanesOfOneWarpThatSpinApart) {
  expect_spin(fault("  setp.lt.u32 %p0, %t, 16; @%p0 bra M;\nL: atom.global.add.u32 %r1, [%in], 0; setp.eq.u32 %p1, "
                    "%r1, 0; @%p1 bra L;\n"
                    "  bra E;\nM: ld.volatile.global.u32 %r1, [%in+4]; setp.eq.u32 %p1, %r1, 0; @%p1 bra M;\nE:\n",
                    1, 32),
              "lanes 0 to 15 spin");
}

/// A whole warp counts in memory by `step`, `stride` bytes a lane; every turn begins with the same registers.
std::string counts(const std::string& space, uint32_t stride, uint32_t step) {
  const bool shared = space == "shared";
  return fmt::format(R"(
  {{ .shared .align 16 .b8 cells[512];
  {}
  st.{}.u32 [{}], 0;
L: ld.{}.u32 %r1, [{}]; add.u32 %r1, %r1, {}; st.{}.u32 [{}], %r1;
  setp.lt.u32 %p1, %r1, 300000; mov.u32 %r1, 0; @%p1 bra L;
  ld.{}.u32 %r1, [{}]; st.global.u32 [%in], %r1; }}
)",
                     shared ? fmt::format("mov.u32 %r2, cells; mad.lo.u32 %r2, %t, {}, %r2;", stride)
                            : fmt::format("mad.wide.u32 %rd1, %t, {}, %in;", stride),
                     space, shared ? "%r2" : "%rd1", space, shared ? "%r2" : "%rd1", step, space,
                     shared ? "%r2" : "%rd1", space, shared ? "%r2" : "%rd1");
}

TEST(Endless, StoresOfWhatIsThere) {
  expect_spin(fault(counts("shared", 4, 0), 1, 32), "lanes spin");
  expect_spin(fault(counts("shared", 16, 0), 1, 32), "lanes spin");
  expect_spin(fault(counts("global", 4, 0), 1, 32), "lanes spin");
}

TEST(Endless, InEveryOrderOfCompletion) {
  for (const auto mode : {CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    RunPtx run(kernel("L: atom.global.add.u32 %r1, [%in], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"));
    run.gpu.options.order = {mode, 3};
    expect_spin(run.fault_of("k", {2}, {32}, run.buffer<uint32_t>(64)), "lanes spin");
  }
}

// ---- What only takes long

TEST(NotEndless, ALongComputation) {
  EXPECT_EQ(words("  mov.u32 %r1, 0; mov.u32 %r3, 0;\nL: add.u32 %r1, %r1, 1; xor.b32 %r3, %r3, %r1; setp.lt.u32 %p1, "
                  "%r1, 4000000; @%p1 bra L;\n"
                  "  st.global.u32 [%in], %r1;",
                  1, 32)[0],
            4000000u);
}

TEST(NotEndless, CountsInMemory) {
  EXPECT_EQ(words(counts("shared", 4, 1), 1, 32)[0], 300000u);
  EXPECT_EQ(words(counts("shared", 16, 1), 1, 32)[0], 300000u);
  EXPECT_EQ(words(counts("global", 4, 1), 1, 32)[0], 300000u);
}

TEST(NotEndless, APollOfWhatAnotherCtaWritesMuchLater) {
  EXPECT_EQ(words("  setp.ne.u32 %p0, %cta, 0; @%p0 bra W;\n  mov.u32 %r1, 0;\n"
                  "L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 3000000; @%p1 bra L;\n  st.release.gpu.global.u32 "
                  "[%in], 7; bra E;\n"
                  "W: ld.acquire.gpu.global.u32 %r1, [%in]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;\n  st.global.u32 "
                  "[%in+4], %r1;\nE:\n",
                  2, 32)[1],
            7u);
}

TEST(NotEndless, SpinsOnAClock) {
  for (const char* clock : {"mov.u64 %rd2, %clock64;", "mov.u64 %rd2, %globaltimer;"})
    EXPECT_EQ(words(std::string("  ") + clock + " add.u64 %rd1, %rd2, 60000000;\nL: " + clock +
                        " setp.lt.u64 %p1, %rd2, %rd1; @%p1 bra L;\n  st.global.u32 [%in], 5;",
                    1, 64)[0],
              5u);
  EXPECT_EQ(
      words("  mov.u32 %r1, 0;\nL: nanosleep.u32 1000; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 500000; @%p1 bra L;\n"
            "  st.global.u32 [%in], %r1;",
            1, 64)[0],
      500000u);
}

TEST(NotEndless, APollThatGivesUp) {
  EXPECT_EQ(words("  mov.u32 %r2, 0;\nL: ld.volatile.global.u32 %r1, [%in]; setp.ne.u32 %p1, %r1, 0; @%p1 bra E; "
                  "add.u32 %r2, %r2, 1;\n"
                  "  setp.lt.u32 %p2, %r2, 300000; @%p2 bra L;\nE: st.global.u32 [%in+4], %r2;",
                  1, 32)[1],
            300000u);
}

TEST(NotEndless, APollOfPinnedMemoryThatTheHostWrites) {
  RunPtx run(kernel(
      "L: ld.volatile.global.u32 %r1, [%in]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;\n  st.global.u32 [%in+4], %r1;"));
  const uint64_t flag = run.gpu.memory.allocate(64, 64, MemoryKind::pinned);
  auto* const host = reinterpret_cast<uint32_t*>(run.gpu.memory.translate(flag, 8));
  std::thread writer([host] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    std::atomic_ref(*host).store(9);
  });
  EXPECT_NO_THROW(run.launch("k", {1}, {32}, flag));
  writer.join();
  EXPECT_EQ(host[1], 9u);
}

// It may end by itself: no more than a word.
TEST(NotEndless, APollThatCountsForLongIsWarnedOf) {
  RunPtx run(
      kernel("  mov.u64 %rd1, 0;\nL: ld.volatile.global.u32 %r1, [%in]; add.u64 %rd1, %rd1, 1; setp.eq.u32 %p1, %r1, "
             "0; @%p1 bra L;"));
  run.gpu.options.max_cycles = 4'000'000'000;
  // The host ends it when it is told.
  const uint64_t flag = run.gpu.memory.allocate(64, 64, MemoryKind::pinned);
  auto* const host = reinterpret_cast<uint32_t*>(run.gpu.memory.translate(flag, 8));
  run.gpu.options.on_diagnosis = [&](const Diagnosis& d) {
    run.reports.push_back(d);
    std::atomic_ref(*host).store(1);
  };
  EXPECT_NO_THROW(run.launch("k", {1}, {32}, flag));
  ASSERT_EQ(run.reports.size(), 1u);
  EXPECT_EQ(run.reports[0].code, "polling");
  EXPECT_EQ(run.reports[0].severity, Severity::warning);
  EXPECT_EQ(run.reports[0].label, "all lanes spin");
  EXPECT_EQ(run.reports[0].where.warp, 0);
}

// ---- Limits

TEST(Limits, CyclesOfAKernel) {
  const std::string counts =
      kernel("  mov.u64 %rd1, 0;\nL: add.u64 %rd1, %rd1, 1; setp.ne.u64 %p1, %rd1, 0; @%p1 bra L;");
  for (const uint32_t ctas : {1, 4}) {
    RunPtx run(counts);
    run.gpu.options.max_cycles = 300000;
    const Diagnosis d = run.fault_of("k", {ctas}, {32}, run.buffer<uint32_t>(1));
    EXPECT_EQ(d.code, "max-cycles");
    EXPECT_EQ(d.kind, FaultKind::deadlock);
    EXPECT_THAT(d.message, HasSubstr("the kernel has run for 300000 cycles, its limit"));
    EXPECT_THAT(diagnosis::render(d), HasSubstr("all lanes spin"));
    EXPECT_EQ(d.where.warp, 0);
    EXPECT_EQ(d.label.find("[and in 3 more CTAs]") != std::string::npos, ctas == 4);
    EXPECT_THAT(d.help, HasSubstr("--max-cycles"));
  }
  RunPtx run(kernel("  nanosleep.u32 200000;"));
  run.gpu.options.max_cycles = 300000;
  run.launch("k", {1}, {32}, run.buffer<uint32_t>(1));
}

TEST(Limits, WhatIsInFlightWhenAKernelIsStopped) {
  RunPtx run(kernel("  .loc 1 9 1\n  cp.async.ca.shared.global [copied], [%in], 4;\nL: bra L;",
                    ".shared .align 16 .b8 copied[16];"));
  run.gpu.options.max_cycles =
      run.gpu.timing.launch.latency + run.gpu.timing.launch.cta + run.gpu.timing.memory.cp_async_latency;
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1));
  EXPECT_EQ(d.code, "max-cycles");
  ASSERT_EQ(d.others.size(), 1u);
  EXPECT_THAT(d.others[0].label, HasSubstr("in flight: 1 of these, the first until cycle "));
  EXPECT_EQ(d.others[0].where.ptx_text, "cp.async.ca.shared.global [copied], [%in], 4");
  EXPECT_EQ(d.others[0].where.cuda_line, 9);
}

constexpr uint64_t kMiB = 1 << 20;

uint64_t peak_bytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return uint64_t(usage.ru_maxrss) * 1024;
}

/// Since `before` the process has needed less than `limit` more.
void expect_growth_below(uint64_t limit, uint64_t before) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // Sanitizers keep books of memory, and keep freed memory, themselves.
  (void)limit, (void)before;
#else
  EXPECT_LT(peak_bytes() - before, limit);
#endif
}

TEST(Limits, RecursionWithoutLocalMemory) {
  RunPtx run(kernel("  call f;", ".func f() { call f; ret; }\n"));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1));
  EXPECT_EQ(d.code, "stack-overflow");
  EXPECT_EQ(d.kind, FaultKind::stack_overflow);
  EXPECT_THAT(d.message, HasSubstr("32765 calls deep, with 64 bytes of local memory"));
}

TEST(Limits, LocalArraysOfCallsInCalls) {
  RunPtx run(kernel("  call f;", R"(
.func f() {
  .local .align 4 .b8 big[200000];
  .reg .b64 %a;
  mov.u64 %a, big;
  st.local.u32 [%a], 1;
  call f;
  ret;
}
)"));
  const uint64_t before = peak_bytes();
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1));
  EXPECT_EQ(d.code, "stack-overflow");
  EXPECT_THAT(d.message, HasSubstr("past the 524288 bytes that a thread's stack may have"));
  expect_growth_below(64 * kMiB, before);
}

/// One thread issues so many copies of 8 KiB out of shared memory and waits for the last; the seconds of a processor
/// that this takes.
double copies_in_flight(int copies) {
  RunPtx run(kernel(fmt::format(R"(
  .shared .align 128 .b8 smem[8192];
  mov.u32 %r1, smem; mov.u32 %r2, 0;
L: cp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 8192; cp.async.bulk.commit_group;
  add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {}; @%p1 bra L;
  cp.async.bulk.wait_group 0;
)",
                                copies)));
  const uint64_t buffer = run.buffer<uint8_t>(8192);
  const std::clock_t begin = std::clock();
  run.launch("k", {1}, {1}, buffer);
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Limits, OperationsInFlight) {
  const uint64_t before = peak_bytes();
  copies_in_flight(250000);
  expect_growth_below(80 * kMiB, before);
}

TEST(Limits, FourTimesTheCopiesInFlightTakeFourTimesAsLong) {
  EXPECT_LT(copies_in_flight(80000), 9 * copies_in_flight(20000)) << "16 times if each is compared with all others";
}

TEST(Limits, GroupsWithoutCopies) {
  const uint64_t before = peak_bytes();
  RunPtx run(kernel(R"(
  .shared .align 128 .b8 smem[8192];
  mov.u32 %r1, smem; mov.u32 %r2, 0;
  cp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 8192; cp.async.bulk.commit_group;
  cp.async.ca.shared.global [%r1], [%in], 16; cp.async.commit_group;
L: cp.async.bulk.commit_group; cp.async.commit_group;
  add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 200000; @%p1 bra L;
  cp.async.bulk.wait_group 0; cp.async.wait_group 0;
)"));
  run.gpu.options.order = {CompletionOrder::Mode::late, 0};
  run.launch("k", {1}, {32}, run.buffer<uint8_t>(8192));
  expect_growth_below(32 * kMiB, before);
}

}  // namespace
}  // namespace tinygpu::test::endless_test
