// The assembler's verdicts on 9,755 instructions, and on the spellings that real kernels use (data/README.md).
#include "common/tinygpu/ptx/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "ptx_text.h"

namespace tinygpu::ptx {
namespace {

using ::testing::HasSubstr;

TEST(Forms, WhatTheAssemblerAcceptsIsAccepted) {
  const std::vector<std::string> lines = read_lines("accepted_forms.txt.zst");
  ASSERT_EQ(lines.size(), 4252u);
  int wrong = 0;
  for (const std::string& line : lines) {
    const std::string message = first_message(line);
    if (!message.empty() && ++wrong <= 20) ADD_FAILURE() << line << "\n  " << message;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Forms, WhatTheAssemblerRejectsIsRejectedWithWordsAndAPlace) {
  const std::vector<std::string> lines = read_lines("rejected_forms.txt.zst");
  ASSERT_EQ(lines.size(), 1395u);
  int wrong = 0;
  for (const std::string& line : lines) {
    const std::vector<ParseMessage> messages = messages_of(line);
    const bool good = !messages.empty() && !messages[0].text.empty() && !messages[0].help.empty() &&
                      messages[0].pos.line == kBodyLine && messages[0].pos.col >= 1 &&
                      messages[0].pos.col <= line.size();
    if (!good && ++wrong <= 20)
      ADD_FAILURE() << line << "\n  " << (messages.empty() ? "accepted" : messages[0].text + " | " + messages[0].help);
  }
  EXPECT_EQ(wrong, 0);
}

// What ptxas 13.0 takes, and what it calls "Special register argument not allowed for instruction 'cvt'".
TEST(Forms, ConversionsBetweenIntegersReadSpecialRegisters) {
  EXPECT_EQ(first_message("cvt.u32.u16 %r1, %ctaid.x;"), "");
  EXPECT_EQ(first_message("cvt.u64.u32 %rd1, %laneid;"), "");
  EXPECT_THAT(first_message("cvt.rn.f32.u32 %f1, %tid.x;"), HasSubstr("a of cvt is special register %tid.x"));
}

// ptxas 13.0 takes both before PTX 3.2, warns in 3.1, and refuses from then on.
TEST(Forms, OldMadsLackTheirRounding) {
  EXPECT_EQ(first_message("mad.f32 %f1, %f2, %f3, %f4;", "sm_20", "3.1"), "");
  EXPECT_EQ(first_message("mad.sat.f32 %f1, %f2, %f3, %f4;", "sm_20", "3.0"), "");
  EXPECT_THAT(first_message("mad.f32 %f1, %f2, %f3, %f4;", "sm_20", "3.2"),
              HasSubstr("mad needs .rn, .rz, .rm or .rp"));
  const Module m =
      parse(".version 1.4\n.target sm_10\n.entry k() { .reg .f32 %f<5>; mad.f32 %f1, %f2, %f3, %f4; exit; }");
  const Instruction& mad = m.functions.at(0)->body.at(0);
  EXPECT_TRUE(mad.has("rn") && mad.has("ftz"));
}

TEST(Forms, OlderMatrixVideoAndMultimemFormsAreWhatTheAssemblerTakes) {
  const std::vector<std::string> lines = read_lines("older_forms.txt.zst");
  ASSERT_EQ(lines.size(), 4108u);
  int wrong = 0;
  for (const std::string& line : lines) {
    const std::string message = first_message(line.substr(3));
    if (message.empty() != line.starts_with("ok") && ++wrong <= 20) ADD_FAILURE() << line << "\n  " << message;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Forms, ThoseOfPtx91To93AreWhatTheAssemblerOf135Takes) {
  const std::vector<std::string> lines = read_lines("newer_forms.txt.zst");
  ASSERT_EQ(lines.size(), 1345u);
  int wrong = 0;
  for (const std::string& line : lines) {
    std::istringstream in(line);
    std::string verdict, version, target, text;
    in >> verdict >> version >> target;
    std::getline(in, text);
    const std::string message = first_message(text, target, version);
    if (message.empty() != (verdict == "ok") && ++wrong <= 40) ADD_FAILURE() << line << "\n  " << message;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Forms, SpellingsOfRealKernelsAreLegal) {
  const std::vector<std::string> spellings = read_lines("spellings.txt.zst");
  ASSERT_EQ(spellings.size(), 575u);
  for (const std::string& s : spellings)
    EXPECT_EQ(forms::fault_of_spelling(s, s.starts_with("wgmma") ? "sm_90a" : "sm_100a"), "") << s;
}

TEST(Forms, WgmmaTakesTheShapesThatPtxasTakes) {
  // What ptxas 13.0 said to every multiple of 8 and to a few others.
  const std::set<int> of_integers{8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256};
  const struct {
    const char *sparse, *k, *types;
    bool integers;
  } rows[] = {{"", "k16", "f32.f16.f16", false},      {"", "k16", "f16.f16.f16", false},
              {"", "k16", "f32.bf16.bf16", false},    {"", "k8", "f32.tf32.tf32", false},
              {"", "k32", "f32.e4m3.e5m2", false},    {"", "k32", "f16.e5m2.e5m2", false},
              {"", "k32", "s32.s8.u8", true},         {"", "k256", "s32.b1.b1.and.popc", true},
              {".sp", "k32", "f32.f16.f16", false},   {".sp", "k16", "f32.tf32.tf32", false},
              {".sp", "k64", "f32.e4m3.e4m3", false}, {".sp", "k64", "s32.s8.s8", true}};
  const auto fault = [](const auto& row, int n, const std::string& k) {
    return forms::fault_of_spelling(
        "wgmma.mma_async" + std::string(row.sparse) + ".sync.aligned.m64n" + std::to_string(n) + k + "." + row.types,
        "sm_90a");
  };
  for (const auto& row : rows) {
    for (int n : {0, 4, 12, 260, 264, 1024}) EXPECT_NE(fault(row, n, row.k), "") << row.types << " n " << n;
    for (int n = 8; n <= 256; n += 8)
      EXPECT_EQ(fault(row, n, row.k).empty(), !row.integers || of_integers.contains(n)) << row.types << " n " << n;
    for (const char* k : {"", "k", "k4", "k16x", "k128"}) EXPECT_NE(fault(row, 64, k), "") << row.types << k;
  }
  EXPECT_NE(fault(rows[0], 64, "k8"), "");
  EXPECT_NE(fault(rows[3], 64, "k16"), "");
  EXPECT_NE(forms::fault_of_spelling("wgmma.mma_async.sync.aligned.m64n08k16.f32.f16.f16", "sm_90a"), "");
}

TEST(Forms, EveryRowTakesItsOwnSample) {
  int rows = 0;
  for (const forms::Form* f : forms::all_forms()) {
    if (forms::sample_instruction(*f).empty()) continue;
    ++rows;
    try {
      const Module m = parse(forms::sample_module(*f));
      EXPECT_EQ(m.functions.at(0)->body.at(0).opcode, f->opcode);
    } catch (const ParseError& e) {
      ADD_FAILURE() << forms::sample_instruction(*f) << "\n"
                    << name_of(f->opcode) << " " << f->modifiers << "\n"
                    << e.what();
    }
  }
  EXPECT_GT(rows, 400);
}

TEST(Forms, TakeModifiersInAnyOrder) {
  EXPECT_EQ(first_message("tcgen05.mma.kind::f16.cta_group::1 [%r2], %rd3, %rd4, %r8, %p1;"), "");
  EXPECT_EQ(first_message("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];"), "");
  EXPECT_EQ(first_message("atom.relaxed.sys.shared.add.u32 %r1, [%r2], 1;"), "");
  EXPECT_EQ(first_message("atom.add.global.u32 %r1, [%rd2], 1;"), "");
  EXPECT_EQ(first_message("shfl.idx.sync.b32 %r1, %r2, %r3, %r4, %r5;"), "");
  // But of two state spaces the destination's comes first.
  EXPECT_NE(first_message("cp.async.bulk.shared::cta.global.bulk_group [%rd0], [%r1], 16;"), "");
}

TEST(Forms, CheckWidthsAndKindsOfOperands) {
  EXPECT_EQ(first_message("add.s32 %r1, %u1, %r2;"), "");
  EXPECT_THAT(first_message("add.s32 %r1, %f1, %r2;"), HasSubstr("%f1"));
  EXPECT_THAT(first_message("add.s64 %rd1, %rd2, %r3;"), HasSubstr("%r3"));
  EXPECT_EQ(first_message("add.f32 %r1, %r2, 1.0;"), "");
  EXPECT_NE(first_message("add.f32 %f1, %f2, 1;"), "");
  EXPECT_EQ(first_message("mov.b32 %r1, 0f3F800000;"), "");
  EXPECT_NE(first_message("mov.b32 %r1, 1.0;"), "");
  EXPECT_NE(first_message("mov.u32 %f1, %r1;"), "");
  EXPECT_EQ(first_message("ld.global.u8 %r1, [%rd1];"), "");
  EXPECT_NE(first_message("ld.global.u32 %h1, [%rd1];"), "");
  EXPECT_NE(first_message("ld.global.u32 %r1, [%r2];"), "");
  EXPECT_EQ(first_message("ld.shared.u32 %r1, [%r2];"), "");
  EXPECT_THAT(first_message("ld.shared.u32 %r1, [gmem];"), HasSubstr("gmem lies in .global"));
  EXPECT_NE(first_message("mul.wide.s32 %r1, %r2, %r3;"), "");
  EXPECT_EQ(first_message("mul.wide.s32 %rd1, %r2, %r3;"), "");
  EXPECT_NE(first_message("setp.eq.s32 %r1, %r2, %r3;"), "");
  EXPECT_NE(first_message("add.s32 %r1, %r2;"), "");
}

TEST(Forms, OneCtaGroupPerKernel) {
  const char* one = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;\n";
  const char* two = "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r2, 32;\n";
  EXPECT_EQ(first_message(std::string(one) + one), "");
  EXPECT_THAT(first_message(std::string(one) + two),
              HasSubstr("cta_group::2 in a kernel that uses .cta_group::1 in line 8"));
  // Copies may name another group than the tensor core's instructions.
  EXPECT_EQ(first_message(std::string(one) + "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::"
                                             "complete_tx::bytes [%r0], [%rd0, {%r1,%r2}], [%r6];"),
            "");
  // What a kernel calls counts.
  const std::string head = ".version 9.0\n.target sm_100a\n", regs = ".reg .b32 %r<4>;\n";
  try {
    parse(head + ".func f() {" + regs + two + "ret; }\n.entry a() {" + regs + one + "ret; }\n.entry b() {" + regs +
          one + "call f; ret; }\n");
    FAIL();
  } catch (const ParseError& e) {
    ASSERT_EQ(e.messages.size(), 1u);
    EXPECT_THAT(e.messages[0].text, HasSubstr("kernel b"));
  }
}

}  // namespace
}  // namespace tinygpu::ptx
