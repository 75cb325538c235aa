// The table of opcodes and the names of operands that its forms give.
#include "common/tinygpu/ptx/opcode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx_text.h"

namespace tinygpu::ptx {
namespace {

TEST(Opcode, NamesAreUnique) {
  for (size_t i = 1; i < kOpcodes; ++i)
    EXPECT_EQ(opcode_from_name(name_of(Opcode(i))), Opcode(i)) << name_of(Opcode(i));
  EXPECT_EQ(opcode_from_name("frobnicate"), Opcode::unknown);
  EXPECT_EQ(opcode_from_name(""), Opcode::unknown);
}

// ptxas makes SHFL of these, and VOTE of votes: program/ finds loops in machine code by it.
TEST(Opcode, ShufflesAreKnownUnderTheNamesThatTheParserGives) {
  const auto sass = [](std::string_view text) { return parse_instruction(text).traits().sass; };
  EXPECT_EQ(sass("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;"), Sass::shuffle);
  EXPECT_EQ(sass("shfl.idx.sync.b32 %r1|%p1, %r2, 1, 31, -1;"), Sass::shuffle);
  EXPECT_EQ(sass("vote.sync.ballot.b32 %r1, %p1, -1;"), Sass::any);
}

TEST(Opcode, AnUnknownOneKeepsItsName) {
  const auto name = [](const std::string& text) {
    const Module m = parse(kernel_text(text), {.check_forms = false});
    return std::string(m.functions.at(0)->body.at(0).name());
  };
  EXPECT_EQ(name("@%p1 frobnicate.u32 %r1, %r2;"), "frobnicate");
  EXPECT_EQ(name("frobnicate;"), "frobnicate");
  EXPECT_EQ(name("@!%p1 mbarrier.inval.b64 [%rd1];"), "mbarrier.inval");
}

/// The named operand of the kernel's instruction as text: a register's name, a number, "-" if it does not stand.
std::string operand(std::string_view text, std::string_view name, std::string_view target = "sm_100a") {
  const Module m = parse(kernel_text(text, target, "9.3"));
  const Function& f = *m.functions.at(0);
  const Operand* o = f.body.at(0).operand(name);
  if (!o) return "-";
  if (o->kind == Operand::Kind::address || o->kind == Operand::Kind::vector) o = &o->elems.at(0);
  if (o->kind == Operand::Kind::integer) return std::to_string(o->bits);
  return o->kind == Operand::Kind::reg ? f.registers[o->reg].name : "?";
}

TEST(Operand, IsFoundByItsNameWhateverStandsBefore) {
  const char* plain = "tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd3, %rd4, %r8, %p1;";
  const char* masked = "tcgen05.mma.cta_group::1.kind::f16 [%r2], [%r3], %rd4, %r8, {%r11, %r12, %r13, %r14}, %p1, 7;";
  EXPECT_EQ(operand(plain, "d"), "%r2");
  EXPECT_EQ(operand(plain, "a"), "%rd3");
  EXPECT_EQ(operand(plain, "idesc"), "%r8");
  EXPECT_EQ(operand(plain, "disable_output_lane"), "-");
  EXPECT_EQ(operand(plain, "enable_input_d"), "%p1");
  EXPECT_EQ(operand(plain, "scale_input_d"), "-");
  EXPECT_EQ(operand(masked, "a"), "%r3");
  EXPECT_EQ(operand(masked, "disable_output_lane"), "%r11");
  EXPECT_EQ(operand(masked, "enable_input_d"), "%p1");
  EXPECT_EQ(operand(masked, "scale_input_d"), "7");
  EXPECT_EQ(operand(masked, "no_such_name"), "-");
}

TEST(Operand, IsFoundInsideBracketsAndPairs) {
  const char* tile =
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%r0], [%rd0, {%r1, %r2, %r3}], [%r6], {%h3}, %h4;";
  EXPECT_EQ(operand(tile, "map"), "%rd0");
  EXPECT_EQ(operand(tile, "c"), "%r1");
  EXPECT_EQ(operand(tile, "offset"), "%h3");
  EXPECT_EQ(operand(tile, "mask"), "%h4");
  EXPECT_EQ(operand("elect.sync %r3|%p4, -1;", "leader"), "%r3");
  EXPECT_EQ(operand("elect.sync %r3|%p4, -1;", "chosen"), "%p4");
  EXPECT_EQ(operand("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, %rd2, "
                    "%r9, 1, %p1, 1, -1, 1;",
                    "imm_scale_b", "sm_90a"),
            "-1");
}

}  // namespace
}  // namespace tinygpu::ptx
