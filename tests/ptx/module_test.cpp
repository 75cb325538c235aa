// Module scope: directives, variables and their initialisers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx_text.h"

namespace tinygpu::ptx::module_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHead = ".version 9.0\n.target sm_100a\n.address_size 64\n";

Variable variable(const std::string& text) { return parse(kHead + text).variables.at(0); }

std::string message(const std::string& text) {
  try {
    parse(text);
  } catch (const ParseError& e) {
    return e.messages.at(0).text;
  }
  return {};
}

TEST(Module, ReadsItsHeader) {
  const Module m = parse(".version 9.4\n.target sm_100a, debug\n.address_size 64\n");
  EXPECT_EQ(m.version_major, 9);
  EXPECT_EQ(m.version_minor, 4);
  EXPECT_EQ(m.target, "sm_100a");
  EXPECT_THAT(m.target_options, ElementsAre("debug"));
}

TEST(Module, RefusesVersionsAndTargetsThatDoNotFit) {
  EXPECT_THAT(message(".version 9.5\n.target sm_100a\n"), HasSubstr("newer than 9.4"));
  EXPECT_THAT(message(".version 8.5\n.target sm_100a\n"), HasSubstr("does not know the target sm_100a"));
  EXPECT_THAT(message(".version 9.0\n.target blackwell\n"), HasSubstr("unknown target"));
  EXPECT_THAT(message(".target sm_100a\n.global .b32 x;"), HasSubstr("before .version"));
  EXPECT_THAT(message(".version 9.0\n.target sm_100a\n.address_size 32\n"), HasSubstr("32"));
}

TEST(Variables, TakeSizeAndAlignment) {
  Variable v = variable(".visible .global .align 16 .b8 buffer[100];");
  EXPECT_EQ(v.size, 100u);
  EXPECT_EQ(v.align, 16u);
  EXPECT_EQ(v.space, Space::global);
  EXPECT_EQ(v.linkage, Linkage::visible);
  EXPECT_FALSE(v.has_init);
  v = variable(".const .f64 c;");
  EXPECT_EQ(v.size, 8u);
  EXPECT_EQ(v.align, 8u);
  v = variable(".global .v4 .f32 q[3];");
  EXPECT_EQ(v.size, 48u);
  EXPECT_EQ(v.align, 16u);
  v = variable(".extern .shared .align 128 .b8 dynamic[];");
  EXPECT_TRUE(v.unsized_array);
  EXPECT_EQ(v.size, 0u);
  EXPECT_TRUE(variable(".global .attribute(.managed) .align 4 .u32 shared_with_host;").managed);
  EXPECT_EQ(variable(".weak .global .u32 w;").linkage, Linkage::weak);
  EXPECT_EQ(variable(".common .global .u32 c;").linkage, Linkage::common);
}

TEST(Variables, OfConstantMemoryFit64KiB) {
  EXPECT_EQ(message(kHead + ".const .b8 a[65536];"), "");
  EXPECT_EQ(message(kHead + ".const .b8 a[65536]; .extern .const .b8 b[4];"), "");
  const char* const more = "the .const variables of this module take more than 65536 bytes";
  EXPECT_EQ(message(kHead + ".const .b8 a[1048576];"), more);
  EXPECT_EQ(message(kHead + ".const .b8 a[65536]; .const .b8 b[4];"), more);
  EXPECT_EQ(message(kHead + ".const .b8 a[4294967297];"), more);
}

TEST(Parameters, OfAKernelFitTheirBank) {
  const auto kernel = [](const std::string& version, const std::string& parameters) {
    return ".version " + version + "\n.target sm_90a\n.entry k(" + parameters + ") { ret; }";
  };
  EXPECT_EQ(message(kernel("9.0", ".param .align 4 .b8 p[32764]")), "");
  EXPECT_EQ(message(kernel("9.0", ".param .align 4 .b8 p[32765]")), "the parameters of 'k' take more than 32764 bytes");
  EXPECT_EQ(message(kernel("9.0", ".param .b8 p[32752], .param .u64 q")), "");
  EXPECT_EQ(message(kernel("9.0", ".param .b8 p[32753], .param .u64 q")),
            "the parameters of 'k' take more than 32764 bytes")
      << "the second one is aligned";
  EXPECT_EQ(message(kernel("8.0", ".param .align 4 .b8 p[4352]")), "");
  EXPECT_EQ(message(kernel("8.0", ".param .align 4 .b8 p[4353]")), "the parameters of 'k' take more than 4352 bytes");
  EXPECT_EQ(message(kernel("9.0", ".param .align 4 .b8 p[4294967304]")), "this parameter is too large");
  EXPECT_EQ(message(".version 9.0\n.target sm_90a\n.func f(.param .align 4 .b8 p[100000]) { ret; }"), "")
      << "a function's lie in local memory";
}

TEST(Initialisers, LayBytesOut) {
  EXPECT_THAT(variable(".global .b8 x[4] = {1, 2, 0xFF};").init.bytes, ElementsAre(1, 2, 255));
  EXPECT_THAT(variable(".global .u16 x[2] = {0x0102, -1};").init.bytes, ElementsAre(2, 1, 255, 255));
  EXPECT_THAT(variable(".global .f32 x = 0f3F800000;").init.bytes, ElementsAre(0, 0, 0x80, 0x3f));
  EXPECT_THAT(variable(".global .f32 x[2] = {1.0, -2};").init.bytes, ElementsAre(0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0));
  EXPECT_THAT(variable(".global .f64 x = 0d3FF0000000000000;").init.bytes, ElementsAre(0, 0, 0, 0, 0, 0, 0xf0, 0x3f));
  EXPECT_THAT(variable(".global .s32 x = (3 + 4) * 2 - 0b11;").init.bytes, ElementsAre(11, 0, 0, 0));
}

TEST(Initialisers, NestAsInC) {
  const Variable v = variable(".global .u8 x[2][3] = {{1}, {2, 3, 4}};");
  EXPECT_EQ(v.size, 6u);
  EXPECT_THAT(v.init.bytes, ElementsAre(1, 0, 0, 2, 3, 4));
  const Variable open = variable(".global .u16 x[] = {1, 2, 3};");
  EXPECT_EQ(open.size, 6u);
  EXPECT_THAT(open.init.bytes, ElementsAre(1, 0, 2, 0, 3, 0));
}

TEST(Initialisers, HoldAddresses) {
  const Module m = parse(kHead +
                         ".global .u64 a;\n.visible .func f() { ret; }\n"
                         ".global .u64 t[4] = {a, generic(a)+4*4-8, f, 7};\n"
                         ".global .b8 bytes[4] = {0xFF(a), 0xFF00(generic(a)), 5, 0xFF0000(a+16)};\n");
  const Initialiser& t = m.variables.at(1).init;
  ASSERT_EQ(t.relocs.size(), 3u);
  EXPECT_EQ(t.relocs[0].symbol, "a");
  EXPECT_FALSE(t.relocs[0].generic);
  EXPECT_EQ(t.relocs[0].size, 8);
  EXPECT_TRUE(t.relocs[1].generic);
  EXPECT_EQ(t.relocs[1].addend, 8);
  EXPECT_EQ(t.relocs[1].offset, 8u);
  EXPECT_EQ(t.relocs[2].symbol, "f");
  const Initialiser& b = m.variables.at(2).init;
  ASSERT_EQ(b.relocs.size(), 3u);
  EXPECT_EQ(b.relocs[0].shift_mask, 0);
  EXPECT_EQ(b.relocs[1].shift_mask, 1);
  EXPECT_TRUE(b.relocs[1].generic);
  EXPECT_EQ(b.relocs[2].shift_mask, 2);
  EXPECT_EQ(b.relocs[2].addend, 16);
  EXPECT_EQ(b.relocs[2].offset, 3u);
}

TEST(Initialisers, RefuseWhatDoesNotFit) {
  EXPECT_THAT(message(kHead + ".global .u8 x[2] = {1, 2, 3};"), HasSubstr("more values"));
  EXPECT_THAT(message(kHead + ".shared .u32 x = 1;"), HasSubstr("initialiser"));
  EXPECT_THAT(message(kHead + ".global .u8 x[1] = {nowhere};"), HasSubstr("does not fit"));
  EXPECT_THAT(message(kHead + ".global .u64 x = nowhere;"), HasSubstr("unknown symbol 'nowhere'"));
  EXPECT_THAT(message(kHead + ".global .u32 x = 1 / 0;"), HasSubstr("division by zero"));
  EXPECT_THAT(message(kHead + ".global .u32 x; .global .u64 y = x-4;"), HasSubstr("'-' behind an address"));
  EXPECT_THAT(message(kHead + ".global .u32 x; .global .u64 y = generic(x)-4;"), HasSubstr("'-' behind an address"));
  EXPECT_THAT(message(kHead + ".global .u32 x; .global .u32 x;"), HasSubstr("defined twice"));
}

TEST(Module, SkipsDebugSectionsAndKeepsFiles) {
  const Module m = parse(kHead +
                         ".section .debug_abbrev\n{\n.b8 1\n.b8 17 // }\n.b8 \"}\"\n}\n"
                         ".section .debug_info { $L_begin: .b32 $L_end-$L_begin .b64 k }\n"
                         ".visible .entry k() { .loc 2 17 5\n ret; }\n"
                         ".file 1 \"/home/me/build/../src/./a.cu\"\n.file 2 \"b.cuh\", 123, 456\n");
  ASSERT_EQ(m.files.size(), 3u);
  EXPECT_EQ(m.files[1], "/home/me/src/a.cu");
  EXPECT_EQ(m.files[2], "b.cuh");
  EXPECT_EQ(m.functions.at(0)->body.at(0).source.file, 2u);
  EXPECT_EQ(m.functions.at(0)->body.at(0).source.line, 17u);
}

TEST(Module, TakesAliasesAndPragmas) {
  const Module m = parse(kHead + ".pragma \"nounroll\";\n.func f() { ret; }\n.alias g, f;\n");
  ASSERT_EQ(m.aliases.size(), 1u);
  EXPECT_EQ(m.aliases[0].first, "g");
  EXPECT_EQ(m.aliases[0].second, "f");
}

}  // namespace
}  // namespace tinygpu::ptx::module_test
