// Descriptor encodings against the documentation's worked examples and words typed from its bit tables, as literals.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"

namespace {

using namespace gen5::layout;

constexpr SmemOperand operand(Element element, Major major, Swizzle swizzle, uint32_t leading, uint32_t stride) {
  return {.element = element, .major = major, .swizzle = swizzle, .leading = leading, .stride = stride};
}

// PTX ISA 9.7.16.3.3, worked examples: the offsets in bytes and the fields' values.
static_assert(smem_descriptor(operand(Element::tf32, Major::k, Swizzle::none, 256, 128)) == 0x0000'4008'0010'0000);
static_assert(smem_descriptor(operand(Element::tf32, Major::k, Swizzle::b32, 16, 256)) == 0xC000'4010'0001'0000);
static_assert(smem_descriptor(operand(Element::bf16, Major::mn, Swizzle::none, 256, 128)) == 0x0000'4008'0010'0000);
static_assert(smem_descriptor(operand(Element::bf16, Major::mn, Swizzle::b32, 256, 512)) == 0xC000'4020'0010'0000);
static_assert(smem_descriptor(operand(Element::bf16, Major::mn, Swizzle::b64, 512, 1024)) == 0x8000'4040'0020'0000);
// The two 128-byte modes: codes 2 and 1 in bits 63:61.
static_assert(smem_descriptor(operand(Element::bf16, Major::k, Swizzle::b128, 16, 1024)) == 0x4000'4040'0001'0000);
static_assert(smem_descriptor(operand(Element::tf32, Major::mn, Swizzle::b128_atom32, 4096, 512)) ==
              0x2000'4020'0100'0000);

TEST(SmemDescriptor, TheAddressLosesItsRankAndItsLowFourBits) {
  constexpr uint64_t d = smem_descriptor({.stride = 1024});
  EXPECT_EQ(at_address(d, 0x400), 0x4000'4040'0001'0040u);
  EXPECT_EQ(at_address(d, 0x0300'0400), at_address(d, 0x400));
  EXPECT_EQ(at_address(d, 0x420) - at_address(d, 0x400), 2u);  // one K step of 32 bytes
  EXPECT_EQ(at_address(d, 0x3fff0) & 0x3fff, 0x3fffu);
}

template <SmemOperand O>
concept Encodes = requires {
  std::bool_constant<(smem_descriptor(O), true)>{};
};

TEST(SmemDescriptor, ImpossibleOperandsDoNotCompile) {
  EXPECT_TRUE((Encodes<SmemOperand{.element = Element::bf16, .stride = 1024}>));
  EXPECT_FALSE((Encodes<SmemOperand{.element = Element::bf16, .stride = 1000}>));
  EXPECT_FALSE((Encodes<SmemOperand{.element = Element::bf16, .stride = 0x40000}>));
  EXPECT_FALSE(
      (Encodes<SmemOperand{.element = Element::tf32, .major = Major::mn, .swizzle = Swizzle::b128, .stride = 1024}>));
  EXPECT_FALSE((Encodes<SmemOperand{
                    .element = Element::bf16, .major = Major::mn, .swizzle = Swizzle::b128_atom32, .stride = 1024}>));
  EXPECT_TRUE(
      (Encodes<SmemOperand{.element = Element::e2m1, .major = Major::mn, .swizzle = Swizzle::b128, .stride = 1024}>));
}

// Words typed from the documentation's bit table (9.7.16.4.2).
static_assert(instruction_descriptor({.kind = Kind::f16, .a = Element::f16, .b = Element::f16}) == 0x08200010);
static_assert(instruction_descriptor({.kind = Kind::f16, .a = Element::bf16, .b = Element::bf16}) == 0x08200490);
static_assert(instruction_descriptor({.kind = Kind::tf32, .a = Element::tf32, .b = Element::tf32}) == 0x08200910);
static_assert(instruction_descriptor({.kind = Kind::f8f6f4, .a = Element::e4m3, .b = Element::e4m3}) == 0x08200010);
static_assert(instruction_descriptor({.kind = Kind::i8, .a = Element::s8, .b = Element::s8, .d = Accumulator::s32}) ==
              0x082004A0);
static_assert(instruction_descriptor({.a = Element::f16, .b = Element::f16, .d = Accumulator::f16, .m = 64, .n = 8}) ==
              0x04020000);
static_assert(instruction_descriptor({.n = 256}) == 0x08400490);
static_assert(instruction_descriptor({.m = 256, .n = 256, .cta_group = 2}) == 0x10400490);
static_assert(instruction_descriptor({.a_major = Major::mn}) == 0x08208490);
static_assert(instruction_descriptor({.b_major = Major::mn}) == 0x08210490);
static_assert(instruction_descriptor({.negate_a = true}) == 0x08202490);
static_assert(instruction_descriptor({.negate_b = true}) == 0x08204490);
static_assert(instruction_descriptor(
                  {.kind = Kind::i8, .a = Element::u8, .b = Element::s8, .d = Accumulator::s32, .saturate = true}) ==
              0x08200428);
static_assert(instruction_descriptor({.kind = Kind::f8f6f4, .a = Element::e2m1, .b = Element::e3m2}) == 0x08201290);
static_assert(instruction_descriptor({.kind = Kind::f8f6f4, .a = Element::e2m3, .b = Element::e5m2}) == 0x08200590);
static_assert(instruction_descriptor({.kind = Kind::f8f6f4,
                                      .a = Element::e2m3,
                                      .b = Element::e2m1,
                                      .a_major = Major::mn,
                                      .b_major = Major::mn}) == 0x08219590);

template <Instruction I>
concept Exists = requires {
  std::bool_constant<(instruction_descriptor(I), true)>{};
};

TEST(InstructionDescriptor, ImpossibleInstructionsDoNotCompile) {
  EXPECT_TRUE((Exists<Instruction{}>));
  EXPECT_FALSE((Exists<Instruction{.m = 96}>));
  EXPECT_FALSE((Exists<Instruction{.n = 264}>));
  EXPECT_FALSE((Exists<Instruction{.n = 12}>));
  EXPECT_FALSE((Exists<Instruction{.a = Element::e4m3}>));
  EXPECT_FALSE((Exists<Instruction{.d = Accumulator::f16}>));  // bf16 operands
  EXPECT_FALSE((Exists<Instruction{.d = Accumulator::s32}>));
  EXPECT_FALSE((Exists<Instruction{.m = 256}>));
  EXPECT_FALSE((Exists<Instruction{.m = 64, .cta_group = 2}>));
  EXPECT_FALSE((Exists<Instruction{.n = 8, .cta_group = 2}>));
  EXPECT_FALSE((Exists<Instruction{
                    .kind = Kind::f8f6f4, .a = Element::e2m3, .b = Element::e2m1, .n = 24, .b_major = Major::mn}>));
}

// PTX ISA's table of shapes, typed: which N each kind has for each M.
TEST(InstructionDescriptor, TheShapesAreTheTables) {
  struct Row {
    Kind kind;
    Element element;
    Accumulator d;
    uint32_t cta_group;
    std::vector<uint32_t> m, n;
  };
  std::vector<uint32_t> by8, by16,
      i8_cg1 = {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256};
  for (uint32_t n = 8; n <= 256; n += 8) by8.push_back(n);
  for (uint32_t n = 16; n <= 256; n += 16) by16.push_back(n);
  const std::vector<Row> rows = {
      {Kind::f16, Element::f16, Accumulator::f16, 1, {64, 128}, by8},
      {Kind::f16, Element::bf16, Accumulator::f32, 1, {64, 128}, by8},
      {Kind::f16, Element::bf16, Accumulator::f32, 2, {128, 256}, by16},
      {Kind::tf32, Element::tf32, Accumulator::f32, 1, {64, 128}, by8},
      {Kind::tf32, Element::tf32, Accumulator::f32, 2, {128, 256}, by16},
      {Kind::f8f6f4, Element::e4m3, Accumulator::f32, 1, {64, 128}, by8},
      {Kind::f8f6f4, Element::e2m1, Accumulator::f16, 2, {128, 256}, by16},
      {Kind::i8, Element::s8, Accumulator::s32, 1, {64, 128}, i8_cg1},
      {Kind::i8, Element::u8, Accumulator::s32, 2, {128, 256}, {32, 64, 96, 128, 160, 192, 224, 256}},
  };
  for (const Row& r : rows)
    for (uint32_t m = 0; m <= 320; m += 16)
      for (uint32_t n = 0; n <= 320; ++n) {
        const bool in_table = std::count(r.m.begin(), r.m.end(), m) && std::count(r.n.begin(), r.n.end(), n);
        const Instruction i{
            .kind = r.kind, .a = r.element, .b = r.element, .d = r.d, .m = m, .n = n, .cta_group = r.cta_group};
        EXPECT_EQ(why_illegal(i) == nullptr, in_table) << "kind " << int(r.kind) << " M " << m << " N " << n;
      }
}

}  // namespace
