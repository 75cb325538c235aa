// cp.async: the passes in which it writes shared memory, and what waits behind it.
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// Cycles of a round in which each of eight warps copies four times eight rows of 64 bytes, `pitch` apart in shared
/// memory and 4 KiB apart in global memory, and loads `loads` times four matrices of others. `swizzled`: the 16 bytes
/// of a row change places by the row's number, as those of TMA's swizzle of 64 bytes do.
double round_cycles(int pitch, int loads, bool barrier, bool swizzled = false) {
  std::string body = barrier ? "  bar.sync 0;\n" : "";
  for (int i = 0; i < 4; ++i)
    body += "  cp.async.cg.shared.global [%to+" + std::to_string(64 * pitch * (i % 2)) + "], [%from+" +
            std::to_string(64 * 4096 * i) + "], 16;\n";
  for (int i = 0; i < loads; ++i)
    body += "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%v0, %v1, %v2, %v3}, [%at+" + std::to_string(64 * i) +
            "];\n  xor.b32 %sum, %sum, %v0;\n";
  const auto cycles = [&](uint32_t rounds) {
    RunPtx r(ptx_header("sm_90a") + R"(
.visible .entry k(.param .u64 out, .param .u64 source, .param .u32 rounds)
{
  .reg .pred %more; .reg .b32 %n, %t, %row, %column, %to, %at, %sum, %v<4>; .reg .b64 %from, %out;
  .shared .align 128 .b8 rows[16384];
  .shared .align 128 .b8 others[2048];
  ld.param.u64 %out, [out]; ld.param.u64 %from, [source]; ld.param.u32 %n, [rounds];
  mov.u32 %t, %tid.x; shr.u32 %row, %t, 2; and.b32 %column, %t, 3; shl.b32 %column, %column, 4;
  shr.u32 %at, %row, 1; and.b32 %at, %at, )" +
                 std::to_string(swizzled ? 3 : 0) + R"(; shl.b32 %at, %at, 4; xor.b32 %at, %at, %column;
  mov.u32 %to, rows; add.u32 %to, %to, %at; mad.lo.u32 %to, %row, )" +
                 std::to_string(pitch) + R"(, %to;
  mad.wide.u32 %from, %row, 4096, %from; cvt.u64.u32 %out, %column; add.u64 %from, %from, %out;
  ld.param.u64 %out, [out];
  and.b32 %column, %t, 31; shl.b32 %column, %column, 4; mov.u32 %at, others; add.u32 %at, %at, %column;
  mov.u32 %sum, 0;
L:
)" + body + R"(
  add.u64 %from, %from, 64; sub.u32 %n, %n, 1; setp.ne.u32 %more, %n, 0;
  @%more bra L;
  cp.async.wait_all;
  mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out; st.global.u32 [%out], %sum;
  ret;
})",
             hopper_machine());
    const uint64_t out = r.buffer<uint32_t>(256), source = r.upload(std::vector<uint32_t>(1 << 19));
    return double(r.launch("k", {1}, {256}, out, source, rounds).cycles);
  };
  return (cycles(40) - cycles(8)) / 32;
}

// An H200 (probe_05_mma_sync, "copy", 8 warps) takes 514 to 530 cycles for 32 copies, of 15 passes each by ncu's count.
TEST(CopyPasses, RowsAcrossSectorsTakeMore) { EXPECT_NEAR(round_cycles(80, 0, false), 522, 12); }

// Two rows of 64 bytes in each 128 of shared memory: 8.0 cycles a copy on an H200 that is full of them.
TEST(CopyPasses, HalvesOfLinesTakeOneEach) { EXPECT_NEAR(round_cycles(64, 0, false), 8 * 32, 32); }

// Those that a swizzle moves within a sector or by whole ones: 8.0 too.
TEST(CopyPasses, SwizzledRowsTakeNoMore) { EXPECT_NEAR(round_cycles(64, 0, false, true), 8 * 32, 32); }

// The banks have time for both: 511 cycles on an H200, where the copies alone take 523 and the loads 402. With a
// barrier a round, all warps have to get rid of their copies first: 802.
TEST(CopyPasses, MatricesBehindABarrierWaitForCopies) {
  EXPECT_NEAR(round_cycles(80, 12, false), 511, 40);
  EXPECT_NEAR(round_cycles(80, 12, true), 802, 100);
}

}  // namespace
}  // namespace tinygpu::test
