// Whole modules as compilers write them.
#include <gtest/gtest.h>

#include <set>

#include "ptx_text.h"

namespace tinygpu::ptx {
namespace {

class Corpus : public ::testing::TestWithParam<const char*> {};

TEST_P(Corpus, Parses) {
  Module m;
  try {
    m = parse(read_data(std::string("language_features_") + GetParam() + ".ptx.zst"), {GetParam()});
  } catch (const ParseError& e) {
    FAIL() << e.what();
  }
  const Function* kernel = nullptr;
  std::set<std::string> opcodes;
  for (const auto& f : m.functions) {
    if (f->entry && f->has_body) kernel = f.get();
    for (const Instruction& in : f->body) opcodes.emplace(in.name());
  }
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->params.size(), 3u);
  EXPECT_EQ(kernel->params[2].size, 24u);
  EXPECT_FALSE(kernel->prototypes.empty());  // calls through pointers
  for (const char* opcode : {"call", "atom", "shfl.sync", "bar.sync", "trap"})
    EXPECT_TRUE(opcodes.contains(opcode)) << opcode;
  bool managed = false, addresses = false;
  for (const Variable& v : m.variables) {
    managed = managed || v.managed;
    addresses = addresses || !v.init.relocs.empty();
  }
  EXPECT_TRUE(managed);
  EXPECT_TRUE(addresses);
}

INSTANTIATE_TEST_SUITE_P(Nvcc, Corpus, ::testing::Values("plain", "rdc", "lineinfo", "debug"),
                         [](const auto& i) { return std::string(i.param); });

TEST(Corpus, LineinfoReachesTheInstructions) {
  const Module m = parse(read_data("language_features_lineinfo.ptx.zst"));
  // The maths library's functions carry no lines; ours do.
  uint32_t with_line = 0, all = 0;
  for (const auto& f : m.functions)
    for (const Instruction& in : f->body) {
      if (!f->entry) continue;
      ++all;
      with_line += in.source.line != 0;
    }
  EXPECT_GT(with_line, all * 9 / 10);
}

TEST(Corpus, TheDialectOfLlvm) {
  // In Triton's manner: three versions ahead, addresses with spaces, scalars in braces, wait loops of their own in
  // every block, jump tables before their use, DWARF at the end.
  const char* const text = R"(//
.version 9.4
.target sm_100a
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry kernel(
  .param .u64 .ptr .global .align 1 kernel_param_0,
  .param .u32 kernel_param_1
)
.reqntid 384
.maxnreg 168
.explicitcluster
.reqnctapercluster 2
{
  .reg .pred  %p<30>;
  .reg .b16   %rs<3>;
  .reg .b32   %r<400>;
  .reg .b64   %rd<20>;
$L__func_begin0:
  ld.param.b64 %rd1, [kernel_param_0];
  mov.u32 %r1, %ctaid.x;
  mov.b32 %r2, global_smem;
  JTI0_0: .branchtargets $L__BB0_1, $L__BB0_2;
  brx.idx %r1, JTI0_0;
$L__BB0_1:
  .pragma "nounroll";
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
{
  .reg .pred complete;
  waitLoop:
  .loc 1 30 20
  mbarrier.try_wait.parity.shared::cta.b64 complete, [%r2], %r3;
  @!complete bra.uni waitLoop;
}
{
  .reg .pred complete;
  waitLoop:
  mbarrier.try_wait.parity.shared::cta.b64 complete, [ %r2 + 8 ], %r3;
  @!complete bra.uni waitLoop;
}
  @%p2 ld.global.b32 { %r79 }, [ %rd1 + 0 ];
  @%p2 st.global.v4.b32 [ %rd1 + 16 ], { %r79, %r80, %r81, %r82 };
  @%p25 tcgen05.mma.cta_group::1.kind::f16 [ %r4 + 0 ], [ %r133 + 24 ], %rd2, %r5, %p3;
  atom.global.gpu.acq_rel.add.u32 %r6, [%rd1], 1;
  fence.proxy.tensormap::generic.acquire.gpu [ %rd1 + 0 ], 0x80;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [ %r2 + 0 ], 0x0, %r7;
$L__BB0_2:
  ret;
$L__tmp1:
$L__func_end0:
}
  .file 1 "kernel.py"
  .section .debug_abbrev
  {
.b8 1                                   // Abbreviation Code
.b8 17
  }
  .section .debug_info
  {
.b32 75
.b32 $L__func_end0-$L__func_begin0
.b64 $L__func_begin0
  }
  .section .debug_macinfo { }
)";
  Module m;
  try {
    m = parse(text);
  } catch (const ParseError& e) {
    FAIL() << e.what();
  }
  const Function& f = *m.functions.at(0);
  EXPECT_EQ(f.reqntid[0], 384u);
  EXPECT_EQ(f.reqnctapercluster[0], 2u);
  EXPECT_EQ(f.body.size(), 16u);
  EXPECT_EQ(f.targets.at(0).labels.size(), 2u);
}

}  // namespace
}  // namespace tinygpu::ptx
