// A fence beyond the CTA, and a release, is over when what its SM has stored is in L2 and the fence has been there and
// back.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

struct Change {
  std::string number;
  double by;
};

/// Cycles that `fence` takes each warp of `ctas` CTAs, behind `before`; one word of 128 bytes apart for each warp, and
/// `target` to access.
std::vector<uint32_t> took(const std::string& before, const std::string& fence, uint32_t warps = 1, Change c = {},
                           uint32_t ctas = 2, int threads = 0) {
  MachineSpec spec = hopper_machine();
  if (!c.number.empty()) spec.numbers.at(c.number) += c.by;
  RunPtx run(ptx_header("sm_90a") + R"(
.visible .entry k(.param .u64 pout, .param .u64 ptarget) {
  .shared .align 128 .b8 tile[4096];
  .shared .align 8 .b64 barrier;
  .reg .b64 %out, %target, %line, %t0, %t1;
  .reg .b32 %w, %n, %r, %tile;
  .reg .pred %p, %issuer;
  ld.param.u64 %out, [pout];
  ld.param.u64 %target, [ptarget];
  mov.u32 %tile, tile;
  mov.u32 %w, %tid.x;
  setp.eq.u32 %issuer, %w, 0;
  shr.u32 %w, %w, 5;
  mov.u32 %n, %ntid.x;
  shr.u32 %n, %n, 5;
  mov.u32 %r, %ctaid.x;
  mad.lo.u32 %w, %r, %n, %w;
  mad.wide.u32 %out, %w, 4, %out;
  mad.wide.u32 %line, %w, 4096, %target;
  @%issuer mbarrier.init.shared::cta.b64 [barrier], 1024;
  )" + before + "\n  bar.sync 0;\n  mov.u64 %t0, %clock64;\n  " +
                 fence + R"(
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  cvt.u32.u64 %r, %t1;
  st.global.u32 [%out], %r;
})",
             spec);
  run.gpu.options.threads = threads;
  run.cluster = {2};
  const uint64_t out = run.buffer<uint32_t>(ctas * warps), target = run.buffer<uint8_t>(4096 * ctas * warps);
  run.launch("k", {ctas}, {32 * warps}, out, target);
  return run.download<uint32_t>(out, ctas * warps);
}

const std::string kGpuFence = "fence.acq_rel.gpu;", kStore = "st.global.u32 [%line], %w;";
const std::string kBulkStore = R"(
  fence.proxy.async.shared::cta;
  @%issuer cp.async.bulk.global.shared::cta.bulk_group [%line], [%tile], 4096;
  @%issuer cp.async.bulk.commit_group;
  @%issuer cp.async.bulk.wait_group.read 0;)";

/// What `fence` takes longer if `number` is greater by 100.
double gains(const std::string& before, const std::string& fence, const std::string& number) {
  return double(took(before, fence, 1, {number, 100})[0]) - double(took(before, fence)[0]);
}

TEST(Fence, TakesItsScopesTime) {
  // probe_00_fences on an H200: 36, 271, 271 and 1,026 cycles, of which two reads of the clock are 3.
  EXPECT_NEAR(took("", "fence.acq_rel.cta;")[0], 36, 2);
  EXPECT_NEAR(took("", "fence.acq_rel.cluster;")[0], 271, 2);
  EXPECT_NEAR(took("", kGpuFence)[0], 271, 2);
  EXPECT_NEAR(took("", "fence.sc.gpu;")[0], 271, 2);
  EXPECT_NEAR(took("", "membar.gl;")[0], 271, 2);
  EXPECT_NEAR(took("", "fence.acq_rel.sys;")[0], 1026, 2);
  EXPECT_NEAR(took("", "fence.proxy.async;")[0], 146, 2);
  EXPECT_LT(took("", "fence.mbarrier_init.release.cluster;")[0], 5u);
  EXPECT_LT(took("", "fence.proxy.async.shared::cta;")[0], 20u);
}

TEST(Fence, WaitsForStoresOnly) {
  EXPECT_EQ(gains("", kGpuFence, "fence.stored"), 0);
  EXPECT_EQ(gains("st.shared.u32 [%tile], %w;", kGpuFence, "fence.stored"), 0);
  EXPECT_EQ(gains(kStore, kGpuFence, "fence.stored"), 100);
  EXPECT_EQ(gains(kStore, "fence.proxy.async.global;", "fence.stored"), 100);
  EXPECT_EQ(gains(kStore, "fence.acq_rel.cta;", "fence.stored"), 0);
  EXPECT_EQ(gains("red.global.add.u32 [%line], 1;", kGpuFence, "fence.stored"), 0);
  EXPECT_EQ(gains("red.global.add.u32 [%line], 1;", kGpuFence, "fence.stored.atomic"), 100);
  EXPECT_EQ(gains(kStore, kGpuFence, "fence.stored.atomic"), 0);
  EXPECT_EQ(gains(kStore, "mbarrier.arrive.release.cluster.shared::cta.b64 _, [barrier];", "fence.stored"), 100);
  EXPECT_EQ(gains(kStore, "mbarrier.arrive.release.cta.shared::cta.b64 _, [barrier];", "fence.stored"), 0);
}

TEST(Fence, DoesNotWaitForWhatHasLongBeenThere) {
  EXPECT_EQ(gains(kStore + "\n  nanosleep.u32 20000;", kGpuFence, "fence.stored"), 0);
}

TEST(Fence, WaitsAsLongAsL2TakesTheStores) {
  const double slow = 0.05 - hopper_machine().number("mem.l2.write_bytes_per_cycle");
  EXPECT_GT(took(kStore, kGpuFence, 4, {"mem.l2.write_bytes_per_cycle", slow})[0], took(kStore, kGpuFence, 4)[0] + 100);
}

TEST(Fence, OfEveryWarpWaitsForTheBulkCopyOfOne) {
  const std::vector<uint32_t> with = took(kBulkStore, kGpuFence, 4), without = took("", kGpuFence, 4);
  for (size_t w = 0; w < with.size(); ++w) EXPECT_GT(with[w], without[w] + 150) << w;
  EXPECT_EQ(gains(kBulkStore, kGpuFence, "fence.stored.bulk"), 100);
}

const std::string kLoad = "ld.relaxed.gpu.global.u32 %n, [%line];", kBulkLoad = R"(
  @%issuer mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 4096;
  @%issuer cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%line], 4096, [barrier];)";

TEST(Fence, OfTheGpuWaitsForWhatItsSmLoads) {
  // probe_16_handover on an H200: 445 cycles behind a load or a bulk copy that has landed, 271 behind none.
  EXPECT_NEAR(took(kLoad + "\n  nanosleep.u32 2000;", kGpuFence)[0], 445, 3);
  EXPECT_EQ(gains(kLoad + "\n  nanosleep.u32 2000;", kGpuFence, "fence.loaded"), 100);
  EXPECT_EQ(gains(kLoad, "fence.acq_rel.cluster;", "fence.loaded"), 0);
  EXPECT_EQ(gains(kLoad + "\n  " + kGpuFence, kGpuFence, "fence.loaded"), 0);
  // A copy is waited for until it has landed, by every warp.
  EXPECT_EQ(gains(kBulkLoad, kGpuFence, "tma.latency"), 100);
  EXPECT_EQ(gains(kBulkLoad + "\n  nanosleep.u32 20000;", kGpuFence, "tma.latency"), 0);
  const std::vector<uint32_t> with = took(kBulkLoad, kGpuFence, 4), without = took("", kGpuFence, 4);
  for (size_t w = 0; w < with.size(); ++w) EXPECT_GT(with[w], without[w] + 300) << w;
}

TEST(Fence, WaitsForLoadsAndStoresAtTheSameTime) {
  const std::string landed = kLoad + "\n  nanosleep.u32 2000;\n  ";
  // An H200: 406 cycles behind a load that has landed, 415 behind a store, 417 behind both; 571 behind a load on its
  // way.
  const uint32_t loaded = took(landed, kGpuFence)[0];
  EXPECT_NEAR(took(landed + kStore, kGpuFence)[0], loaded, 3);
  EXPECT_GT(took(kLoad, kGpuFence)[0], loaded);
}

TEST(Fence, OnesOfASubPartitionFollowEachOther) {
  const auto slowest = [](uint32_t warps, Change c = {}) {
    const std::vector<uint32_t> all = took("", kGpuFence, warps, c);
    return *std::max_element(all.begin(), all.end());
  };
  EXPECT_LE(slowest(4), slowest(1) + 4);
  // 331 and 453 cycles on an H200.
  EXPECT_NEAR(slowest(12), 331, 20);
  EXPECT_NEAR(slowest(32), 453, 30);
}

TEST(Fence, IsPartOfWhatReleases) {
  const double fence = hopper_machine().number("fence.gpu"), system = hopper_machine().number("fence.sys");
  const auto more = [](const std::string& releasing, const std::string& plain) {
    return double(took("", releasing)[0]) - double(took("", plain)[0]);
  };
  EXPECT_EQ(more("st.release.gpu.global.u32 [%line], 1;", "st.relaxed.gpu.global.u32 [%line], 1;"), fence);
  EXPECT_EQ(more("st.release.cluster.u32 [%line], 1;", "st.relaxed.cluster.u32 [%line], 1;"), fence);
  EXPECT_EQ(more("st.release.sys.global.u32 [%line], 1;", "st.relaxed.sys.global.u32 [%line], 1;"), system);
  EXPECT_EQ(more("st.release.cta.global.u32 [%line], 1;", "st.relaxed.cta.global.u32 [%line], 1;"), 0);
  EXPECT_EQ(more("red.release.gpu.global.add.u32 [%line], 1;", "red.relaxed.gpu.global.add.u32 [%line], 1;"), fence);
  EXPECT_EQ(more("mbarrier.arrive.release.cluster.shared::cta.b64 _, [barrier];",
                 "mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [barrier];"),
            fence);
  EXPECT_EQ(more("mbarrier.arrive.release.cta.shared::cta.b64 _, [barrier];",
                 "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [barrier];"),
            0);
  EXPECT_NEAR(more("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.aligned;",
                   "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"),
              fence, 2);
}

TEST(Fence, DoesNotDependOnHostThreads) {
  EXPECT_EQ(took(kStore, kGpuFence, 4, {}, 8, 1), took(kStore, kGpuFence, 4, {}, 8, 4));
}

}  // namespace
}  // namespace tinygpu::test
