// Whatever the text, parse() returns a module or throws ParseError.
#include <gtest/gtest.h>

#include <random>

#include "ptx_text.h"

namespace tinygpu::ptx {
namespace {

const char* const kSmall = R"(.version 9.0
.target sm_100a, debug
.address_size 64
.file 1 "a.cu"
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 8 .u64 table[3] = {table, generic(table)+8, 0xFF(table)};
.global .f32 floats[2][2] = {{1.0, 0f3F800000}, {-2}};
.extern .shared .align 16 .b8 dyn[];
.section .debug_x { .b8 1 .b32 $a-$b }
.visible .entry k(.param .u64 .ptr .global .align 1 p, .param .align 8 .b8 s[16])
.maxntid 128, 1, 1
{
 .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 f;
 .loc 1 5 3, function_name L, inlined_at 1 2 3
 ld.param.u64 %rd1, [p];
 L: mov.u32 %r1, %tid.x; // comment
 setp.eq.s32 %p1|%p2, %r1, 5;
 @!%p1 bra L;
 ts: .branchtargets L, M;
 brx.idx %r1, ts;
 M: { .reg .b32 t; .param .b64 q; st.param.b64 [q], %rd1; call.uni (q), vprintf, (q, q); }
 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, -1}], [%r3+8];
 tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r1,%r2,%r3,%r4}, %p1, 3;
 fma.rn.f32 f, f, 1.5, 0f40000000; /* block */
 .pragma "nounroll";
 ret;
}
)";

/// True if the parser took the text, false if it refused it properly; anything else fails the test.
bool survives(const std::string& text) {
  try {
    parse(text);
    return true;
  } catch (const ParseError& e) {
    EXPECT_FALSE(e.messages.empty());
    EXPECT_LE(e.messages.size(), 20u);
    for (const ParseMessage& m : e.messages) EXPECT_FALSE(m.text.empty());
    return false;
  }
}

TEST(Malformed, TheSmallModuleItselfHasOnlyKnownFaults) {
  // It exercises every construct; its masked address in a u64 array and the void call are legal to the syntax.
  try {
    parse(kSmall);
  } catch (const ParseError& e) {
    FAIL() << e.what();
  }
}

TEST(Malformed, EveryTruncation) {
  const std::string text = kSmall;
  for (size_t n = 0; n < text.size(); ++n) survives(text.substr(0, n));
}

TEST(Malformed, EverySingleByteRemoved) {
  const std::string text = kSmall;
  for (size_t n = 0; n < text.size(); ++n) survives(text.substr(0, n) + text.substr(n + 1));
}

TEST(Malformed, RandomBytes) {
  std::mt19937 rng(1);
  const std::string text = kSmall;
  const std::string interesting = "{}[]();:,.%$@!|<>=+-*/\"\\0129afxU_ \n\t\0\x80\xff";
  int taken = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string t = text;
    const int edits = 1 + int(rng() % 8);
    for (int i = 0; i < edits; ++i) {
      const size_t at = rng() % t.size();
      switch (rng() % 4) {
        case 0: t[at] = char(rng() & 0xff); break;
        case 1: t[at] = interesting[rng() % interesting.size()]; break;
        case 2: t.insert(at, 1, interesting[rng() % interesting.size()]); break;
        default: t.erase(at, 1 + rng() % 16);
      }
      if (t.empty()) t = "x";
    }
    taken += survives(t);
  }
  EXPECT_GT(taken, 0);     // some edits are harmless,
  EXPECT_LT(taken, 4500);  // most are not
}

TEST(Malformed, RandomPiecesOfRealText) {
  std::mt19937 rng(2);
  const std::string text = read_data("language_features_plain.ptx.zst");
  for (int round = 0; round < 300; ++round) {
    std::string t = text;
    for (int i = 0; i < 4; ++i) {  // move a piece somewhere else
      const size_t from = rng() % t.size(), n = std::min<size_t>(rng() % 200, t.size() - from);
      const std::string piece = t.substr(from, n);
      t.erase(from, n);
      t.insert(rng() % (t.size() + 1), piece);
    }
    survives(t);
  }
}

TEST(Malformed, DeepNesting) {
  const std::string head = ".version 9.0\n.target sm_100a\n";
  for (const std::string& open : {std::string("("), std::string("-"), std::string("~"), std::string("!")}) {
    std::string deep = head + ".global .u32 x = ";
    for (int i = 0; i < 100000; ++i) deep += open;
    EXPECT_FALSE(survives(deep + "1;"));
  }
  std::string braces = head + ".global .u32 x[1] = ";
  std::string scopes = head + ".entry k() ";
  std::string vectors = head + ".entry k() { mov.b32 ";
  for (int i = 0; i < 100000; ++i) {
    braces += '{';
    scopes += '{';
    vectors += '{';
  }
  EXPECT_FALSE(survives(braces));
  EXPECT_FALSE(survives(scopes));
  EXPECT_FALSE(survives(vectors));
  std::string generics = head + ".global .u64 x = ";
  for (int i = 0; i < 100000; ++i) generics += "generic(";
  EXPECT_FALSE(survives(generics));
}

TEST(Malformed, HugeNumbers) {
  const std::string head = ".version 9.0\n.target sm_100a\n";
  EXPECT_FALSE(survives(head + ".global .b8 x[99999999999999999999];"));
  EXPECT_FALSE(survives(head + ".global .b64 x[9223372036854775807];"));
  EXPECT_FALSE(survives(head + ".global .b8 x[4294967296][4294967296];"));
  EXPECT_FALSE(survives(head + ".global .b8 x[1000000][1000000] = {{1}, {2}, {3}};\n.file 4000000000 \"x\""));
  EXPECT_FALSE(survives(head + ".entry k() { .reg .b32 %r<4000000000>; mov.b32 %r3999999999, 0; }"));
  EXPECT_TRUE(survives(head + ".entry k() { .reg .b32 %r<4000000000>; mov.b32 %r5, 0; }"));
}

TEST(Malformed, LongLists) {
  const std::string head = ".version 9.0\n.target sm_100a\n.entry k() { .reg .b32 %r<9>; .reg .b64 %rd<9>; ";
  const auto times = [](size_t n, const std::string& s) {
    std::string all;
    for (size_t i = 0; i < n; ++i) all += s;
    return all;
  };
  const auto text_of = [](const std::string& text) {
    try {
      parse(text);
    } catch (const ParseError& e) {
      return e.messages.at(0).text;
    }
    return std::string();
  };
  EXPECT_EQ(text_of(head + "mov.b32 %r1, {" + times(1000000, "%r1,") + "%r1}; }"),
            "a vector of more than 256 elements");
  EXPECT_EQ(text_of(head + "ld.global.b32 %r1, [%rd1" + times(1000000, ",%r1") + "]; }"),
            "more than 256 operands in one address");
  EXPECT_EQ(text_of(head + "mov" + times(1000000, ".b32") + " %r1, %r1; }"),
            "an instruction with more than 64 modifiers");
}

TEST(Malformed, ManyNamesAreFoundQuickly) {
  // Every use looks through no more than its own name: 20,000 ranges and 100,000 uses take no time to speak of.
  std::string text = ".version 9.0\n.target sm_100a\n.entry k() {\n";
  for (int i = 0; i < 20000; ++i) text += ".reg .b32 %a" + std::to_string(i) + "_<4>;\n";
  for (int i = 0; i < 100000; ++i) text += "mov.b32 %a" + std::to_string(i % 20000) + "_1, 0;\n";
  EXPECT_TRUE(survives(text + "}"));
}

TEST(Malformed, RegistersFarApartTakeNoRoomBetween) {
  std::string text = ".version 9.0\n.target sm_100a\n.entry k() {\n";
  for (int i = 0; i < 3000; ++i)
    text += ".reg .b32 %a" + std::to_string(i) + "_<900000000>; mov.b32 %a" + std::to_string(i) + "_899999999, 0;\n";
  EXPECT_TRUE(survives(text + "}"));
}

TEST(Malformed, InitialisersFarApartAreCounted) {
  std::string text = ".version 9.0\n.target sm_100a\n";
  for (int i = 0; i < 100; ++i) text += ".global .b8 x" + std::to_string(i) + "[2][8388608] = {{1}, {2}};\n";
  EXPECT_FALSE(survives(text));
}

TEST(Malformed, FatbinPaddingIsNoError) {
  std::string text = ".version 9.0\n.target sm_100a\n.entry k() { ret; }\n";
  EXPECT_TRUE(survives(text + std::string(7, '\0')));
  EXPECT_FALSE(survives(text + '\0' + text));
}

}  // namespace
}  // namespace tinygpu::ptx
