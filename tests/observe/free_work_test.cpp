// Work that takes no time: the clock changes by what that work took, and nothing else does.
#include "common/tinygpu/timing/free_work.h"

#include <gtest/gtest.h>

#include "tests/observe/kernels.h"

namespace tinygpu::test::free_work_test {
namespace {

MachineSpec machine_with(FreeWork work, MachineSpec spec = plain_machine()) {
  make_free(spec, work);
  return spec;
}

struct Result {
  uint64_t cycles;
  std::vector<uint32_t> words;
};

Result run(const std::string& text, const std::string& kernel, Dim3 block, FreeWork work) {
  RunPtx machine(text, machine_with(work));
  std::vector<uint32_t> data(16384);
  for (size_t i = 0; i < data.size(); ++i) data[i] = uint32_t(i);
  const uint64_t from = machine.upload(data), to = machine.buffer<uint32_t>(64);
  Result r{};
  r.cycles = machine.launch(kernel, {1, 1, 1}, block, from, to).cycles;
  r.words = machine.download<uint32_t>(to, 64);
  EXPECT_TRUE(machine.reports.empty());
  return r;
}

/// A bulk copy of so many bytes, a wait for it, and a word of it stored.
std::string copy_of(uint32_t bytes) {
  std::string text = two_copies();
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
  };
  replace("1024", std::to_string(bytes));
  replace("buffer[2048]", "buffer[" + std::to_string(2 * bytes) + "]");
  return text;
}

TEST(FreeWork, LoadsByTmaTakeAsLongForFewBytesAsForMany) {
  const FreeWork loads{.loads = true};
  const Result few = run(copy_of(16), "copies", {1, 1, 1}, loads),
               many = run(copy_of(16384), "copies", {1, 1, 1}, loads);
  EXPECT_EQ(few.cycles, many.cycles);
  const Result as_it_is = run(copy_of(16384), "copies", {1, 1, 1}, {});
  EXPECT_GT(as_it_is.cycles, many.cycles + 1200) << "two copies, of which each takes longer than 600 cycles";
  EXPECT_EQ(as_it_is.words, many.words);
}

TEST(FreeWork, OrdinaryLoadsAndCpAsyncToo) {
  const std::string text = R"(
.visible .entry load(.param .u64 from, .param .u64 to) {
  .shared .align 128 .b8 smem[512];
  .reg .b64 %rd<4>; .reg .b32 %r<6>;
  ld.param.u64 %rd0, [from]; ld.param.u64 %rd1, [to];
  mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r1, [%rd0];
  add.u32 %r1, %r1, 1;
  mov.u32 %r2, smem; mad.lo.u32 %r2, %r0, 4, %r2;
  cp.async.ca.shared.global [%r2], [%rd0+128], 4;
  cp.async.wait_all;
  ld.shared.u32 %r3, [%r2];
  add.u32 %r1, %r1, %r3;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";
  const Result slow = run(text, "load", {32, 1, 1}, {}), free = run(text, "load", {32, 1, 1}, {.loads = true});
  EXPECT_GT(slow.cycles, free.cycles + 400) << "a load and a copy, each from L2";
  EXPECT_EQ(slow.words, free.words);
  EXPECT_EQ(free.words[3], 3u + 1 + 35);
}

/// The MMAs of two_mmas() with N columns.
std::string mmas_of(uint32_t columns) {
  std::string text = two_mmas();
  const std::string word = "0x08040010";  // f16 times f16 into f32, N 16, M 128
  char other[16];
  std::snprintf(other, sizeof other, "0x%08x", 0x08000010 | columns / 8 << 17);
  text.replace(text.find(word), word.size(), other);
  return text;
}

TEST(FreeWork, MmasTakeAsLongForFewColumnsAsForMany) {
  const auto cycles = [](uint32_t columns, FreeWork work) {
    return run(mmas_of(columns), "fed", {32, 1, 1}, work).cycles;
  };
  ASSERT_EQ(mmas_of(16), two_mmas());
  EXPECT_GT(cycles(32, {}), cycles(16, {}));
  EXPECT_EQ(cycles(32, {.mmas = true}), cycles(16, {.mmas = true}));
  EXPECT_LT(cycles(16, {.mmas = true}), cycles(16, {}));
}

TEST(FreeWork, AWaitStillWaitsForWhatItNeeds) {
  const Result slow = run(two_mmas(true), "fed", {64, 1, 1}, {}),
               free = run(two_mmas(true), "fed", {64, 1, 1}, {.waits = true});
  EXPECT_LT(free.cycles, slow.cycles);
  EXPECT_GT(free.cycles, 8000u) << "a warp sleeps so long before it arrives";
}

/// Each lane loads a word; lane by lane they are `stride` bytes apart.
std::string loads_apart(int stride) {
  return R"(
.visible .entry apart(.param .u64 from, .param .u64 to) {
  .reg .b64 %rd<3>; .reg .b32 %r<6>;
  .shared .align 128 .b8 smem[8192];
  ld.param.u64 %rd1, [to];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem;
  mad.lo.u32 %r2, %r0, )" +
         std::to_string(stride) + R"(, %r1;
  st.shared.u32 [%r2], %r0;
  ld.shared.u32 %r3, [%r2];
  ld.shared.u32 %r4, [%r2];
  add.u32 %r3, %r3, %r4;
  mad.wide.u32 %rd2, %r0, 4, %rd1;
  st.global.u32 [%rd2], %r3;
  ret;
}
)";
}

TEST(FreeWork, WithoutBankConflictsAStrideCostsWhatDenseAccessesCost) {
  const FreeWork conflicts{.bank_conflicts = true};
  const auto take = [](int stride, FreeWork work) { return run(loads_apart(stride), "apart", {32, 1, 1}, work); };
  const Result dense = take(4, {}), apart = take(128, {}), free = take(128, conflicts);
  EXPECT_GT(apart.cycles, dense.cycles + 60) << "three accesses of 32 passes, of which two at least are waited for";
  EXPECT_EQ(free.cycles, dense.cycles);
  EXPECT_EQ(take(4, conflicts).cycles, dense.cycles);
  EXPECT_EQ(free.words, apart.words);
}

TEST(FreeWork, HoppersMmasToo) {
  const MachineSpec slow = hopper_machine(), free = machine_with({.mmas = true}, hopper_machine());
  EXPECT_EQ(free.number("wgmma.wait.ss"), 0);
  EXPECT_GT(slow.number("wgmma.wait.ss"), 0);
  EXPECT_FALSE(free.numbers.contains("tcgen05.mma.fixed.ss.cg1.m64")) << "what a machine lacks it lacks still";
}

TEST(FreeWork, IsReadByName) {
  FreeWork work;
  EXPECT_EQ(read_free_work(work, "loads,bank-conflicts"), "");
  EXPECT_EQ(work, (FreeWork{.loads = true, .bank_conflicts = true}));
  EXPECT_EQ(read_free_work(work, "mmas"), "");
  EXPECT_EQ(work, (FreeWork{.mmas = true})) << "nothing stays of the text before";
  for (const char* wrong : {"", "load", "loads,", "loads mmas"})
    EXPECT_EQ(read_free_work(work, wrong),
              "write one or more of loads, mmas, waits, bank-conflicts, with commas between")
        << wrong;
  EXPECT_EQ(work, (FreeWork{.mmas = true}));
}

}  // namespace
}  // namespace tinygpu::test::free_work_test
