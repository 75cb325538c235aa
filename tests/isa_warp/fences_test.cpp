// Every form of fence and membar that the assembler takes runs, and wider fences cost more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

std::vector<std::string> forms() {
  std::vector<std::string> f;
  for (const char* scope : {"cta", "cluster", "gpu", "sys"}) {
    for (const char* order : {"", ".sc", ".acq_rel", ".acquire", ".release"})
      f.push_back(std::string("fence") + order + "." + scope);
    f.push_back(std::string("fence.proxy.tensormap::generic.release.") + scope);
    f.push_back(std::string("fence.proxy.tensormap::generic.acquire.") + scope + " [%in], 128");
  }
  for (const char* other :
       {"fence.mbarrier_init.release.cluster", "fence.proxy.alias", "fence.proxy.async", "fence.proxy.async.global",
        "fence.proxy.async.shared::cta", "fence.proxy.async.shared::cluster",
        "fence.acquire.sync_restrict::shared::cluster.cluster", "fence.release.sync_restrict::shared::cta.cluster",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", "membar.cta", "membar.gl",
        "membar.sys", "membar.proxy.alias"})
    f.push_back(other);
  return f;
}

TEST(Fences, EveryFormRuns) {
  std::string body;
  for (const auto& f : forms()) body += "  " + f + ";\n";
  RunPtx run(kernel(body + "  st.global.u32 [%dst], 1;\n"));
  EXPECT_THAT(run_kernel(run, 32, 32), ::testing::Each(1u));
  EXPECT_EQ(forms().size(), 42u);
}

TEST(Fences, AWiderScopeTakesLonger) {
  const auto cycles = [](const char* fence) {
    RunPtx run(kernel(std::string("  ") + fence + ";\n"));
    return run.launch("k", {1}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).cycles;
  };
  EXPECT_LT(cycles("fence.acq_rel.cta"), cycles("fence.acq_rel.gpu"));
  EXPECT_LT(cycles("fence.proxy.async.shared::cta"), cycles("fence.proxy.async"));
}

}  // namespace
}  // namespace tinygpu::test
