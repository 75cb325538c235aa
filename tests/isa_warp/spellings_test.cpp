// Every memory, synchronisation and warp spelling that public kernels use (nvcc's and Triton's) has an implementation.
#include <gtest/gtest.h>

#include "common/tinygpu/isa/instruction_set.h"
#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

constexpr const char* kInstructions = R"(
  atom.global.add.f32 %f0, [%rd20], %f1;
  atom.global.add.f64 %fd0, [%rd20], %fd1;
  atom.global.add.u32 %r0, [%rd20], %r1;
  atom.global.add.u64 %rd0, [%rd20], %rd1;
  atom.global.cas.b16 %h0, [%rd20], %h1, %h2;
  atom.global.max.s32 %r0, [%rd20], %r1;
  atom.global.max.u32 %r0, [%rd20], %r1;
  atom.global.min.u32 %r0, [%rd20], %r1;
  atom.relaxed.global.cas.b64 %rd0, [%rd20], %rd1, %rd2;
  atom.shared.add.f32 %f0, [%r20], %f1;
  bar.arrive 1, 64;
  bar.sync 0;
  bar.warp.sync 0xffffffff;
  barrier.cluster.arrive;
  barrier.cluster.arrive.aligned;
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait;
  barrier.cluster.wait.acquire;
  barrier.cluster.wait.acquire.aligned;
  barrier.cluster.wait.aligned;
  barrier.sync 0;
  cp.async.ca.shared.global.L2::128B [%r20], [%rd20], 4;
  cp.async.cg.shared.global [%r20], [%rd20], 16;
  cp.async.cg.shared.global.L2::128B [%r20], [%rd20], 16;
  elect.sync %r0|%p0, -1;
  fence.acq_rel.gpu;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cluster;
  fence.proxy.async.shared::cta;
  fence.proxy.tensormap::generic.acquire.gpu [%rd20], 128;
  ld.f32 %f0, [%rd20];
  ld.f64 %fd0, [%rd20];
  ld.global.acquire.gpu.b32 %r0, [%rd20];
  ld.global.f32 %f0, [%rd20];
  ld.global.nc.L1::evict_normal.L2::evict_normal.L2::256B.v8.s32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd20];
  ld.global.nc.L1::no_allocate.L2::evict_normal.L2::256B.v4.u64 {%rd0,%rd1,%rd2,%rd3}, [%rd20];
  ld.global.nc.f32 %f0, [%rd20];
  ld.global.nc.s32 %r0, [%rd20];
  ld.global.nc.u16 %h0, [%rd20];
  ld.global.nc.u8 %h0, [%rd20];
  ld.global.nc.v2.s32 {%r0,%r1}, [%rd20];
  ld.global.nc.v2.u32 {%r0,%r1}, [%rd20];
  ld.global.nc.v4.f32 {%f0,%f1,%f2,%f3}, [%rd20];
  ld.global.nc.v4.s32 {%r0,%r1,%r2,%r3}, [%rd20];
  ld.global.s32 %r0, [%rd20];
  ld.global.u16 %h0, [%rd20];
  ld.global.u32 %r0, [%rd20];
  ld.global.u64 %rd0, [%rd20];
  ld.global.u8 %h0, [%rd20];
  ld.global.v4.b32 {%r0,%r1,%r2,%r3}, [%rd20];
  ld.global.v4.f32 {%f0,%f1,%f2,%f3}, [%rd20];
  ld.local.u32 %r0, [%rd20];
  ld.local.u64 %rd0, [%rd20];
  ld.param.b32 %r0, [blob];
  ld.param.f32 %f0, [blob];
  ld.param.f64 %fd0, [blob];
  ld.param.s32 %r0, [blob];
  ld.param.s8 %h0, [blob];
  ld.param.u16 %h0, [blob];
  ld.param.u32 %r0, [blob];
  ld.param.u64 %rd0, [blob];
  ld.param.u8 %h0, [blob];
  ld.param.v2.f32 {%f0,%f1}, [blob];
  ld.param.v2.u32 {%r0,%r1}, [blob];
  ld.param.v2.u64 {%rd0,%rd1}, [blob];
  ld.param.v4.u32 {%r0,%r1,%r2,%r3}, [blob];
  ld.relaxed.sys.b16 %h0, [%rd20];
  ld.shared.b128 %q0, [%r20];
  ld.shared.f32 %f0, [%r20];
  ld.shared.f64 %fd0, [%r20];
  ld.shared.u16 %h0, [%r20];
  ld.shared.u32 %r0, [%r20];
  ld.shared.u64 %rd0, [%r20];
  ld.shared.u8 %h0, [%r20];
  ld.shared.v2.f32 {%f0,%f1}, [%r20];
  ld.shared.v2.f64 {%fd0,%fd1}, [%r20];
  ld.shared.v2.u32 {%r0,%r1}, [%r20];
  ld.shared.v2.u64 {%rd0,%rd1}, [%r20];
  ld.shared.v4.b32 {%r0,%r1,%r2,%r3}, [%r20];
  ld.shared.v4.f32 {%f0,%f1,%f2,%f3}, [%r20];
  ld.shared.v4.u32 {%r0,%r1,%r2,%r3}, [%r20];
  ld.u16 %h0, [%rd20];
  ld.u8 %h0, [%rd20];
  ld.v4.f32 {%f0,%f1,%f2,%f3}, [%rd20];
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%r20];
  ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%r0,%r1,%r2,%r3}, [%r20];
  ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%r0,%r1}, [%r20];
  ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r0,%r1,%r2,%r3}, [%r20];
  ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%r0,%r1,%r2,%r3}, [%r20];
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f4,%f5,%f6,%f7};
  movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;
  nanosleep.u32 20;
  red.relaxed.gpu.global.add.s32 [%rd20], %r1;
  redux.sync.max.NaN.f32 %f0, %f1, -1;
  setmaxnreg.dec.sync.aligned.u32 40;
  setmaxnreg.inc.sync.aligned.u32 40;
  shfl.sync.bfly.b32 %r0|%p0, %r1, %r2, 31, -1;
  shfl.sync.idx.b32 %r0|%p0, %r1, %r2, 31, -1;
  shfl.sync.up.b32 %r0|%p0, %r1, %r2, 31, -1;
  st.global.f32 [%rd20], %f0;
  st.global.f64 [%rd20], %fd0;
  st.global.u16 [%rd20], %h0;
  st.global.u32 [%rd20], %r0;
  st.global.u64 [%rd20], %rd0;
  st.global.u8 [%rd20], %h0;
  st.global.v2.u64 [%rd20], {%rd0,%rd1};
  st.global.v4.f32 [%rd20], {%f0,%f1,%f2,%f3};
  st.global.v4.u32 [%rd20], {%r0,%r1,%r2,%r3};
  st.global.v8.b32 [%rd20], {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7};
  st.local.f64 [%rd20], %fd0;
  st.local.u32 [%rd20], %r0;
  st.local.u64 [%rd20], %rd0;
  st.local.v2.f32 [%rd20], {%f0,%f1};
  st.local.v2.f64 [%rd20], {%fd0,%fd1};
  st.local.v2.u32 [%rd20], {%r0,%r1};
  st.local.v2.u64 [%rd20], {%rd0,%rd1};
  st.local.v4.u32 [%rd20], {%r0,%r1,%r2,%r3};
  st.param.b32 [argument], %r0;
  st.param.b64 [argument], %rd0;
  st.relaxed.cta.global.L1::no_allocate.v8.b32 [%rd20], {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7};
  st.shared.b128 [%r20], %q0;
  st.shared.f32 [%r20], %f0;
  st.shared.f64 [%r20], %fd0;
  st.shared.u16 [%r20], %h0;
  st.shared.u32 [%r20], %r0;
  st.shared.u64 [%r20], %rd0;
  st.shared.u8 [%r20], %h0;
  st.shared.v2.u32 [%r20], {%r0,%r1};
  st.shared.v2.u64 [%r20], {%rd0,%rd1};
  st.shared.v2.u8 [%r20], {%h0,%h1};
  st.shared.v4.b32 [%r20], {%r0,%r1,%r2,%r3};
  st.shared.v4.f32 [%r20], {%f0,%f1,%f2,%f3};
  st.shared.v4.u16 [%r20], {%h0,%h1,%h2,%h3};
  st.shared.v4.u32 [%r20], {%r0,%r1,%r2,%r3};
  st.u16 [%rd20], %h0;
  st.u32 [%rd20], %r0;
  st.u8 [%rd20], %h0;
  st.v4.f32 [%rd20], {%f0,%f1,%f2,%f3};
  st.v4.u32 [%rd20], {%r0,%r1,%r2,%r3};
  st.weak.shared::cta.b128 [%r20], %q0;
  stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%r20], {%r0,%r1,%r2,%r3};
  stmatrix.sync.aligned.x2.trans.m8n8.shared.b16 [%r20], {%r0,%r1};
  stmatrix.sync.aligned.x4.trans.m8n8.shared.b16 [%r20], {%r0,%r1,%r2,%r3};
  vote.sync.any.pred %p1, %p0, -1;
  vote.sync.ballot.b32 %r0, %p0, -1;
  atom.global.gpu.acq_rel.add.f32 %f0, [%rd20], %f1;
  atom.global.gpu.acq_rel.max.s32 %r0, [%rd20], %r1;
  atom.global.gpu.acq_rel.min.u32 %r0, [%rd20], %r1;
  atom.relaxed.sys.shared.add.u32 %r0, [%r20], %r1;
  cp.async.ca.shared.global [%r20], [%rd20], 4;
  ld.global.b16 %h0, [%rd20];
  ld.global.b32 %r0, [%rd20];
  ld.global.b8 %h0, [%rd20];
  ld.global.nc.b32 %r0, [%rd20];
  ld.local.b32 %r0, [%rd20];
  ld.param.b64 %rd0, [blob];
  ld.shared.b32 %r0, [%r20];
  ld.shared.b8 %h0, [%r20];
  ld.shared.v2.b64 {%rd0,%rd1}, [%r20];
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r20];
  ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0,%r1,%r2,%r3}, [%r20];
  redux.sync.max.f32 %f0, %f1, -1;
  st.global.b16 [%rd20], %h0;
  st.global.b32 [%rd20], %r0;
  st.local.b32 [%rd20], %r0;
  st.shared.b16 [%r20], %h0;
  st.shared.b32 [%r20], %r0;
  st.shared.b8 [%r20], %h0;
  st.shared.v2.b32 [%r20], {%r0,%r1};
  st.shared.v2.b64 [%r20], {%rd0,%rd1};
  st.shared::cta.b32 [%r20], %r0;
  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r20], {%r0};
  stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r20], {%r0,%r1};
  stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r20], {%r0,%r1,%r2,%r3};
  stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r20], {%r0,%r1,%r2,%r3};
)";

TEST(Spellings, AllAreModelled) {
  RunPtx run(R"(
.visible .entry k(.param .align 16 .b8 blob[64])
{
  .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .b16 %h<16>; .reg .b128 %q<4>; .reg .f32 %f<16>; .reg .f64 %fd<16>;
  .reg .pred %p<4>;
  .param .align 16 .b8 argument[64];
)" + std::string(kInstructions) +
             "  ret;\n}\n");
  const Function* f = run.program->find("k");
  ASSERT_NE(f, nullptr);
  const ExecFn not_modelled = isa::instruction_set().internal("not_modelled");
  size_t instructions = 0;
  for (const Op& op : f->ops) {
    if (op.flags & Op::injected) continue;
    ++instructions;
    EXPECT_NE(op.fn, not_modelled) << f->instruction(op).text;
  }
  EXPECT_EQ(instructions, 176u + 1);
}

}  // namespace
}  // namespace tinygpu::test
