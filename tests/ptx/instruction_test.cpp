// Operands and the text of single instructions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "ptx_text.h"

namespace tinygpu::ptx {
namespace {

using ::testing::ElementsAre;
using Kind = Operand::Kind;

TEST(Operands, Literals) {
  EXPECT_EQ(parse_instruction("add.s32 %r1, %r2, -5;").operands[2].bits, -5);
  EXPECT_EQ(parse_instruction("mov.b64 %rd1, 0xFFFFFFFFFFFFFFFF;").operands[1].bits, -1);
  EXPECT_EQ(parse_instruction("mov.b32 %r1, WARP_SZ;").operands[1].bits, 32);
  EXPECT_EQ(parse_instruction("mov.b32 %r1, (1 << 4) | 3;").operands[1].bits, 19);
  const Operand half = parse_instruction("mul.f64 %fd1, %fd2, 0.5;").operands[2];
  EXPECT_EQ(half.kind, Kind::real);
  EXPECT_EQ(half.type, Type::f64);
  EXPECT_EQ(std::bit_cast<double>(half.bits), 0.5);
  const Operand negative = parse_instruction("mul.f32 %f1, %f2, -0f3F800000;").operands[2];
  EXPECT_EQ(negative.type, Type::f32);
  EXPECT_EQ(negative.bits, 0xbf800000);
}

TEST(Operands, Addresses) {
  Operand a = parse_instruction("ld.global.b32 %r1, [%rd1+-8];").operands[1];
  EXPECT_EQ(a.kind, Kind::address);
  EXPECT_EQ(a.elems[0].kind, Kind::reg);
  EXPECT_EQ(a.bits, -8);
  a = parse_instruction("ld.shared.b32 %r1, [ smem + 16 ];").operands[1];
  EXPECT_EQ(a.elems[0].kind, Kind::symbol);
  EXPECT_EQ(a.elems[0].name, "smem");
  EXPECT_EQ(a.elems[0].bits, 0);
  EXPECT_EQ(a.bits, 16);
  // Behind `+`, ptxas takes any constant expression.
  a = parse_instruction("ld.global.b32 %r1, [%rd1+4*4-(1<<3)];").operands[1];
  EXPECT_EQ(a.elems[0].kind, Kind::reg);
  EXPECT_EQ(a.bits, 8);
  a = parse_instruction("ld.shared.b32 %r1, [smem+WARP_SZ+-4];").operands[1];
  EXPECT_EQ(a.bits, 28);
  a = parse_instruction("ld.local.b32 %r1, [64];").operands[1];
  EXPECT_EQ(a.elems[0].kind, Kind::integer);
  EXPECT_EQ(a.elems[0].bits, 64);
  a = parse_instruction(
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r10, 3}], "
          "[%r6];")
          .operands[1];
  ASSERT_EQ(a.elems.size(), 2u);
  EXPECT_EQ(a.elems[1].kind, Kind::vector);
  EXPECT_EQ(a.elems[1].elems[1].bits, 3);
}

TEST(Operands, PairsSinksAndNegation) {
  Instruction in = parse_instruction("elect.sync _|%p1, 0xffffffff;");
  EXPECT_EQ(in.operands[0].kind, Kind::pair);
  EXPECT_EQ(in.operands[0].elems[0].kind, Kind::sink);
  EXPECT_EQ(in.operands[0].elems[1].kind, Kind::reg);
  in = parse_instruction("setp.eq.and.s32 %p1|%p2, %r1, %r2, !%p3;");
  EXPECT_TRUE(in.operands[3].negated);
  in = parse_instruction("mov.b64 {%r1, _}, %rd1;");
  EXPECT_EQ(in.operands[0].elems[1].kind, Kind::sink);
}

TEST(Operands, SymbolsAndSpecialRegisters) {
  Operand o = parse_instruction("mov.u32 %r1, %tid.x;").operands[1];
  EXPECT_EQ(o.kind, Kind::special);
  EXPECT_EQ(o.name, "tid.x");
  o = parse_instruction("mov.u64 %rd1, %clock64;").operands[1];
  EXPECT_EQ(o.name, "clock64");
  o = parse_instruction("mov.u64 %rd1, gmem+24;").operands[1];
  EXPECT_EQ(o.kind, Kind::symbol);
  EXPECT_EQ(o.bits, 24);
}

TEST(Operands, ScalarsWrittenAsVectorsOfOne) {
  // LLVM's dialect.
  EXPECT_EQ(parse_instruction("ld.global.b32 { %r1 }, [ %rd1 + 0 ];").operands[0].kind, Kind::reg);
  EXPECT_EQ(parse_instruction("st.global.b32 [%rd1], { %r1 };").operands[1].kind, Kind::reg);
  EXPECT_EQ(parse_instruction("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2];").operands[0].kind, Kind::vector);
}

TEST(Opcodes, MayTouchTheirOperands) {
  const Instruction in = parse_instruction("tcgen05.st.sync.aligned.32x32b.x1.b32[%r2],{%r1};");
  EXPECT_EQ(in.opcode, Opcode::tcgen05_st);
  EXPECT_EQ(in.operands.size(), 2u);
}

TEST(Opcodes, MayHoldWhiteSpace) {
  const Instruction in = parse_instruction("ld .global\n  .v2 // two\n .b32 {%r1, %r2}, [%rd1];");
  EXPECT_EQ(in.opcode, Opcode::ld);
  EXPECT_THAT(in.mods, ElementsAre("global", "v2", "b32"));
  EXPECT_EQ(in.text, "ld .global .v2 .b32 {%r1, %r2}, [%rd1]");
  EXPECT_EQ(in.spelling(), "ld.global.v2.b32");
}

TEST(Text, IsOneLineAsWritten) {
  const Instruction in = parse_instruction("@!%p1   add.s32 %r1,\n\t%r2, /* three */ 3;");
  EXPECT_EQ(in.text, "@!%p1 add.s32 %r1, %r2, 3");
  EXPECT_EQ(in.spelling(), "add.s32");
  EXPECT_EQ(parse_instruction("tcgen05.wait::ld.sync.aligned;").spelling(), "tcgen05.wait::ld.sync.aligned");
}

TEST(Text, KnowsItsLine) {
  const Module m = parse(kernel_text(".loc 1 42 7\nadd.s32 %r1, %r2, 3;"));
  const Instruction& in = m.functions.at(0)->body.at(0);
  EXPECT_EQ(in.pos.line, kBodyLine + 1);
  EXPECT_EQ(in.pos.col, 1u);
  EXPECT_EQ(in.source.line, 42u);
}

TEST(Text, InlinedCodeCountsAsTheLineItWasInlinedInto) {
  const Module m =
      parse(kernel_text(".loc 1 30 5\n"
                        ".loc 2 20 3, function_name L, inlined_at 1 30 5\n"
                        "add.s32 %r1, %r2, 3;\n"
                        ".loc 3 10 1, function_name L + 4, inlined_at 2 20 3\n"
                        "add.s32 %r1, %r2, 3;\n"
                        ".loc 2 21 3\n"
                        "add.s32 %r1, %r2, 3;"));
  const auto& body = m.functions.at(0)->body;
  EXPECT_EQ(body.at(0).source.file, 1u);
  EXPECT_EQ(body.at(0).source.line, 30u);
  EXPECT_EQ(body.at(1).source.file, 1u);
  EXPECT_EQ(body.at(1).source.line, 30u);
  EXPECT_EQ(body.at(2).source.file, 2u);
  EXPECT_EQ(body.at(2).source.line, 21u);
}

TEST(Text, TheWayThroughInlinedCallsIsKept) {
  const Module m =
      parse(kernel_text(".loc 1 30 5\n"
                        ".loc 2 20 3, function_name $outer, inlined_at 1 30 5\n"
                        ".loc 3 10 1, function_name $inner + 4, inlined_at 2 20 3\n"
                        "add.s32 %r1, %r2, 3;\n"
                        ".loc 2 20 3, function_name $outer, inlined_at 1 30 5\n"
                        "add.s32 %r1, %r2, 3;\n"
                        ".loc 1 31 2\n"
                        "add.s32 %r1, %r2, 3;") +
            ".section .debug_str\n{\n$outer:\n.b8 95 // '_'\n.b8 90, 49, 102\n.b8 0\n$inner: .b8 103\n.b8 0\n}\n");
  const auto& body = m.functions.at(0)->body;
  const InlinedLine inner = m.inlined.at(size_t(body.at(0).inlined));
  EXPECT_EQ(inner.line, (SourceLine{3, 10, 1}));
  EXPECT_EQ(inner.call, (SourceLine{2, 20, 3}));
  EXPECT_EQ(m.inlined_functions.at(inner.function), "g");
  const InlinedLine outer = m.inlined.at(size_t(inner.outer));
  EXPECT_EQ(outer.line, (SourceLine{2, 20, 3}));
  EXPECT_EQ(outer.call, (SourceLine{1, 30, 5}));
  EXPECT_EQ(m.inlined_functions.at(outer.function), "_Z1f");
  EXPECT_EQ(outer.outer, -1);
  EXPECT_EQ(body.at(0).source, (SourceLine{1, 30, 5}));
  EXPECT_EQ(body.at(1).inlined, inner.outer);  // the same line again is not kept twice
  EXPECT_EQ(body.at(2).inlined, -1);
}

TEST(Text, LinesInsideInlineAssemblyAreTheAuthors) {
  const Module m =
      parse(kernel_text(".loc 1 30 5\n"
                        "// begin inline asm\n"
                        ".loc 9 77 1\n"
                        "add.s32 %r1, %r2, 3;\n"
                        "// end inline asm\n"
                        "add.s32 %r1, %r2, 3;\n"
                        ".loc 1 31 2\n"
                        "add.s32 %r1, %r2, 3;"));
  const auto& body = m.functions.at(0)->body;
  EXPECT_EQ(body.at(0).source, (SourceLine{1, 30, 5}));
  EXPECT_EQ(body.at(1).source, (SourceLine{1, 30, 5}));
  EXPECT_EQ(body.at(2).source, (SourceLine{1, 31, 2}));
}

}  // namespace
}  // namespace tinygpu::ptx
