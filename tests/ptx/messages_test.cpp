// What a reader is told: the place, what is wrong, what is legal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx_text.h"

namespace tinygpu::ptx {
namespace {

using ::testing::HasSubstr;

struct Expected {
  const char* body;
  uint32_t col;
  const char* text;
  const char* help;
};

constexpr Expected kExpected[] = {
    {"tcgen05.alloc.cta_group::1.sync.aligned.exclusive.b32 [%rd0], 32;", 40,
     "tcgen05.alloc has no modifier '.exclusive'", ".shared::cta"},
    {"tcgen05.alloc.sync.aligned.b32 [%rd0], 32;", 1, "tcgen05.alloc needs .cta_group::1 or .cta_group::2",
     "one of .cta_group::1 or .cta_group::2"},
    {"tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd0], 48;", 53, "columns of tcgen05.alloc is 48",
     "32, 64, 128, 256 or 512"},
    {"tcgen05.mma.cta_group::1.kind::f16.block_scale [%r2], %rd3, %rd4, %r8, %p1;", 35,
     "'.block_scale' cannot be combined with .kind::f16", ""},
    {"tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd3, %rd4, %r8, %p1, 16;", 65, "scale_input_d of tcgen05.mma is 16",
     "0..15"},
    {"tcgen05.mma.cta_group::1.kind::f16 [%rd2], %rd3, %rd4, %r8, %p1;", 36, "register %rd2 of type .b64",
     "Tensor Memory address is a .b32 register"},
    {"tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r1,%r2}, [%r3];", 39, "r of tcgen05.ld is a vector of 2",
     "a vector {…} of 4"},
    {"tcgen05.ld.sync.aligned.32x32b.x3.b32 {%r1,%r2,%r3}, [%r3];", 31, "no modifier '.x3'", ".x1, .x2, .x4"},
    {"tcgen05.wait.ld.sync.aligned;", 1, "unknown instruction 'tcgen05.wait.ld.sync.aligned'", "tcgen05.wait::ld"},
    {"mbarrier.arrive.release.shared.b64 %rd1, [%r0];", 16, "'.release' needs .cta or .cluster beside it",
     ".release.cta"},
    {"mbarrier.arrive.shared::cluster.b64 %rd1, [%r0];", 37, "register %rd1", "the sink _"},
    {"mbarrier.init.shared::cluster.b64 [%r0], 1;", 14, "mbarrier.init has no modifier '.shared::cluster'",
     ".shared or .shared::cta"},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd1], 17, [%r6];", 82,
     "size of cp.async.bulk is 17", "multiple of 16"},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1}], [%r6];", 91,
     "c of cp.async.bulk.tensor is a vector of 1", "of 2"},
    {"cvt.rn.e4m3x2.f32 %h1, %f1, %f2;", 1, "cvt needs .satfinite", ".satfinite"},
    {"fma.f32 %f1, %f2, %f3, %f4;", 1, "fma needs .rn, .rz, .rm or .rp", ".rn"},
    {"setmaxnreg.inc.sync.aligned.u32 255;", 33, "registers of setmaxnreg is 255", "24..256 that is a multiple of 8"},
    {"frobnicate.u32 %r1, %r2;", 1, "unknown instruction 'frobnicate.u32'", "gen5 isa"},
    {"add.s32 %r1, %r2;", 1, "add.s32 takes 3 operands here, 2 given", "d, a, b"},
    {"add.s32.s32 %r1, %r2, %r3;", 8, "'.s32' stands twice", "once"},
    {"ld.relaxed.acquire.gpu.b32 %r1, [%rd1];", 11, "'.acquire' cannot be combined with '.relaxed'", ""},
    {"add.s32 %r1, %r999, %r2;", 14, "'%r999' is not declared", ".reg"},
    {"add.s32 %r1, nothing, %r2;", 14, "nothing", ""},
    {"bra nowhere;", 5, "unknown label 'nowhere'", ""},
    {"@%r1 bra L;", 2, "guard '%r1' is .b32, not a predicate", "setp"},
    {"@%p1 tcgen05.shift.cta_group::1.up [%r2];", 32, "tcgen05.shift has no modifier '.up'", ".down"},
    {"mov.b32 %r1, 0xZZ;", 14, "0x without digits", "hex"},
    {"mov.b32 %r1 %r2;", 13, "'%r2' where ',' or ';'", ""},
    {"ld.global.b32 %r1, [%rd1-4];", 25, "'-' behind an address", "[%rd1+-4]"},
    {"ld.global.b32 %r1, [gmem - 4];", 26, "'-' behind an address", "[%rd1+-4]"},
    {"ld.param.b32 %r1, [kparam-4];", 26, "'-' behind an address", "[%rd1+-4]"},
    {"mov.u64 %rd1, gmem-4;", 19, "'-' behind an address", "[%rd1+-4]"},
    {"ld.global.b32 %r1, [%rd1+%rd2];", 26, "'%rd2' where a number", ""},
};

TEST(Messages, SayWhereWhatAndHow) {
  for (const Expected& e : kExpected) {
    const std::vector<ParseMessage> m = messages_of(e.body);
    ASSERT_FALSE(m.empty()) << e.body;
    EXPECT_EQ(m[0].pos.line, kBodyLine) << e.body;
    EXPECT_EQ(m[0].pos.col, e.col) << e.body << "\n" << m[0].text;
    EXPECT_THAT(m[0].text, HasSubstr(e.text)) << e.body;
    EXPECT_THAT(m[0].help, HasSubstr(e.help)) << e.body;
  }
}

TEST(Messages, SayWhichShapesThereAre) {
  const auto m = messages_of("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 %r1;", "sm_90a");
  ASSERT_FALSE(m.empty());
  EXPECT_THAT(m[0].text, HasSubstr("m64n40k32"));
  EXPECT_THAT(m[0].help, HasSubstr(".m64nNk32 (N: 8 to 32 by 8) or .m64nNk32 (N: 48 to 256 by 16)"));
}

TEST(Messages, ComeForEveryStatement) {
  const std::vector<ParseMessage> m =
      messages_of("add.s32 %r1;\nadd.s32 %r1, %r2, %r3;\nfoo;\nbra nowhere;\nmov.b32 %r1, {%r2;\nbar;");
  ASSERT_EQ(m.size(), 5u);
  EXPECT_EQ(m[0].pos.line, kBodyLine);
  EXPECT_EQ(m[1].pos.line, kBodyLine + 2);
  EXPECT_EQ(m[2].pos.line, kBodyLine + 4);
  EXPECT_EQ(m[3].pos.line, kBodyLine + 5);
  EXPECT_EQ(m[4].pos.line, kBodyLine + 3);  // labels are known when the function is whole
}

TEST(Messages, StopAtTwenty) {
  std::string body;
  for (int i = 0; i < 50; ++i) body += "foo;\n";
  EXPECT_EQ(messages_of(body).size(), 20u);
}

TEST(Messages, RenderLikeACompilers) {
  try {
    parse(kernel_text("foo;"), {"my.ptx"});
    FAIL();
  } catch (const ParseError& e) {
    EXPECT_THAT(e.what(), HasSubstr("my.ptx:8:1: error: unknown instruction 'foo'\n  help: "));
  }
}

}  // namespace
}  // namespace tinygpu::ptx
