// Functions: headers, scopes, labels, calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx_text.h"

namespace tinygpu::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHead = ".version 9.0\n.target sm_100a\n.address_size 64\n";

TEST(Functions, ReadHeaderAndDirectives) {
  const Module m =
      parse(kHead +
            ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24], .param .f32 f)\n"
            ".maxntid 128, 2\n.minnctapersm 2\n.maxnreg 168\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n"
            "{ ret; }\n.visible .entry bare { exit; }\n");
  const Function& f = *m.functions.at(0);
  EXPECT_TRUE(f.entry);
  EXPECT_EQ(f.linkage, Linkage::visible);
  ASSERT_EQ(f.params.size(), 3u);
  EXPECT_TRUE(f.params[0].pointer);
  EXPECT_EQ(f.params[0].align, 8u);  // .ptr .align is the pointee's
  EXPECT_EQ(f.params[1].size, 24u);
  EXPECT_EQ(f.params[1].align, 8u);
  EXPECT_THAT(f.maxntid, ElementsAre(128, 2, 1));
  EXPECT_EQ(f.minnctapersm, 2u);
  EXPECT_EQ(f.maxnreg, 168u);
  EXPECT_TRUE(f.explicit_cluster);
  EXPECT_THAT(f.reqnctapercluster, ElementsAre(2, 1, 1));
  EXPECT_TRUE(m.functions.at(1)->has_body);
}

TEST(Functions, KeepPrototypes) {
  const Module m = parse(
      kHead + ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.func f() .noreturn { trap; }\n");
  EXPECT_FALSE(m.functions.at(0)->has_body);
  EXPECT_EQ(m.functions.at(0)->returns.size(), 1u);
  EXPECT_EQ(m.functions.at(0)->params.size(), 2u);
  EXPECT_TRUE(m.functions.at(1)->noreturn);
}

TEST(Scopes, ReuseNames) {
  // Two inner blocks declare a register, a label and a variable of the same name; each resolves to its own.
  const Module m =
      parse(kernel_text("{ .reg .pred done; wait: setp.eq.s32 done, %r1, 0; @!done bra wait; }\n"
                        "{ .reg .pred done; .param .b32 x; wait: setp.eq.s32 done, %r2, 0; @!done bra.uni wait; "
                        "st.param.b32 [x], %r1; }\n"
                        "{ .param .b32 x; st.param.b32 [x], %r2; }"));
  const Function& f = *m.functions.at(0);
  ASSERT_EQ(f.body.size(), 7u);  // and ret
  EXPECT_NE(f.body[0].operands[0].reg, f.body[2].operands[0].reg);
  EXPECT_EQ(f.body[1].guard, int32_t(f.body[0].operands[0].reg));
  EXPECT_TRUE(f.body[1].guard_negated);
  EXPECT_EQ(f.labels.at(f.body[1].operands[0].label).at, 0u);
  EXPECT_EQ(f.labels.at(f.body[3].operands[0].label).at, 2u);
  EXPECT_NE(f.body[4].operands[0].elems[0].name, f.body[5].operands[0].elems[0].name);
}

TEST(Scopes, ShadowOuterRegisters) {
  const Module m = parse(kernel_text("{ .reg .b64 %r1; mov.b64 %r1, 5; } mov.b32 %r1, 6;"));
  const Function& f = *m.functions.at(0);
  EXPECT_EQ(f.registers.at(f.body[0].operands[0].reg).type, Type::b64);
  EXPECT_EQ(f.registers.at(f.body[1].operands[0].reg).type, Type::b32);
}

TEST(Scopes, HideInnerNames) {
  EXPECT_THAT(first_message("{ .reg .b32 inner; } mov.b32 inner, 0;"), HasSubstr("inner"));
  EXPECT_THAT(first_message("{ hidden: } bra hidden;"), HasSubstr("unknown label 'hidden'"));
  EXPECT_EQ(first_message("{ bra L; }"), "");  // outwards is legal
}

TEST(Labels, MayStandBehindTheLastInstruction) {
  const Module m = parse(kHead + ".entry k() { .reg .pred %p; @%p bra end; ret; end: }\n");
  EXPECT_EQ(m.functions.at(0)->labels.at(0).at, 2u);
}

TEST(Calls, KeepTheirParts) {
  const Module m =
      parse(kHead +
            ".func (.param .b32 r) f(.param .b64 a) { ret; }\n"
            ".entry k() { .reg .b64 %rd<4>; .reg .b32 %r<3>;\n"
            "{ .param .b64 a; .param .b32 r; st.param.b64 [a], %rd1; call.uni (r), f, (a); ld.param.b32 %r1, [r]; }\n"
            "{ .param .b64 a; .param .b32 r;\n"
            "proto: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
            "call (r), %rd2, (a), proto; }\n"
            "call f2;\n}\n.func f2() { ret; }\n");
  const Function& k = *m.functions.at(1);
  const Instruction& direct = k.body.at(1);
  EXPECT_EQ(direct.opcode, Opcode::call);
  ASSERT_EQ(direct.operands.size(), 3u);
  EXPECT_EQ(direct.operands[0].kind, Operand::Kind::list);
  EXPECT_EQ(direct.operands[1].name, "f");
  EXPECT_EQ(direct.operands[2].elems.size(), 1u);
  const Instruction& indirect = k.body.at(3);
  ASSERT_EQ(indirect.operands.size(), 4u);
  EXPECT_EQ(indirect.operands[1].kind, Operand::Kind::reg);
  EXPECT_EQ(indirect.operands[3].kind, Operand::Kind::label);
  EXPECT_EQ(indirect.operands[3].name, "proto");
  EXPECT_EQ(k.prototypes.at(0).name, "proto");
  EXPECT_EQ(k.prototypes.at(0).params.size(), 1u);
  EXPECT_EQ(k.body.at(4).operands.size(), 1u);
}

TEST(Branches, ThroughTables) {
  const Module m =
      parse(kernel_text("ts: .branchtargets A, B, L;\nbrx.idx %r1, ts;\nA: mov.b32 %r1, 0;\nB: mov.b32 %r2, 0;"));
  const Function& f = *m.functions.at(0);
  ASSERT_EQ(f.targets.size(), 1u);
  EXPECT_EQ(f.targets[0].labels.size(), 3u);
  EXPECT_EQ(f.labels.at(f.targets[0].labels[1]).name, "B");
  EXPECT_EQ(f.body[0].operands[1].name, "ts");
  EXPECT_THAT(first_message("M: brx.idx %r1, M;"),
              HasSubstr("brx.idx with the label 'M', not a list of branch targets"));
  EXPECT_THAT(first_message("brx.idx %r1, L;"),
              HasSubstr("brx.idx names 'L', and no such list of branch targets stands before it"));
  EXPECT_THAT(first_message("brx.idx %r1, T; T: .branchtargets L;"), HasSubstr("stands before it"));
  EXPECT_THAT(first_message("T: .branchtargets L; bra T;"), HasSubstr("unknown label 'T'"));
  EXPECT_THAT(first_message("T: .calltargets f; brx.idx %r1, T;"), HasSubstr("brx.idx with the list of functions 'T'"));
  EXPECT_THAT(first_message("T: .callprototype _; brx.idx %r1, T;"), HasSubstr("brx.idx with the prototype 'T'"));
  EXPECT_THAT(first_message("T: .branchtargets L; call %rd1, (), T;"), HasSubstr("call with the list of labels 'T'"));
}

/// The labels, by name, of the list that the body's n-th brx.idx names.
std::vector<std::string> targets_of(const Function& f, size_t n) {
  std::vector<std::string> names;
  for (const Instruction& i : f.body)
    if (i.opcode == Opcode::brx_idx && n-- == 0)
      for (uint32_t l : f.targets.at(i.operands[1].label).labels) names.push_back(f.labels.at(l).name);
  return names;
}

TEST(Branches, ListsBelongToTheirBlocks) {
  // As inline assembly has them: the same names in every block.
  const Module m =
      parse(kernel_text("{ T: .branchtargets A, B; brx.idx %r1, T; A: mov.b32 %r1, 0; B: mov.b32 %r1, 1; }\n"
                        "{ T: .branchtargets B, C, L; brx.idx %r1, T; B: mov.b32 %r1, 2; C: mov.b32 %r1, 3; }\n"));
  const Function& f = *m.functions.at(0);
  EXPECT_THAT(targets_of(f, 0), ElementsAre("A", "B"));
  EXPECT_THAT(targets_of(f, 1), ElementsAre("B", "C", "L"));
  EXPECT_NE(f.targets[0].labels[1], f.targets[1].labels[0]) << "B of the first block and of the second";
}

TEST(Branches, AListIsTheInnermostBeforeTheInstructionALabelTheInnermostOfItsBlocks) {
  // Both as an H200's driver has it (580.159).
  const Module m = parse(
      kernel_text("T: .branchtargets L; { brx.idx %r1, T; T: .branchtargets B; B: brx.idx %r1, T; }\n"
                  "A: mov.b32 %r1, 0; { bra A; A: mov.b32 %r1, 1; } { U: .branchtargets A; brx.idx %r1, U; A: }"));
  const Function& f = *m.functions.at(0);
  EXPECT_THAT(targets_of(f, 0), ElementsAre("L"));
  EXPECT_THAT(targets_of(f, 1), ElementsAre("B"));
  for (const Instruction& i : f.body)
    if (i.opcode == Opcode::bra) {
      EXPECT_EQ(f.body[f.labels.at(i.operands[0].label).at].text, "mov.b32 %r1, 1");
    }
  EXPECT_EQ(f.labels.at(f.targets.back().labels[0]).at, f.body.size() - 1) << "the last A, before kernel_text's ret";
}

TEST(Names, OfABlockAreDeclaredOnce) {
  for (const char* twice :
       {"A: A: ret;", "T: .branchtargets L; T: ret;", "T: ret; T: .branchtargets L;", ".reg .b32 A; A: ret;",
        "A: ret; .reg .b32 A;", "T: .branchtargets L; .reg .b32 T;", "T: .callprototype _; T: ret;",
        ".reg .b32 %z<4>; .reg .b32 %z<8>;", ".reg .b32 %z<4>; .reg .b64 %z2;"})
    EXPECT_THAT(first_message(twice), HasSubstr("twice in this block")) << twice;
  for (const char* once :
       {"A: { A: ret; }", ".reg .b32 A; { A: bra A; }", ".reg .b32 %z<4>; { .reg .b64 %z<4>; mov.b64 %z1, 0; }",
        ".reg .b32 %z<20>; .reg .b32 %z1<5>;", ".reg .b32 %z<4>; .reg .b64 %z4;"})
    EXPECT_EQ(first_message(once), "") << once;
}

TEST(Registers, OfARangeKeepTheirNumbers) {
  // Named in an order that no table follows: near, far, and near again.
  const Module m =
      parse(kernel_text(".reg .b32 %z<100000000>; mov.b32 %z3, 0; mov.b32 %z99999999, %z3; mov.b32 %z3, %z99999999;\n"
                        "mov.b32 %z70, %z3; mov.b32 %z3, %z70;"));
  const Function& f = *m.functions.at(0);
  const auto name = [&](size_t i, size_t o) { return f.registers.at(f.body.at(i).operands.at(o).reg).name; };
  EXPECT_EQ(name(1, 0), "%z99999999");
  EXPECT_EQ(name(2, 1), "%z99999999");
  EXPECT_EQ(f.body[0].operands[0].reg, f.body[2].operands[0].reg);
  EXPECT_EQ(f.body[3].operands[0].reg, f.body[4].operands[1].reg);
  EXPECT_THAT(first_message(".reg .b32 %z<4>; mov.b32 %z4, 0;"), HasSubstr("'%z4' is not declared"));
  EXPECT_THAT(first_message(".reg .b32 %z<4>; mov.b32 %z01, 0;"), HasSubstr("'%z01' is not declared"));
}

TEST(Instructions, ThatNoFormTakesAreKeptInAssembledText) {
  const std::string text = kernel_text("add.u32 %r1, %r1, %rd1;\nadd.frob.u32 %r1, %r1, 1;\nadd.u32 %r1, %r1, 1;");
  EXPECT_THROW(parse(text), ParseError);
  const Module m = parse(text, {.assembled = true});
  const std::vector<Instruction>& body = m.functions.at(0)->body;
  EXPECT_THAT(body.at(0).fault, HasSubstr("register %rd1 of type .b64"));
  EXPECT_THAT(body.at(1).fault, HasSubstr("add has no modifier '.frob'"));
  EXPECT_EQ(body.at(2).fault, "");
}

TEST(Headers, RefuseBoundsOfZero) {
  const auto message = [](const std::string& directive) {
    try {
      parse(".version 9.0\n.target sm_100a\n.entry k() " + directive + " { ret; }");
    } catch (const ParseError& e) {
      return e.messages.at(0).text;
    }
    return std::string();
  };
  EXPECT_EQ(message(".maxntid 0"), ".maxntid of 0");
  EXPECT_EQ(message(".reqntid 32, 0, 1"), ".reqntid of 0");
  EXPECT_EQ(message(".minnctapersm 0"), ".minnctapersm of 0");
  EXPECT_EQ(message(".maxnreg 0"), ".maxnreg of 0");
  EXPECT_EQ(message(".maxntid 65536, 65536, 1"), "") << "ptxas ignores what no SM can keep";
}

TEST(Registers, OfVectorTypeAreTheirElements) {
  const Module m = parse(kernel_text(".reg .v2 .f32 v; mov.f32 v.x, %f1; st.global.v2.f32 [%rd1], v;"));
  const Function& f = *m.functions.at(0);
  EXPECT_EQ(f.body[1].operands[1].kind, Operand::Kind::vector);
  EXPECT_EQ(f.body[1].operands[1].elems[0].reg, f.body[0].operands[0].reg);
}

TEST(Registers, CountOnlyWhenUsed) {
  const Module m = parse(kernel_text(".reg .b32 %huge<4000000>; mov.b32 %huge3999999, %huge7;"));
  EXPECT_LT(m.functions.at(0)->registers.size(), 10u);
}

TEST(Function, RegistersPassOnlyWords) {
  const auto error = [](const char* parameter) -> std::string {
    try {
      parse(std::string(".version 9.0\n.target sm_100a\n.func f(.reg .") + parameter + " a) { ret; }\n");
    } catch (const ParseError& e) {
      return e.messages.at(0).text;
    }
    return "";
  };
  EXPECT_EQ(error("b32"), "");
  EXPECT_EQ(error("pred"), "a parameter of type .pred in a register");  // ptxas: "not supported"
  EXPECT_EQ(error("b16"), "a parameter of type .b16 in a register");
}

}  // namespace
}  // namespace tinygpu::ptx
