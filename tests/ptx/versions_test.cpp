// Which PTX version and which target has a form: rows of ptxas 13.0.88's verdicts, `.version 9.0` for the targets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx_text.h"

namespace tinygpu::ptx {
namespace {

using ::testing::HasSubstr;

struct Row {
  const char* name;
  const char* form;
  const char* least;    // lowest version of 8.6 8.7 8.8 9.0 that takes it on sm_100a; "-": none
  const char* targets;  // Y or - for each of kTargets
};

constexpr const char* kTargets[] = {"sm_100",  "sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_110a",
                                    "sm_110f", "sm_120a", "sm_120f", "sm_121a", "sm_90",   "sm_90a"};

constexpr Row kRows[] = {
    {"alloc", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;", "8.6", "-YYYYYY-----"},
    {"ld", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2];", "8.6", "-YYYYYY-----"},
    {"ld.red.f32", "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%f1,%f2}, %f3, [%r2];", "-", "---YYYY-----"},
    {"ld.red.u32", "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r4,%r5}, %r3, [%r2];", "-", "---YYYY-----"},
    {"cp", "tcgen05.cp.cta_group::1.128x256b [%r2], %rd1;", "8.6", "-YYYYYY-----"},
    {"cp.fmt", "tcgen05.cp.cta_group::1.128x256b.b8x16.b4x16_p64 [%r2], %rd1;", "8.6", "-YYYYYY-----"},
    {"shift", "tcgen05.shift.cta_group::1.down [%r2];", "8.6", "-Y-Y-Y------"},
    {"mma f16", "tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd3, %rd4, %r8, %p1;", "8.6", "-YYYYYY-----"},
    {"mma f16 scale-d", "tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd3, %rd4, %r8, %p1, 3;", "8.6", "-YYYY-------"},
    {"mma i8", "tcgen05.mma.cta_group::1.kind::i8 [%r2], %rd3, %rd4, %r8, %p1;", "8.6", "-Y---Y------"},
    {"mma mxf4nvf4 4X",
     "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%r2], %rd3, %rd4, %r8, [%r6], [%r7], %p1;",
     "8.7", "-Y-Y-Y------"},
    {"mma mxf4nvf4 block16",
     "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r2], %rd3, %rd4, %r8, [%r6], [%r7], %p1;", "8.8",
     "-YYYYYY-----"},
    {"mma.ws", "tcgen05.mma.ws.cta_group::1.kind::f16 [%r2], %rd3, %rd4, %r8, %p1;", "8.6", "-YYYYYY-----"},
    {"mma.ws i8", "tcgen05.mma.ws.cta_group::1.kind::i8 [%r2], %rd3, %rd4, %r8, %p1;", "8.6", "-Y---Y------"},
    {"commit", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd0];", "8.6", "-YYYYYY-----"},
    {"gather4",
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%r0], [%rd0, "
     "{%r1,%r2,%r3,%r4,%r5}], [%r6];",
     "8.6", "-YYYYYY-----"},
    {"gather4 shared::cta",
     "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r0], [%rd0, "
     "{%r1,%r2,%r3,%r4,%r5}], [%r6];",
     "8.6", "YYYYYYYYYY--"},
    {"scatter4",
     "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd0, {%r1,%r2,%r3,%r4,%r5}], [%r6];",
     "8.6", "-YYYYYY-----"},
    {"tensor cta_group",
     "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::1 [%r0], [%rd0, "
     "{%r1,%r2}], [%r6];",
     "8.6", "-YYYYYY-----"},
    {"im2col::w",
     "cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [%r0], [%rd0, "
     "{%r1,%r2,%r3}], [%r6], {%h1,%h2};",
     "8.6", "-YYYYYY-----"},
    {"im2col::w::128",
     "cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes [%r0], [%rd0, "
     "{%r1,%r2,%r3}], [%r6], {%h1,%h2};",
     "8.6", "-YYYYYY-----"},
    {"tensor 2d cluster",
     "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1,%r2}], [%r6];",
     "8.6", "YYYYYYYYYYYY"},
    {"tensor 2d cta",
     "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1,%r2}], [%r6];", "8.6",
     "YYYYYYYYYYYY"},
    {"bulk g2s cta", "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%rd1], %r5, [%r6];", "8.6",
     "YYYYYYYYYYYY"},
    {"bulk cp_mask", "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0], [%r1], %r5, %h2;", "8.6",
     "YYYYYYYYYY--"},
    {"CLC try_cancel",
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r0], [%r1];", "8.6",
     "YYYYYYYYYY--"},
    {"CLC multicast",
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
     "[%r0], [%r1];",
     "8.6", "-YYYYYYYYY--"},
    {"CLC query", "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1;", "8.6", "YYYYYYYYYY--"},
    {"setmaxnreg", "setmaxnreg.inc.sync.aligned.u32 64;", "8.6", "-YYYYYYYYY-Y"},
    {"griddepcontrol", "griddepcontrol.wait;", "8.6", "YYYYYYYYYYYY"},
    {"elect", "elect.sync %r1|%p1, 0xffffffff;", "8.6", "YYYYYYYYYYYY"},
    {"st.bulk", "st.bulk.weak.shared::cta [%r0], %rd1, 0;", "8.6", "YYYYYYYYYY--"},
    {"st.async release.sys", "st.async.release.sys.global.u32 [%rd0], %r3;", "8.7", "YYYYYYYYYY--"},
    {"st.async weak", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r0], %r3, [%r6];", "8.6",
     "YYYYYYYYYYYY"},
    {"ldmatrix m16n16", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [%r0];", "8.6", "-YYYYYYYYY--"},
    {"ldmatrix b4x16", "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r1}, [%r0];", "8.6", "-YYYYYYYYY--"},
    {"stmatrix b8", "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r0], {%r1};", "8.6", "-YYYYYYYYY--"},
    {"f32x2", "add.rn.f32x2 %rd1, %rd2, %rd3;", "8.6", "YYYYYYYYYY--"},
    {"cvt e2m1", "cvt.rn.satfinite.e2m1x2.f32 %b1, %f1, %f2;", "8.6", "-YYYYYYYYY--"},
    {"cvt ue8m0", "cvt.rz.ue8m0x2.f32 %h1, %f1, %f2;", "8.6", "-YYYYYYYYY--"},
    {"cvt rs e4m3x4", "cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1,%f2,%f3,%f4}, %r9;", "8.7", "-Y-Y--------"},
    {"cvt rs f16x2", "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r9;", "8.7", "-Y-Y--------"},
    {"redux f32", "redux.sync.min.f32 %f1, %f2, 0xffffffff;", "8.6", "-YYYY-------"},
    {"ld v8", "ld.global.v8.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%rd0];", "8.8", "YYYYYYYYYY--"},
    {"max3", "max.f32 %f1, %f2, %f3, %f4;", "8.8", "YYYYYYYYYY--"},
    {"add.f32.f16", "add.f32.f16 %f1, %h1, %f2;", "8.6", "YYYYYYYYYY--"},
    {"fence sync_restrict", "fence.acquire.sync_restrict::shared::cluster.cluster;", "8.6", "YYYYYYYYYYYY"},
    {"fence.release", "fence.release.gpu;", "8.6", "YYYYYYYYYYYY"},
    {"try_wait relaxed", "mbarrier.try_wait.relaxed.cluster.b64 %p1, [%rd0], %rd1;", "8.6", "YYYYYYYYYYYY"},
    {"arrive relaxed", "mbarrier.arrive.relaxed.cluster.b64 %rd1, [%rd0];", "8.6", "YYYYYYYYYYYY"},
    {"swizzle_atomicity", "tensormap.replace.tile.swizzle_atomicity.shared::cta.b1024.b32 [%r0], 1;", "8.6",
     "-YYYYYYYYY--"},
    {"elemtype 13", "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r0], 13;", "8.7", "-YYYYYYYYY--"},
    {"wgmma", "wgmma.fence.sync.aligned;", "-", "-----------Y"},
};

TEST(Versions, TargetsHaveWhatTheAssemblerSays) {
  for (const Row& row : kRows)
    for (size_t i = 0; i < std::size(kTargets); ++i) {
      const std::string message = first_message(row.form, kTargets[i]);
      EXPECT_EQ(message.empty(), row.targets[i] == 'Y') << row.name << " on " << kTargets[i] << ": " << message;
    }
}

TEST(Versions, FormsAppearInTheVersionThatTheAssemblerSays) {
  for (const Row& row : kRows) {
    if (row.least[0] == '-') continue;
    for (const char* version : {"8.6", "8.7", "8.8", "9.0"}) {
      const std::string message = first_message(row.form, "sm_100a", version);
      EXPECT_EQ(message.empty(), std::string(version) >= row.least) << row.name << " in " << version << ": " << message;
    }
  }
}

TEST(Versions, TheMessageNamesTheTargetThatHasIt) {
  const std::vector<ParseMessage> m = messages_of("wgmma.fence.sync.aligned;", "sm_100a");
  ASSERT_EQ(m.size(), 1u);
  EXPECT_THAT(m[0].text, HasSubstr("wgmma.fence.sync.aligned does not exist on sm_100a"));
  EXPECT_THAT(m[0].help, HasSubstr("sm_90a"));
  EXPECT_THAT(first_message("ld.global.v8.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%rd0];", "sm_100a", "8.7"),
              HasSubstr("needs PTX 8.8"));
}

}  // namespace
}  // namespace tinygpu::ptx
