// Every accepted form of tcgen05.alloc, dealloc, relinquish_alloc_permit, ld, st, wait, cp and shift executes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// A kernel in which the line makes sense: addresses are valid, columns allocated, a commit waits for cp and shift.
/// Some forms break a rule whatever surrounds them (dealloc of 0 columns), so the kernel runs with the rules relaxed.
std::string kernel_for(const std::string& line) {
  const int group = line.find("cta_group::2") != std::string::npos ? 2 : 1;
  const bool alloc = line.find("tcgen05.alloc") != std::string::npos;
  const bool dealloc = line.find("tcgen05.dealloc") != std::string::npos;
  const bool queue = line.find("tcgen05.cp") != std::string::npos || line.find("tcgen05.shift") != std::string::npos;
  uint32_t columns = 512;
  if (dealloc) columns = line.find("96") != std::string::npos ? 128 : line.find("32;") != std::string::npos ? 32 : 512;
  std::string s = R"(
.visible .entry k()
{
  .reg .b32 %r<340>; .reg .b64 %rd<32>; .reg .pred %p<16>; .reg .f32 %f<16>;
  .shared .align 1024 .b8 smem[40960];
  .shared .align 8 .b64 bar;
  mov.u32 %r0, smem; mov.u64 %rd0, smem; cvta.shared.u64 %rd0, %rd0;
  setp.eq.u32 %p1, %r0, %r0;
  mov.u64 %rd23, 0x4000000800010000;
  shr.u32 %r10, %r0, 4; cvt.u64.u32 %rd1, %r10; or.b64 %rd23, %rd23, %rd1; mov.u64 %rd1, 0x400000000000; or.b64 %rd23, %rd23, %rd1;
  mov.u32 %r11, bar; mbarrier.init.shared.b64 [%r11], 1; fence.mbarrier_init.release.cluster;
)";
  const std::string sync = group == 2 ? "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" : "";
  if (!alloc)
    s += fmt::format(
        "  tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32 [%r0], {};\n  ld.shared.b32 %r2, [%r0];\n", group,
        columns);
  s += "  mov.u32 %r106, %r2; mov.u32 %r1, 64;\n";
  if (dealloc) s += fmt::format("  mov.u32 %r1, {};\n", columns);
  s += sync;
  if (queue) {
    // One thread of one CTA issues.
    s += "  mov.u32 %r12, %cluster_ctarank; mov.u32 %r13, %tid.x; or.b32 %r12, %r12, %r13; setp.eq.u32 %p2, %r12, 0;\n";
    s += "  @!%p2 bra WAITED;\n  " + line +
         fmt::format("\n  tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.b64 [%r11];\n", group) +
         "LOOP:\n  mbarrier.try_wait.parity.shared.b64 %p3, [%r11], 0;\n  @!%p3 bra LOOP;\nWAITED:\n  bar.warp.sync "
         "-1;\n" +
         sync;
  } else {
    s += "  " + line + "\n";
  }
  s += "  tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;\n";
  if (alloc) {
    const size_t comma = line.rfind(' ');
    s += "  ld.shared.b32 %r2, [%r0];\n" + sync +
         fmt::format("  tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %r2, {}\n", group, line.substr(comma + 1));
  } else if (!dealloc) {
    s += fmt::format("  tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %r2, {};\n", group, columns);
  }
  return s + sync + "  ret;\n}\n";
}

TEST(Forms, AllExecute) {
  std::ifstream in(GEN5_TMEM_FORMS);
  ASSERT_TRUE(in);
  std::string line, group;
  std::map<std::string, std::pair<int, int>> counts;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') {
      if (line.rfind("## ", 0) == 0) group = line.substr(3);
      continue;
    }
    auto& [executed, all] = counts[group];
    ++all;
    RunPtx run(kernel_for(line));
    run.gpu.options.strict_tmem = false;
    if (line.find("cta_group::2") != std::string::npos) run.cluster = {2};
    try {
      run.launch("k", {2}, {32});
      ++executed;
    } catch (const KernelFault& f) {
      ADD_FAILURE() << line << "\n" << diagnosis::render(f.diagnosis);
    }
  }
  int executed = 0, all = 0;
  for (const auto& [name, c] : counts) {
    fmt::print("  {:14} {} of {} accepted forms executed\n", name, c.first, c.second);
    executed += c.first;
    all += c.second;
  }
  fmt::print("  {:14} {} of {}\n", "together", executed, all);
  EXPECT_EQ(all, 37 + 148 + 18 + 36 + 4);
  EXPECT_EQ(executed, all);
}

}  // namespace
}  // namespace tinygpu::test
