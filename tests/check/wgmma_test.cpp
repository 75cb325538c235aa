// wgmma.fence between what threads do to registers and the wgmma.mma_async that takes them.
#include "tests/check/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kFence = "  wgmma.fence.sync.aligned;\n";
const std::string kDone = "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
const std::string kMultiply =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, {%a0,%a1,%a2,%a3}, %desc, %p12, 1, 1, 0;";

/// A product with A in registers, what comes `between`, and another one.
std::vector<std::string> twice(const std::string& between) {
  Kernel k;
  k.hopper = true;
  k.threads = 128;
  k.body =
      "  .reg .f32 %f<8>; .reg .b32 %a<8>; .reg .b64 %desc;\n  mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, "
      "%f0; mov.f32 %f3, %f0;\n  add.u32 %a0, %t, 1; mov.u32 %a1, %a0; mov.u32 %a2, %a0; mov.u32 %a3, %a0;\n"
      "  shr.u32 %r0, %s, 4; cvt.u64.u32 %desc, %r0; or.b64 %desc, %desc, 0x0000001000080000;\n"
      "  mad.lo.u32 %r0, %t, 4, %s;\n  st.shared.u32 [%r0], 0; st.shared.u32 [%r0+512], 0;\n"
      "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" +
      kFence + "  " + kMultiply + "\n" + kDone + between + "  " + kMultiply + "\n" + kDone;
  return found_in_all_orders(k);
}

std::string missing(const std::string& by) { return race("wgmma-fence-missing", kMultiply, by); }

TEST(WgmmaFences, StandBehindWhatWritesARegister) {
  EXPECT_THAT(twice(""), IsEmpty());
  EXPECT_THAT(twice("  add.u32 %a2, %t, 5;\n" + kFence), IsEmpty());
  EXPECT_THAT(twice("  add.u32 %a2, %t, 5;\n"), ElementsAre(missing("add.u32 %a2, %t, 5;")));
  EXPECT_THAT(twice(kFence + "  @%p9 add.u32 %a2, %t, 5;\n"), ElementsAre(missing("add.u32 %a2, %t, 5;")));
  EXPECT_THAT(twice("  add.f32 %f1, %f1, %f1;\n"), ElementsAre(missing("add.f32 %f1, %f1, %f1;"))) << "an accumulator";
  EXPECT_THAT(twice("  add.f32 %f5, %f1, %f1; st.shared.f32 [%r0+2048], %f2;\n"), IsEmpty()) << "results are read";
}

TEST(WgmmaFences, CopiesHandOnWhatTheirSourceIs) {
  EXPECT_THAT(twice("  mov.b32 %a2, 7; mov.f32 %f4, %f1; mov.f32 %f1, %f4;\n"), IsEmpty());
  EXPECT_THAT(twice("  mul.f32 %f4, %f1, %f1;\n" + kFence + "  mov.f32 %f1, %f4;\n"), IsEmpty());
  EXPECT_THAT(twice("  mul.f32 %f4, %f1, %f1;\n  mov.f32 %f1, %f4;\n"), ElementsAre(missing("mul.f32 %f4, %f1, %f1;")));
  EXPECT_THAT(twice("  .reg .b16 %h<2>;\n  mov.b32 {%h0, %h1}, %a0; add.u16 %h1, %h1, 1; mov.b32 %a0, {%h0, %h1};\n"),
              ElementsAre(missing("add.u16 %h1, %h1, 1;")));
}

// The sparse form is looked at as the dense one.
TEST(WgmmaFences, StandBeforeSparseProductsToo) {
  const auto sparse = [](const std::string& proxy_fence, const std::string& between) {
    Kernel k;
    k.hopper = true;
    k.threads = 128;
    const std::string multiply =
        "  wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 "
        "{%f0,%f1,%f2,%f3}, %desc, %desc, %meta, 0, %p12, 1, 1, 0, 0;\n";
    k.body =
        "  .reg .f32 %f<8>; .reg .b32 %meta; .reg .b64 %desc;\n"
        "  mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.u32 %meta, 0x44444444;\n"
        "  shr.u32 %r0, %s, 4; cvt.u64.u32 %desc, %r0; or.b64 %desc, %desc, 0x0000001000080000;\n"
        "  mad.lo.u32 %r0, %t, 16, %s;\n  st.shared.v4.u32 [%r0], {0, 0, 0, 0};\n" +
        proxy_fence + "  bar.sync 0;\n" + kFence + multiply + kDone + between + multiply + kDone;
    return found_in_all_orders(k);
  };
  const std::string fence = "  fence.proxy.async.shared::cta;\n";
  EXPECT_THAT(sparse(fence, ""), IsEmpty());
  EXPECT_THAT(sparse(fence, "  add.f32 %f1, %f1, %f1;\n" + kFence), IsEmpty());
  EXPECT_THAT(sparse(fence, "  add.f32 %f1, %f1, %f1;\n"), ElementsAre(::testing::StartsWith("wgmma-fence-missing: ")));
  EXPECT_THAT(sparse("", ""), ::testing::Contains(::testing::StartsWith("proxy-fence-missing: wgmma.mma_async.sp")));
}

/// Warps 0 to 3 access shared memory and multiply; the first thread of warp 3 arrives for all, and the producer, a
/// thread of warp 4, lets `then` follow its wait.
std::vector<std::string> handed_over(const std::string& access, const std::string& between, const std::string& then) {
  Kernel k;
  k.hopper = true;
  k.threads = 160;
  k.body =
      "  .reg .f32 %f<4>; .reg .b64 %desc;\n"
      "  mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
      "  add.u32 %r1, %s, 4096; shr.u32 %r0, %r1, 4; cvt.u64.u32 %desc, %r0; or.b64 %desc, %desc, 0x0000001000080000;\n"
      "  mad.lo.u32 %r4, %t, 4, %s; setp.eq.u32 %p2, %t, 96; setp.eq.u32 %p3, %t, 128; setp.lt.u32 %p4, %w, 4;\n"
      "  @!%p4 bra PRODUCER;\n  " +
      access + "\n" + kFence +
      "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %desc, %desc, %p12, 1, 1, 0, 0;\n" +
      between + "  @%p2 mbarrier.arrive.shared.b64 _, [%b];\nPRODUCER:\n" + wait("%p3") + "  @%p3 " + then + "\n" +
      wait("%p3", 8);
  std::vector<std::string> out;
  for (const Diagnosis& d : k.diagnoses())
    if (d.code != "shared-uninitialised")
      out.push_back(d.code + (d.severity == Severity::error ? " error" : d.severity == Severity::note ? " note" : ""));
  return out;
}

// wgmma is one operation of four warps: where it is over, all have issued it, and what it takes from registers has been
// read. No rule of the manual orders one warp's reads before another's arrive, and CUTLASS relies on it.
TEST(WarpgroupsThatMeet, OneWarpArrivesForTheReadsOfAll) {
  const std::string load = "ld.shared.u32 %r5, [%r4];", store = "st.shared.u32 [%r4], %t;";
  const std::string copy =
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 512, [%b+8];\n"
      "  @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%b+8], 512;";
  const std::string overwrite = "st.shared.u32 [%s], 0;\n  @%p3 mbarrier.arrive.shared.b64 _, [%b+8];";
  const std::string fence = "  fence.proxy.async.shared::cta;\n", meet = "  bar.sync 1, 128;\n";
  EXPECT_THAT(handed_over(load, kDone + fence + meet, copy), IsEmpty());
  EXPECT_THAT(handed_over(load, kDone + meet, copy), ElementsAre("proxy-fence-missing"));
  EXPECT_THAT(handed_over(load, kDone, copy), ElementsAre("proxy-fence-missing"));
  EXPECT_THAT(handed_over(load + "\n" + fence, kDone, copy), ElementsAre("data-race", "lane-order-missing"));
  EXPECT_THAT(handed_over(load, kDone, overwrite), ElementsAre("data-race"));
  // The wgmma may not have begun in the other warps, or they read behind it.
  EXPECT_THAT(handed_over(load, "  wgmma.commit_group.sync.aligned;\n", overwrite),
              ::testing::Contains("data-race error"));
  EXPECT_THAT(
      handed_over("", "  wgmma.commit_group.sync.aligned;\n  " + load + "\n  wgmma.wait_group.sync.aligned 0;\n",
                  overwrite),
      ::testing::Contains("data-race error"));
  // What a store does is no operand of the product.
  EXPECT_THAT(handed_over(store, kDone, overwrite), ::testing::Contains("data-race error"));
}

}  // namespace
}  // namespace tinygpu::test
