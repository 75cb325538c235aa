// How spellings are cut into families and modifiers.
#include "common/tinygpu/ptx/spelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tinygpu::ptx {
namespace {

using ::testing::ElementsAre;

TEST(Spelling, TakesTheLongestFamily) {
  EXPECT_EQ(cut_spelling("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group").opcode, Opcode::cp_async_bulk_tensor);
  EXPECT_EQ(cut_spelling("cp.async.bulk.prefetch.tensor.2d.L2.global").opcode, Opcode::cp_async_bulk_prefetch_tensor);
  EXPECT_EQ(cut_spelling("cp.async.cg.shared.global").opcode, Opcode::cp_async);
  EXPECT_EQ(cut_spelling("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group").opcode,
            Opcode::cp_reduce_async_bulk_tensor);
  EXPECT_EQ(cut_spelling("tcgen05.mma.ws.sp.cta_group::1.kind::f16").opcode, Opcode::tcgen05_mma_ws_sp);
  EXPECT_EQ(cut_spelling("mbarrier.arrive.expect_tx.shared::cta.b64").opcode, Opcode::mbarrier_arrive);
  EXPECT_EQ(cut_spelling("bar.warp.sync").opcode, Opcode::bar_warp_sync);
  EXPECT_EQ(cut_spelling("fence.proxy.async.shared::cta").opcode, Opcode::fence_proxy);
  EXPECT_EQ(cut_spelling("fence.acq_rel.gpu").opcode, Opcode::fence);
  EXPECT_EQ(cut_spelling("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32").opcode, Opcode::st_async);
}

TEST(Spelling, MovesSyncIntoTheFamily) {
  EXPECT_THAT(cut_spelling("match.any.sync.b32").mods, ElementsAre("any", "b32"));
  EXPECT_EQ(cut_spelling("match.any.sync.b32").opcode, Opcode::match_sync);
  EXPECT_EQ(cut_spelling("shfl.idx.sync.b32").opcode, Opcode::shfl_sync);
  EXPECT_EQ(cut_spelling("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").opcode,
            Opcode::mma_sp_sync);
}

TEST(Spelling, SplitsTcgen05WaitAndFence) {
  const Spelling wait = cut_spelling("tcgen05.wait::ld.sync.aligned");
  EXPECT_EQ(wait.opcode, Opcode::tcgen05_wait);
  EXPECT_THAT(wait.mods, ElementsAre("ld", "sync", "aligned"));
  EXPECT_THAT(cut_spelling("tcgen05.fence::after_thread_sync").mods, ElementsAre("after_thread_sync"));
}

TEST(Spelling, KnowsTypesAndColumns) {
  const Spelling s = cut_spelling("cvt.rn.f16x2.e4m3x2");
  EXPECT_THAT(s.types, ElementsAre(Type::f16x2, Type::e4m3x2));
  EXPECT_THAT(s.columns, ElementsAre(3u, 6u, 12u));
  EXPECT_EQ(cut_spelling("frobnicate.u32").opcode, Opcode::unknown);
  EXPECT_EQ(cut_spelling("frobnicate.u32").name, "frobnicate");
}

}  // namespace
}  // namespace tinygpu::ptx
