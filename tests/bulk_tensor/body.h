// Kernels of one warp or a cluster around linear bulk copies. %buf is the shared address of `smem` (8 KiB, at offset
// 0x400 of the window), %bar of an mbarrier behind it for one arrival, untouched; %in and %out are
// buffers.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {

inline std::string bulk_body(const std::string& body) {
  return R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .align 64 .b8 pmap[128])
{
  .reg .b32 %r<32>, %t, %buf, %bar, %rank; .reg .b64 %rd<16>, %in, %out, %map; .reg .b16 %h<8>; .reg .pred %p<8>, %first;
  .shared .align 1024 .b8 smem[8192];
  .shared .align 8 .b8 barrier[8];
  ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];
  mov.b64 %rd0, pmap; cvta.param.u64 %map, %rd0;
  mov.u32 %t, %tid.x; mov.u32 %buf, smem; mov.u32 %bar, barrier; mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive; barrier.cluster.wait;
)" + body +
         R"(
  barrier.cluster.arrive; barrier.cluster.wait;
  ret;
}
)";
}

/// PTX: waits for phase 0 of %bar.
inline const std::string kWait =
    "W%=: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p7, [%bar], 0; @!%p7 bra W%=;\n";

/// PTX for a cluster of two: sends 128 bytes at %buf to %buf + 1024 of the other CTA, whose %bar counts them.
inline const std::string kSendToPeer = R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
  xor.b32 %r1, %rank, 1; add.u32 %r4, %buf, 1024;
  mapa.shared::cluster.u32 %r2, %r4, %r1; mapa.shared::cluster.u32 %r3, %bar, %r1;
  barrier.cluster.arrive; barrier.cluster.wait;
  @%first cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%buf], 128, [%r3];
)";

/// Text with every %= replaced by a number of its own, as asm volatile would.
inline std::string numbered(std::string s) {
  for (int n = 0;; ++n) {
    const size_t a = s.find("%=");
    if (a == std::string::npos) return s;
    s.replace(a, 2, std::to_string(n / 2));
  }
}

struct BulkRun {
  explicit BulkRun(const std::string& body, uint32_t ctas = 1, CompletionOrder order = {})
      : run(numbered(bulk_body(body))), ctas(ctas) {
    if (ctas > 1) run.cluster = {ctas};
    run.gpu.options.order = order;
    std::vector<uint32_t> words(4096);
    for (uint32_t i = 0; i < 4096; ++i) words[i] = i + 1;
    in = run.upload(words);
    out = run.buffer<uint32_t>(4096);
  }
  std::vector<uint32_t> words(size_t n, uint32_t threads = 32) {
    run.launch("k", {ctas}, {threads}, in, out, map);
    return run.download<uint32_t>(out, n);
  }
  Diagnosis fault(uint32_t threads = 1) { return run.fault_of("k", {ctas}, {threads}, in, out, map); }
  /// Runs to the end; the only report.
  Diagnosis report(uint32_t threads = 32) {
    run.launch("k", {ctas}, {threads}, in, out, map);
    EXPECT_EQ(run.reports.size(), 1u);
    return run.reports.empty() ? Diagnosis{} : run.reports[0];
  }

  struct Map {
    alignas(64) uint8_t bytes[128] = {};
  };
  RunPtx run;
  uint32_t ctas;
  uint64_t in = 0, out = 0;
  Map map;
};

inline const CompletionOrder kOrders[] = {{CompletionOrder::Mode::timed, 0},
                                          {CompletionOrder::Mode::late, 0},
                                          {CompletionOrder::Mode::seeded, 1},
                                          {CompletionOrder::Mode::seeded, 2}};

}  // namespace tinygpu::test
