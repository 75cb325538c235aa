// Video instructions: values worked out by hand from PTX ISA 9.7.18. An H200's are in tests/conformance/video.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::HasSubstr;

/// %r1, %r2, %r3 and what `instruction` makes of them in %r0.
uint32_t value(const std::string& instruction, uint32_t a, uint32_t b, uint32_t c = 0) {
  RunPtx run(kernel("ld.global.u32 %r1, [%in]; ld.global.u32 %r2, [%in+4]; ld.global.u32 %r3, [%in+8];\n" +
                    instruction + ";\nst.global.u32 [%dst], %r0;\n"));
  return run_kernel(run, 1, 1, {a, b, c, 0})[0];
}

TEST(Video, SumOfAbsoluteDifferences) {
  // __vsadu4: |1-4| + |200-100| + |7-7| + |0-255|, and 1000.
  EXPECT_EQ(value("vabsdiff4.u32.u32.u32.add %r0, %r1, %r2, %r3", 0x0107c800, 0x040764ff, 1000), 1000u + 3 + 100 + 255);
  EXPECT_EQ(value("vabsdiff4.u32.u32.u32 %r0, %r1, %r2, %r3", 0x0107c800, 0x040764ff), 0x030064ffu);
}

TEST(Video, LanesMasksAndSelectors) {
  EXPECT_EQ(value("vadd4.u32.u32.u32.sat %r0, %r1, %r2, %r3", 0xff010203, 0x02010101), 0xff020304u);
  EXPECT_EQ(value("vadd4.u32.u32.u32 %r0.b20, %r1.b0123, %r2, %r3", 0x01020304, 0, 0xaabbccdd), 0xaa03cc01u)
      << "reversed lanes of a; lanes 1 and 3 are c's";
  EXPECT_EQ(value("vadd2.s32.s32.s32.sat %r0, %r1, %r2, %r3", 0x7fff8000, 0x0001ffff), 0x7fff8000u);
  EXPECT_EQ(value("vavrg4.u32.u32.u32 %r0, %r1, %r2, %r3", 0x00030201, 0x01030401), 0x01030301u) << "halves go up";
  EXPECT_EQ(value("vset4.u32.u32.lt.add %r0, %r1, %r2, %r3", 0x01020304, 0x02020404, 10), 12u);
  EXPECT_EQ(value("vmin2.s32.s32.s32 %r0, %r1, %r2.h10, %r3", 0x8000fffe, 0xdeadbeef), 0x8000fffeu)
      << "lanes 0 and 1 are a's, for b too";
}

TEST(Video, PartsOfWords) {
  EXPECT_EQ(value("vadd.s32.s32.u32 %r0, %r1.b3, %r2.h0", 0x80000000, 0x1234ffff), 0xffffu - 128);
  EXPECT_EQ(value("vadd.u32.u32.u32.sat %r0, %r1, %r2", 0xffffffff, 2), 0xffffffffu);
  EXPECT_EQ(value("vadd.u32.u32.u32 %r0.b1, %r1, %r2, %r3", 0x11, 0x22, 0xaabbccdd), 0xaabb33ddu);
  EXPECT_EQ(value("vsub.s32.u32.u32.max %r0, %r1, %r2, %r3", 3, 10, 0xfffffff0), uint32_t(-7));
  EXPECT_EQ(value("vmad.s32.s32.u32.shr7 %r0, %r1.b0, -%r2.b0, %r3", 0xff, 2, 256), 2u) << "(1 * 2 + 256) / 128";
  EXPECT_EQ(value("vmad.u32.u32.u32.po %r0, %r1, %r2, %r3", 5, 6, 7), 38u);
  EXPECT_EQ(value("vshl.u32.u32.u32.wrap %r0, %r1, %r2", 3, 33), 6u);
  EXPECT_EQ(value("vshr.s32.s32.u32.clamp %r0, %r1, %r2", 0x80000000, 99), 0xffffffffu);
  EXPECT_EQ(value("vset.s32.u32.ge.add %r0, %r1, %r2, %r3", 0xffffffff, 0, 7), 7u) << "-1 is less than 0";
}

/// What ptxas 13.0 says to each.
TEST(Video, FormsThatPtxasTakes) {
  const auto fault = [](const std::string& line) {
    try {
      RunPtx run(kernel(line + ";\n"));
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  for (const char* good :
       {"vadd.s32.u32.s32 %r0, 5, %r2.h1", "vadd.s32.s32.s32 %r0, %r1, -5", "vadd.s32.s32.s32 %r0, %r1, %r2, %r3",
        "vmad.s32.s32.s32 %r0, -%r1, -%r2, -%r3", "vmad.s32.s32.s32 %r0, %r1, %r2, -%r3",
        "vshl.u32.s32.u32.sat.wrap %r0.b2, %r1, %r2, %r3", "vset2.u32.s32.ne %r0.h1, %r1.h32, %r2.h22, %r3"})
    EXPECT_EQ(fault(good), "") << good;
  for (const char* bad :
       {"vadd.s32.s32.s32.add %r0.h0, %r1, %r2, %r3", "vadd.s32.s32.s32 %r0.b0, %r1, %r2",
        "vadd.s32.s32.s32 %r0, %r1.b4, %r2", "vadd.s32.s32.s32 %r0, -%r1, %r2", "vadd.s32.s32.s32 %r0, %r1.h10, %r2",
        "vadd.u16.u16.u16 %r0, %r1, %r2", "vshl.u32.u32.s32.clamp %r0, %r1, %r2", "vshl.u32.u32.u32 %r0, %r1, %r2",
        "vmad.s32.s32.s32 %r0, -%r1, %r2, -%r3", "vmad.s32.s32.s32.po %r0, -%r1, %r2, %r3",
        "vadd2.s32.s32.s32.sat.add %r0, %r1, %r2, %r3", "vadd2.s32.s32.s32 %r0.h01, %r1, %r2, %r3",
        "vadd4.s32.s32.s32 %r0, %r1, %r2, 5", "vadd4.s32.s32.s32 %r0.b33, %r1, %r2, %r3",
        "vset.u32.u32.lt.sat %r0, %r1, %r2", "add.s32 %r0, %r1.b0, %r2"})
    EXPECT_NE(fault(bad), "") << bad;
  EXPECT_THAT(fault("vadd.s32.s32.s32 %r0, %r1.h2, %r2"), HasSubstr("%r1.h2"));
}

}  // namespace
}  // namespace tinygpu::test
