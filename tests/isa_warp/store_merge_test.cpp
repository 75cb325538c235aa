// Stores to parts of lines of global memory. What an H200 took (2026-11-24): cycles for each KiB that one SM writes.
// Whole lines take 32, parts of sectors alone 80 (halves) and 160 (quarters); parts that follow each other closely
// merge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

struct Pieces {
  int bytes, parts, gap;  // of a lane; that make a whole; instructions between parts of one line
  bool all = true;        // false: the first part alone
};

/// Every warp writes 8 * `parts` times 32 lanes in a round, the parts of `gap` pieces of memory one after the other.
double cycles_for_kib(const Pieces& p, int warps) {
  const int stride = p.bytes * p.parts;
  std::string stores;
  for (int b = 0; b < 8; b += p.gap)
    for (int j = 0; j < (p.all ? p.parts : 1); ++j)
      for (int g = 0; g < p.gap; ++g) {
        const std::string at = "[%rd3+" + std::to_string((b + g) * 32 * stride + j * p.bytes) + "]";
        stores +=
            p.bytes == 4 ? "  st.global.u32 " + at + ", %t;\n" : "  st.global.v4.u32 " + at + ", {%t, %t, %t, %t};\n";
      }
  const auto run_of = [&](int rounds) {
    RunPtx run(ptx_header("sm_90a") + kernel(R"(
  shr.u32 %r1, %t, 5;
  and.b32 %r2, %t, 31;
  mul.wide.u32 %rd1, %r1, 32768;
  add.s64 %rd1, %out, %rd1;
  mul.wide.u32 %rd2, %r2, )" + std::to_string(stride) +
                                             R"(;
  add.s64 %rd1, %rd1, %rd2;
  mov.u32 %r3, 0;
  mov.u32 %r4, 0;
LOOP:
  cvt.u64.u32 %rd4, %r4;
  add.s64 %rd3, %rd1, %rd4;
)" + stores + "  add.u32 %r4, %r4, " + std::to_string(256 * stride) +
                                             R"(;
  and.b32 %r4, %r4, 16383;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p0, %r3, )" + std::to_string(rounds) +
                                             R"(;
  @%p0 bra LOOP;
  bar.sync 0;
)"),
               hopper_machine());
    return double(run.launch("k", {1}, {uint32_t(32 * warps)}, run.buffer<uint32_t>(4),
                             run.buffer<uint32_t>(size_t(8192) * warps + 8192))
                      .cycles);
  };
  const double kib = 8.0 * 32 * p.bytes * (p.all ? p.parts : 1) * warps / 1024;
  return (run_of(96) - run_of(32)) / 64 / kib;
}

TEST(StoreMerge, WholeLinesAndPartsAlone) {
  EXPECT_NEAR(cycles_for_kib({4, 1, 1}, 4), 32, 1);
  EXPECT_NEAR(cycles_for_kib({4, 2, 1, false}, 4), 80, 2);
  EXPECT_NEAR(cycles_for_kib({4, 4, 1, false}, 4), 160, 4);
  EXPECT_NEAR(cycles_for_kib({16, 2, 1, false}, 4), 80, 2);
}

TEST(StoreMerge, PartsThatFollowCloselyAreWholeLines) {
  EXPECT_NEAR(cycles_for_kib({4, 2, 1}, 4), 32.05, 3);
  EXPECT_NEAR(cycles_for_kib({4, 2, 2}, 4), 32.12, 3);
  EXPECT_NEAR(cycles_for_kib({4, 4, 1}, 4), 32.13, 3);
  EXPECT_NEAR(cycles_for_kib({16, 2, 1}, 1), 32.06, 3);
}

TEST(StoreMerge, PartsFarApartStayParts) {
  EXPECT_NEAR(cycles_for_kib({4, 2, 8}, 4), 80, 2);
  EXPECT_NEAR(cycles_for_kib({4, 4, 8}, 4), 160, 4);
  EXPECT_NEAR(cycles_for_kib({16, 2, 1}, 4), 80, 2);
}

}  // namespace
}  // namespace tinygpu::test
