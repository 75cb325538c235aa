// Kernels that copy, wait and compute in an order that can be told beforehand.
#pragma once
#include <string>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {

/// Two phases of one mbarrier: thread 0 asks for a bulk copy of 1,024 bytes and waits for it, twice; then it stores a
/// word that it has read.
inline std::string two_copies() {
  return R"(
.visible .entry copies(.param .u64 from, .param .u64 to) {
  .shared .align 128 .b8 buffer[2048];
  .shared .align 8 .b64 full;
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  .reg .pred %p<2>;
  ld.param.u64 %rd0, [from];
  ld.param.u64 %rd1, [to];
  mov.u32 %r0, full;
  mov.u32 %r1, buffer;
  mbarrier.init.shared.b64 [%r0], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 1024, [%r0];
FIRST:
  mbarrier.try_wait.parity.shared.b64 %p0, [%r0], 0;
  @!%p0 bra FIRST;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 1024;
  add.u32 %r2, %r1, 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0], 1024, [%r0];
SECOND:
  mbarrier.try_wait.parity.shared.b64 %p0, [%r0], 1;
  @!%p0 bra SECOND;
  ld.shared.u32 %r3, [%r1];
  st.relaxed.gpu.global.u32 [%rd1], %r3;
  ret;
}
)";
}

/// Warp 0 copies 4,096 bytes, waits, lets the tensor core multiply 128 × 16 × 16 with them, waits; then again. With
/// `late_warp`, a second warp must have slept and arrived before the second copy.
inline std::string two_mmas(bool late_warp = false) {
  const std::string head = R"(
.visible .entry fed(.param .u64 from, .param .u64 to) {
  .shared .align 1024 .b8 buffer[8192];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 done;
  .shared .align 8 .b64 late;
  .shared .align 4 .b32 slot;
  .reg .b64 %rd<4>;
  .reg .b32 %r<12>;
  .reg .pred %p<6>;
  ld.param.u64 %rd0, [from];
  mov.u32 %r0, full;
  mov.u32 %r1, buffer;
  mov.u32 %r2, done;
  mov.u32 %r3, slot;
  mov.u32 %r9, late;
  mov.u32 %r4, %tid.x;
  setp.ne.u32 %p0, %r4, 0;
  @%p0 bra READY;
  mbarrier.init.shared.b64 [%r0], 1;
  mbarrier.init.shared.b64 [%r2], 1;
  mbarrier.init.shared.b64 [%r9], 1;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
  setp.ge.u32 %p1, %r4, 32;
  @%p1 bra LATE;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  ld.shared.b32 %r5, [%r3];
  shr.u32 %r6, %r1, 4;
  cvt.u64.u32 %rd1, %r6;
  or.b64 %rd1, %rd1, 0x0000401000080000;  // K-major, no swizzle: LBO 128, SBO 256, version 1
  mov.u32 %r7, 0x08040010;                // f16 times f16 into f32, N 16, M 128
  setp.ne.u32 %p2, 0, 0;
  @%p0 bra END;
)";
  const auto round = [](const std::string& parity) {
    return R"(
  mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 4096;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 4096, [%r0];
FULL)" + parity +
           R"(:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r0], )" +
           parity + R"(;
  @!%p3 bra FULL)" +
           parity + R"(;
  tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd1, %rd1, %r7, %p2;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];
DONE)" + parity +
           R"(:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r2], )" +
           parity + R"(;
  @!%p3 bra DONE)" +
           parity + ";\n";
  };
  const std::string wait = late_warp ? R"(
SLEPT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;
  @!%p3 bra SLEPT;
)"
                                     : "";
  return head + round("0") + wait + round("1") + R"(
END:
  bar.warp.sync 0xffffffff;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 32;
  ret;
LATE:
  setp.ne.u32 %p4, %r4, 32;
  @%p4 ret;
  nanosleep.u32 8000;
  mbarrier.arrive.shared.b64 _, [%r9];
  ret;
}
)";
}

}  // namespace tinygpu::test
