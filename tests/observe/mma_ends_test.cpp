// When MMAs complete, as gen5 search reads it.
#include "common/tinygpu/observe/mma_ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "common/tinygpu/timing/profile.h"
#include "tests/observe/kernels.h"

namespace tinygpu::test::mma_ends_test {
namespace {

/// By SM and warpgroup, in the order of the lines.
using Ends = std::map<std::pair<int, int>, std::vector<uint64_t>>;
Ends read(const std::string& text) {
  Ends out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::pair<int, int> issuer;
    words >> issuer.first >> issuer.second;
    for (uint64_t end; words >> end;) out[issuer].push_back(end);
  }
  return out;
}

TEST(MmaEnds, HasALineForEachSmAndItsTimesInOrder) {
  std::ostringstream text;
  LaunchStats plain, watched;
  for (LaunchStats* stats : {&plain, &watched}) {
    observe::MmaEnds ends(text);
    RunPtx machine(two_mmas());
    if (stats == &watched) machine.gpu.options.observers = {&ends};
    const uint64_t from = machine.upload(std::vector<uint32_t>(4096, 0)), to = machine.buffer<uint32_t>(64);
    *stats = machine.launch("fed", {3, 1, 1}, {32, 1, 1}, from, to);
  }
  EXPECT_EQ(plain.cycles, watched.cycles);
  const Ends all = read(text.str());
  ASSERT_EQ(all.size(), 3u) << text.str();
  for (const auto& [issuer, ends] : all) {
    EXPECT_EQ(issuer.second, 0);
    ASSERT_EQ(ends.size(), 2u);
    // A wait for the first one's commit lies between, and behind the second the CTA goes on.
    EXPECT_GT(ends[1], ends[0] + 50);
    EXPECT_LT(ends[1] - ends[0], watched.cycles);
  }
}

/// Each of two warpgroups multiplies by itself, one as often again.
constexpr const char* kTwoWarpgroups = R"(
.version 8.6
.target sm_90a
.address_size 64
.visible .entry two()
{
  .reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .f32 %f<4>;
  .shared .align 1024 .b8 smem[4096];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem;
  shr.u32 %r1, %r1, 4; cvt.u64.u32 %rd1, %r1;
  mov.b64 %rd0, 0x0000000800080000;
  add.s64 %rd1, %rd1, %rd0;
  mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
  setp.ne.u32 %p1, %r0, %r0;
  setp.lt.u32 %p2, %r0, 128;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, %p1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  @%p2 ret;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, %p1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ret;
}
)";

TEST(MmaEnds, KeepsWarpgroupsApart) {
  std::ostringstream text;
  observe::MmaEnds ends(text);
  RunPtx machine(kTwoWarpgroups, load_profile("h200"));
  machine.gpu.options.observers = {&ends};
  machine.launch("two", {1, 1, 1}, {256, 1, 1});
  const Ends all = read(text.str());
  ASSERT_EQ(all.size(), 2u) << text.str();
  EXPECT_EQ(all.begin()->second.size(), 1u);
  EXPECT_EQ(all.rbegin()->first.second, 1);
  EXPECT_EQ(all.rbegin()->second.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(all.rbegin()->second));
}

}  // namespace
}  // namespace tinygpu::test::mma_ends_test
