// Fixes of diagnoses: which line of PTX or CUDA goes where, and the diff.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/tinygpu/base/source_place.h"
#include "common/tinygpu/diagnosis/diagnoses.h"
#include "common/tinygpu/diagnosis/edits.h"

namespace tinygpu::test {
namespace {

using diagnosis::Edit;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPtx = R"(.visible .entry k() {
  .loc 1 3 5
  st.shared.u32 [%r1], 7;
  .loc 1 4 3
  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1],
     16;
  ret;
}
)";
constexpr const char* kCuda = R"(__global__ void k() {
  if (first)
    put(a, 7);
  copy_out(a,
           16);
  more();
}
)";

/// A copy out of what a store has written.
Diagnosis proxy_fence() {
  Diagnosis d;
  d.code = "proxy-fence-missing";
  d.where.kernel = "k";
  d.where.ptx_line = 5;
  d.where.ptx_text = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16";
  d.where.cuda_file = "/home/me/k.cu";
  d.where.cuda_line = 4;
  d.others = {{d.where, "stored"}};
  d.others[0].where.ptx_line = 3;
  d.others[0].where.ptx_text = "st.shared.u32 [%r1], 7";
  d.others[0].where.cuda_line = 3;
  return d;
}

diagnosis::SourceFiles sources() {
  return diagnosis::SourceFiles([](const std::string& path) -> std::optional<std::string> {
    if (path != "/home/me/k.cu") return {};
    return kCuda;
  });
}

TEST(Edits, AFenceStandsBehindTheStore) {
  const std::vector<Edit> edits = diagnosis::edits_of(proxy_fence());
  ASSERT_THAT(edits, SizeIs(1));
  EXPECT_EQ(edits[0].ptx, "fence.proxy.async;");
  EXPECT_THAT(diagnosis::edited(kPtx, edits).value(),
              HasSubstr("  st.shared.u32 [%r1], 7;\nfence.proxy.async;\n  .loc 1 4 3\n"));
  diagnosis::SourceFiles files = sources();
  EXPECT_EQ(diagnosis::diff_of(diagnosis::source_edits(edits, files).value(), files, "/home/me"),
            R"(--- k.cu
+++ k.cu
@@ -1,6 +1,7 @@
 __global__ void k() {
   if (first)
     put(a, 7);
+    asm volatile("fence.proxy.async;" ::: "memory");
   copy_out(a,
            16);
   more();
)");
}

TEST(Edits, AStatementMayHaveSeveralLines) {
  Diagnosis d = proxy_fence();
  std::swap(d.where, d.others[0].where);
  const std::vector<Edit> edits = diagnosis::edits_of(d);
  EXPECT_THAT(diagnosis::edited(kPtx, edits).value(), HasSubstr("     16;\nfence.proxy.async;\n  ret;\n"));
  diagnosis::SourceFiles files = sources();
  EXPECT_EQ(diagnosis::source_edits(edits, files).value().at(0).line, 6) << "behind copy_out(a, 16)";
}

TEST(Edits, NothingIsPutBetweenAConditionAndItsStatement) {
  Diagnosis d = proxy_fence();
  d.code = "wgmma-fence-missing";
  d.where.cuda_line = 3;
  diagnosis::SourceFiles files = sources();
  EXPECT_FALSE(diagnosis::source_edits(diagnosis::edits_of(d), files));
  d.where.cuda_line = 6;
  EXPECT_EQ(diagnosis::source_edits(diagnosis::edits_of(d), files).value().at(0).text,
            "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n");
  d.where.cuda_file = "/home/me/other.cu";
  EXPECT_FALSE(diagnosis::source_edits(diagnosis::edits_of(d), files)) << "no such file";
}

TEST(Edits, TheKernelMeetsItsClusterBeforeItReturns) {
  Diagnosis d = proxy_fence();
  d.code = "exit-with-remote-access";
  EXPECT_THAT(diagnosis::edited(kPtx, diagnosis::edits_of(d)).value(),
              HasSubstr("barrier.cluster.arrive; barrier.cluster.wait;\n  ret;\n"));
  diagnosis::SourceFiles files = sources();
  EXPECT_FALSE(diagnosis::source_edits(diagnosis::edits_of(d), files)) << "no line is known";
}

TEST(Edits, WhatTheInstructionItselfSays) {
  const auto edit = [](const char* code, const char* ptx) {
    Diagnosis d = proxy_fence();
    d.code = code;
    d.where.ptx_text = ptx;
    const std::vector<Edit> edits = diagnosis::edits_of(d);
    return edits.empty() ? "" : edits[0].ptx;
  };
  EXPECT_EQ(edit("setmaxnreg-direction", "setmaxnreg.inc.sync.aligned.u32 40"), "setmaxnreg.dec.sync.aligned.u32 40;");
  EXPECT_EQ(edit("mbarrier-reinit", "@%p1 mbarrier.init.shared.b64 [%r1+8], 1"),
            "@%p1 mbarrier.inval.shared::cta.b64 [%r1+8];");
  EXPECT_EQ(
      edit("tensormap-not-acquired", "@%p2 cp.async.bulk.tensor.2d.shared::cta.global.tile [%r1], [%rd3, {%r4, %r5}]"),
      "@%p2 fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;");
  EXPECT_EQ(edit("alloc-granularity", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 48"),
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;");
  EXPECT_EQ(edit("alloc-granularity", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], %r2"), "");
  EXPECT_EQ(edit("warp-mask-without-self", "bar.warp.sync 1, 3"), "bar.warp.sync 1, 0xffffffff;");
  EXPECT_EQ(edit("deadlock", "bar.sync 0"), "") << "no line is known to mend it";
}

TEST(Edits, ANoteIsNotMendedAndAnotherTextIsLeftAlone) {
  Diagnosis d = proxy_fence();
  EXPECT_FALSE(diagnosis::edited("ret;\n", diagnosis::edits_of(d)));
  d.severity = Severity::note;
  EXPECT_THAT(diagnosis::edits_of(d), IsEmpty());
}

TEST(Edits, EveryCodeWithAFixIsInTheTable) {
  size_t mended = 0;
  for (const diagnosis::CodeInfo& c : diagnosis::all_codes()) {
    Diagnosis d = proxy_fence();
    d.code = c.code;
    bool any = false;
    for (const char* other : {"st.shared.u32 [%r1], 7", "tcgen05.ld.sync", "tcgen05.st.sync", "wgmma.mma_async"})
      for (const char* ptx : {"tcgen05.alloc [%r1], 48", "cp [%r1], [%rd3, {%r4}]", "setmaxnreg.inc.u32 40"}) {
        d.others[0].where.ptx_text = other;
        d.where.ptx_text = ptx;
        any |= !diagnosis::edits_of(d).empty();
      }
    mended += any;
  }
  EXPECT_GE(mended, 20u);
}

TEST(SourcePlaces, AreLinesOfFilesOrOfPtx) {
  SourcePlace p;
  EXPECT_EQ(SourcePlace::read("12", p), "");
  Where w;
  w.cuda_file = "/home/me/a/gemm.cu";
  w.cuda_line = 12;
  w.ptx_line = 99;
  w.inlined = {{"/usr/include/copy.h", 7, 0, ""}};
  EXPECT_TRUE(p.names(w));
  const auto names = [&](const char* text) {
    EXPECT_EQ(SourcePlace::read(text, p), "") << text;
    return p.names(w);
  };
  EXPECT_TRUE(names("gemm.cu:12"));
  EXPECT_TRUE(names("a/gemm.cu:12"));
  EXPECT_TRUE(names("/home/me/a/gemm.cu:12"));
  EXPECT_FALSE(names("emm.cu:12")) << "part of a name";
  EXPECT_FALSE(names("gemm.cu:13"));
  EXPECT_TRUE(names("copy.h:7")) << "inlined there";
  EXPECT_TRUE(names("ptx:99"));
  EXPECT_FALSE(names("ptx:12"));
  for (const char* wrong : {"", "gemm.cu", "gemm.cu:", "gemm.cu:0", "12x", "-3"})
    EXPECT_EQ(SourcePlace::read(wrong, p), "write LINE, FILE:LINE or ptx:LINE") << wrong;
}

}  // namespace
}  // namespace tinygpu::test
