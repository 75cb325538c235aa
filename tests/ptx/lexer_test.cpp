#include "common/tinygpu/ptx/lexer.h"

#include <gtest/gtest.h>

#include <bit>

namespace tinygpu::ptx {
namespace {

Token only(const std::string& text) {
  Lexer lexer(text);
  return lexer.next();
}

TEST(Lexer, ReadsIntegersOfEveryBase) {
  EXPECT_EQ(only("42").bits, 42u);
  EXPECT_EQ(only("0x1F").bits, 31u);
  EXPECT_EQ(only("017").bits, 15u);
  EXPECT_EQ(only("0b101").bits, 5u);
  EXPECT_EQ(only("0").bits, 0u);
  EXPECT_EQ(only("0xFFFFFFFFFFFFFFFFU").bits, ~uint64_t(0));
  EXPECT_TRUE(only("5U").is_unsigned);
  EXPECT_FALSE(only("5").is_unsigned);
}

TEST(Lexer, ReadsFloatsAsBits) {
  EXPECT_EQ(only("0f3F800000").bits, 0x3f800000u);
  EXPECT_EQ(only("0f3F800000").type, Type::f32);
  EXPECT_EQ(only("0d3FF0000000000000").bits, std::bit_cast<uint64_t>(1.0));
  EXPECT_EQ(only("1.5").bits, std::bit_cast<uint64_t>(1.5));
  EXPECT_EQ(only("25e-1").bits, std::bit_cast<uint64_t>(2.5));
  EXPECT_EQ(only("0.5").type, Type::f64);
}

TEST(Lexer, RefusesMalformedNumbers) {
  for (const char* text : {"0f3F80", "0d3FF", "0x", "0b2", "09", "12ab", "1.5x"})
    EXPECT_THROW(only(text), Failure) << text;
}

TEST(Lexer, ReadsNamesOfEveryDialect) {
  for (const char* text : {"%r1", "$L__BB0_2", "_ZN3fooEv", "%0", "__cuda_local_var_12", "a$b"}) {
    const std::string owned = text;
    Lexer lexer(owned);
    const Token t = lexer.next();
    EXPECT_TRUE(t.ident()) << text;
    EXPECT_EQ(t.text, text);
  }
}

TEST(Lexer, TellsModuloFromRegisters) {
  Lexer lexer("7 % 3");
  lexer.next();
  EXPECT_TRUE(lexer.next().is('%'));
}

TEST(Lexer, CountsLinesAndColumnsThroughComments) {
  Lexer lexer("a // to the end\n  /* over\n two */ b");
  EXPECT_EQ(lexer.next().pos.line, 1u);
  const Token b = lexer.next();
  EXPECT_EQ(b.pos.line, 3u);
  EXPECT_EQ(b.pos.col, 9u);
  EXPECT_EQ(lexer.next().kind, Token::Kind::end);
}

TEST(Lexer, SaysWhereACommentBegan) {
  Lexer lexer("a\n /* never closed");
  lexer.next();
  try {
    lexer.next();
    FAIL();
  } catch (const Failure& f) {
    EXPECT_EQ(f.message.pos.line, 2u);
    EXPECT_EQ(f.message.pos.col, 2u);
  }
}

}  // namespace
}  // namespace tinygpu::ptx
