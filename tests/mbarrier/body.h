// Kernels over one mbarrier: %bar is its shared address, thread 0 has initialised it.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {

/// The shared offset of `smem` in kernel(): the first byte behind the window's reserved KiB.
inline constexpr const char* kBarrierOffset = "0x400";

/// `body` behind the declaration of %bar and, if `count` is not empty, its initialisation.
inline std::string over_barrier(const std::string& count, const std::string& body) {
  std::string s = "  .reg .b32 %bar;\n  mov.u32 %bar, smem;\n  setp.eq.u32 %p15, %t, 0;\n";
  if (!count.empty()) s += "  @%p15 mbarrier.init.shared.b64 [%bar], " + count + ";\n  bar.sync 0;\n";
  return kernel(s + body);
}

/// Runs `body` in `threads` of each CTA of a cluster and returns what stopped it.
inline Diagnosis stop_of(const std::string& count, const std::string& body, uint32_t threads = 1, uint32_t ctas = 1) {
  RunPtx run(over_barrier(count, body));
  if (ctas > 1) run.cluster = {ctas};
  return run.fault_of("k", {ctas}, {threads}, run.buffer<uint32_t>(256), run.buffer<uint32_t>(256));
}

/// Runs `body` to its end and returns the first `words` of its output; what was reported goes to `reports`.
inline std::vector<uint32_t> output_of(const std::string& count, const std::string& body, size_t words,
                                       std::vector<Diagnosis>* reports = nullptr, uint32_t threads = 1,
                                       uint32_t ctas = 1, CompletionOrder order = {}) {
  RunPtx run(over_barrier(count, body));
  if (ctas > 1) run.cluster = {ctas};
  run.gpu.options.order = order;
  std::vector<uint32_t> in(256);
  for (uint32_t i = 0; i < 256; ++i) in[i] = i;
  const uint64_t from = run.upload(in), to = run.buffer<uint32_t>(256);
  run.launch("k", {ctas}, {threads}, from, to);
  if (reports) *reports = run.reports;
  return run.download<uint32_t>(to, words);
}

/// Runs `body` to its end and returns its only report.
inline Diagnosis report_of(const std::string& count, const std::string& body, uint32_t threads = 1, uint32_t ctas = 1) {
  std::vector<Diagnosis> reports;
  output_of(count, body, 1, &reports, threads, ctas);
  EXPECT_EQ(reports.size(), 1u);
  return reports.empty() ? Diagnosis{} : reports[0];
}

/// Every completion order that tests run under.
inline const CompletionOrder kOrders[] = {{CompletionOrder::Mode::timed, 0},
                                          {CompletionOrder::Mode::late, 0},
                                          {CompletionOrder::Mode::seeded, 1},
                                          {CompletionOrder::Mode::seeded, 2}};

}  // namespace tinygpu::test
