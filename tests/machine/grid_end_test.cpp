// A grid is over when what it has written is in L2: a store's issue is not its end.
#include <gtest/gtest.h>

#include "tests/machine/grids.h"

namespace tinygpu::test::grid_end_test {
namespace {

/// Each thread stores `count` words, a grid's width apart, then stays for `stay` cycles.
const char* kStores = R"(
.visible .entry k(.param .u64 out, .param .u32 count, .param .u32 stay) {
  .reg .b64 %at, %step, %now, %until;
  .reg .b32 %t, %n, %width, %i;
  .reg .pred %p;
  ld.param.u64 %at, [out];
  ld.param.u32 %n, [count];
  mov.u32 %t, %ctaid.x;
  mov.u32 %width, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %t, %t, %width, %i;
  mad.wide.u32 %at, %t, 4, %at;
  mov.u32 %i, %nctaid.x;
  mul.lo.u32 %width, %width, %i;
  mul.wide.u32 %step, %width, 4;
L:
  setp.eq.u32 %p, %n, 0;
  @%p bra D;
  st.global.u32 [%at], %n;
  add.u64 %at, %at, %step;
  sub.u32 %n, %n, 1;
  bra L;
D:
  ld.param.u32 %n, [stay];
  mov.u64 %until, %clock64;
  cvt.u64.u32 %step, %n;
  add.u64 %until, %until, %step;
W:
  mov.u64 %now, %clock64;
  setp.lt.u64 %p, %now, %until;
  @%p bra W;
})";

uint64_t stores(uint32_t count, uint32_t stay, const Numbers& more = {}, int threads = 0) {
  RunPtx run(kStores, raised(more));
  run.gpu.options.threads = threads;
  const uint64_t out = run.buffer<uint32_t>(8 * 256 * (count + 1));
  return run.launch("k", {8}, {256}, out, count, stay).cycles;
}

const Numbers kCold{{"launch.translation", 5000}}, kColder{{"launch.translation", 5777}};

TEST(GridEnd, WaitsForAStoreThatHasNoTranslation) {
  EXPECT_EQ(stores(1, 0, kColder), stores(1, 0, kCold) + 777);
  EXPECT_GT(stores(1, 0, kCold), stores(1, 0) + 4000);
}

TEST(GridEnd, WithoutStoresItWaitsForNothing) { EXPECT_EQ(stores(0, 0, kColder), stores(0, 0)); }

TEST(GridEnd, StoresThatWereLongAgoAreAnsweredFor) { EXPECT_EQ(stores(1, 20000, kColder), stores(1, 20000)); }

TEST(GridEnd, TakesAsLongAsL2TakesTheStores) {
  // 8 CTAs of 256 threads write 16 KiB, 8 bytes a cycle.
  const Numbers slow{{"mem.l2.write_bytes_per_cycle", 8 - plain_machine().number("mem.l2.write_bytes_per_cycle")}};
  const uint64_t bytes = 8 * 256 * 4 * 2;
  EXPECT_GT(stores(2, 0, slow), stores(0, 0) + bytes / 8 - 500) << "the end itself covers a way to L2 and back";
  EXPECT_LT(stores(2, 0, slow), stores(0, 0) + bytes / 8 + 1000);
}

TEST(GridEnd, DoesNotDependOnHostThreads) { EXPECT_EQ(stores(20, 0, kCold, 1), stores(20, 0, kCold, 5)); }

TEST(GridEnd, ReductionsAndBulkStoresCountAsWell) {
  const char* reductions = R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %at;
  .reg .b32 %t;
  ld.param.u64 %at, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %at, %t, 128, %at;
  red.global.add.u32 [%at], 1;
})";
  const char* bulk = R"(
.visible .entry k(.param .u64 out) {
  .shared .align 128 .b8 buffer[4096];
  .reg .b64 %at;
  .reg .b32 %from, %t;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @%p ret;
  ld.param.u64 %at, [out];
  mov.u32 %from, buffer;
  cp.async.bulk.global.shared::cta.bulk_group [%at], [%from], 4096;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
})";
  for (const char* text : {reductions, bulk}) {
    const auto cycles = [&](double bytes_a_cycle) {
      RunPtx run(text, with({{"mem.l2.write_bytes_per_cycle", bytes_a_cycle}}));
      return run.launch("k", {1}, {32}, run.buffer<uint32_t>(1024)).cycles;
    };
    EXPECT_GT(cycles(0.5), cycles(1) + 500) << text;
    EXPECT_GT(cycles(1), cycles(1000) + 500) << text;
  }
}

TEST(GridEnd, WhoDependsOnItWaitsAsLong) {
  const char* text = R"(
.visible .entry k(.param .u64 stamp) {
  .reg .b64 %out, %now;
  .reg .b32 %t;
  griddepcontrol.wait;
  mov.u64 %now, %clock64;
  griddepcontrol.launch_dependents;
  ld.param.u64 %out, [stamp];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 128, %out;
  st.global.u64 [%out], %now;
})";
  const auto waited = [&](double bytes_a_cycle) {
    RunPtx run(text, with({{"mem.l2.write_bytes_per_cycle", bytes_a_cycle}}));
    const uint64_t first = run.buffer<uint64_t>(512), second = run.buffer<uint64_t>(512);
    run.launch_dependent(run.config("k", {1}, {32}, first), run.config("k", {1}, {32}, second));
    return run.download<uint64_t>(second, 1)[0] - run.download<uint64_t>(first, 1)[0];
  };
  EXPECT_GT(waited(0.5), waited(1) + 1000);
  EXPECT_GT(waited(1), waited(1000) + 500);
}

}  // namespace
}  // namespace tinygpu::test::grid_end_test
