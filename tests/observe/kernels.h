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
  st.global.u32 [%rd1], %r3;
  ret;
}
)";
}

}  // namespace tinygpu::test
