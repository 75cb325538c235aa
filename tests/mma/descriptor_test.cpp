// Decoding of descriptors against fields and layouts typed in from the manual and from CuTe's canonical layouts.
#include <gtest/gtest.h>

#include "common/tinygpu/engines/mma/explain_descriptor.h"
#include "common/tinygpu/engines/mma/matrix_descriptor.h"

namespace gen5::test {
namespace {

using namespace tinygpu;

// The worked examples of PTX ISA 9.7.16.3.3: byte offsets and the field values that they are written as.
TEST(MatrixDescriptor, WorkedExamples) {
  struct Example {
    uint64_t raw;
    uint32_t leading, stride;
    SwizzleMode mode;
  };
  const Example examples[] = {
      {0x0000'4008'0010'0000ull, 256, 128, SwizzleMode::none},  // K-major, none, tf32: LBO field 16, SBO field 8
      {0xC000'4010'0001'0000ull, 16, 256, SwizzleMode::b32},    // K-major, 32B, tf32: SBO field 16
      {0x0000'4008'0010'0000ull, 256, 128, SwizzleMode::none},  // MN-major, none, bf16
      {0xC000'4020'0010'0000ull, 256, 512, SwizzleMode::b32},   // MN-major, 32B, bf16
      {0x8000'4040'0020'0000ull, 512, 1024, SwizzleMode::b64},  // MN-major, 64B, bf16
  };
  for (const Example& e : examples) {
    const MatrixDescriptor d = MatrixDescriptor::tcgen05(e.raw);
    EXPECT_EQ(d.leading, e.leading);
    EXPECT_EQ(d.stride, e.stride);
    EXPECT_EQ(d.swizzle, e.mode);
    EXPECT_EQ(d.constant, 1);
    EXPECT_FALSE(check(d));
  }
  const MatrixDescriptor d = MatrixDescriptor::tcgen05(0x4006'4000'0000'3fffull);
  EXPECT_EQ(d.start, 0x3fff0u);
  EXPECT_EQ(d.base_offset, 3);
}

// Byte offsets of elements, read off the swizzle pictures: 16-bit elements, tile at 0.
TEST(OperandLayout, KMajorElements) {
  OperandLayout o;
  o.element_bytes = 2;
  const auto at = [&](uint64_t swizzle, uint64_t lbo, uint64_t sbo, uint32_t row, uint32_t k) {
    o.descriptor = MatrixDescriptor::tcgen05(lbo / 16 << 16 | sbo / 16 << 32 | 1ull << 46 | swizzle << 61);
    return o.element(row, k);
  };
  // 128B: row r of an atom begins at 128 r; its 16-byte pieces are exchanged by XOR with r.
  EXPECT_EQ(at(2, 16, 1024, 0, 0), 0u);
  EXPECT_EQ(at(2, 16, 1024, 1, 0), 128u + 16);
  EXPECT_EQ(at(2, 16, 1024, 1, 8), 128u);
  EXPECT_EQ(at(2, 16, 1024, 7, 9), 896u + 96 + 2);
  EXPECT_EQ(at(2, 16, 1024, 8, 0), 1024u);
  // 64B: eight rows of 64 bytes; pieces move every two rows.
  EXPECT_EQ(at(4, 16, 512, 1, 0), 64u);
  EXPECT_EQ(at(4, 16, 512, 2, 0), 128u + 16);
  EXPECT_EQ(at(4, 16, 512, 7, 15), 448u + 32 + 14);
  // 32B: pieces move every four rows.
  EXPECT_EQ(at(6, 16, 256, 3, 8), 96u + 16);
  EXPECT_EQ(at(6, 16, 256, 4, 8), 128u);
  // None: 8x16-byte core matrices, columns LBO apart, row groups SBO apart.
  EXPECT_EQ(at(0, 256, 128, 3, 4), 48u + 8);
  EXPECT_EQ(at(0, 256, 128, 3, 8), 256u + 48);
  EXPECT_EQ(at(0, 256, 128, 9, 8), 256u + 128 + 16);
}

// CuTe: MN-major ((T,2^B,m),(8,k)):((1,T,LBO),(2^B T,SBO)), Swizzle<B,4,3>; T = 8 elements here. With 32-byte atoms and
// 32-bit elements Swizzle<2,5,2> over 32 elements x 4 k.
TEST(OperandLayout, MnMajorElements) {
  OperandLayout o;
  o.mn_major = true;
  const auto at = [&](uint64_t swizzle, uint64_t lbo, uint64_t sbo, uint32_t es, uint32_t mn, uint32_t k) {
    o.element_bytes = es;
    o.descriptor = MatrixDescriptor::tcgen05(lbo / 16 << 16 | sbo / 16 << 32 | 1ull << 46 | swizzle << 61);
    return o.element(mn, k);
  };
  EXPECT_EQ(at(2, 4096, 1024, 2, 5, 0), 10u);
  EXPECT_EQ(at(2, 4096, 1024, 2, 5, 1), 128u + 16 + 10);
  EXPECT_EQ(at(2, 4096, 1024, 2, 64, 0), 4096u);
  EXPECT_EQ(at(2, 4096, 1024, 2, 8, 9), 1024u + 128);
  EXPECT_EQ(at(4, 512, 1024, 2, 32, 0), 512u);
  EXPECT_EQ(at(4, 512, 1024, 2, 0, 2), 128u + 16);
  EXPECT_EQ(at(6, 256, 512, 2, 16, 8), 256u + 512);
  EXPECT_EQ(at(6, 256, 512, 2, 0, 4), 128u + 16);
  EXPECT_EQ(at(0, 256, 128, 2, 8, 0), 128u);  // roles swap: SBO between 16-byte blocks of MN
  EXPECT_EQ(at(0, 256, 128, 2, 0, 8), 256u);
  EXPECT_EQ(at(1, 1024, 512, 4, 0, 1), 128u + 32);
  EXPECT_EQ(at(1, 1024, 512, 4, 8, 1), 128u);
  EXPECT_EQ(at(1, 1024, 512, 4, 32, 4), 1024u + 512);
}

// Confirmed on an H200: the base offset is taken off address bits 9:7 before the XOR.
TEST(OperandLayout, BaseOffset) {
  OperandLayout o;
  const uint64_t plain = 128 / 16 | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
  o.descriptor = MatrixDescriptor::tcgen05(plain);
  EXPECT_EQ(o.element(0, 0), 128u + 16);
  o.descriptor = MatrixDescriptor::tcgen05(plain | 1ull << 49);
  EXPECT_EQ(o.element(0, 0), 128u);
  EXPECT_EQ(o.element(1, 0), 256u + 16);
}

// What gathering relies on, against each row's own place.
TEST(OperandLayout, EightsThatLieAlike) {
  OperandLayout o;
  uint32_t alike = 0;
  for (const uint64_t swizzle : {0, 1, 2, 4, 6})
    for (uint64_t stride = 16; stride < 4096; stride += 16)
      for (const uint64_t start : {0x400, 0x4f0, 0x770, 0x3ff0})
        for (const uint64_t base_offset : {0, 3}) {
          o.descriptor = MatrixDescriptor::tcgen05(start / 16 | 256ull / 16 << 16 | stride / 16 << 32 | 1ull << 46 |
                                                   base_offset << 49 | swizzle << 61);
          bool each = true;
          for (uint32_t row = 0; row < 256 - 8; ++row)
            for (uint32_t chunk = 0; chunk < 4; ++chunk)
              each &= o.k_major_chunk(row + 8, chunk) == ((o.k_major_chunk(row, chunk) + stride) & 0x3ffff);
          EXPECT_EQ(o.eights_lie_alike(), each) << swizzle << ' ' << stride << ' ' << start;
          alike += each;
        }
  EXPECT_GT(alike, 2048u);  // all without swizzle, and some of each mode
}

std::string field_of(const std::optional<FieldProblem>& p) { return p ? p->field : ""; }

TEST(MatrixDescriptor, EveryIllegalFieldIsNamed) {
  const uint64_t good = 1ull << 46 | 2ull << 61;
  EXPECT_EQ(field_of(check(MatrixDescriptor::tcgen05(good))), "");
  EXPECT_EQ(field_of(check(MatrixDescriptor::tcgen05(good | 1ull << 14))), "reserved bits 15:14");
  EXPECT_EQ(field_of(check(MatrixDescriptor::tcgen05(good | 1ull << 31))), "reserved bits 31:30");
  EXPECT_EQ(field_of(check(MatrixDescriptor::tcgen05(2ull << 61))), "the constant field (bits 48:46)");
  EXPECT_EQ(field_of(check(MatrixDescriptor::tcgen05(good | 1ull << 52))), "the LBO mode (bit 52)");
  EXPECT_EQ(field_of(check(MatrixDescriptor::tcgen05(good | 1ull << 55))), "reserved bits 60:53");
  for (uint64_t code : {3, 5, 7})
    EXPECT_EQ(field_of(check(MatrixDescriptor::tcgen05(1ull << 46 | code << 61))), "the swizzle field (bits 63:61)");
  OperandLayout o;
  o.mn_major = true;
  o.element_bytes = 4;
  o.descriptor = MatrixDescriptor::tcgen05(good);
  EXPECT_NE(field_of(check_operand(o, "B")), "");
  o.descriptor = MatrixDescriptor::tcgen05(1ull << 46 | 1ull << 61);
  EXPECT_EQ(field_of(check_operand(o, "B")), "");
  o.element_bytes = 2;
  EXPECT_NE(field_of(check_operand(o, "B")), "");
}

// The N-major 64-byte-swizzled operand that notes/05_mma.md writes out: LBO 4096, SBO 512, start 0x800.
TEST(Explain, MatrixDescriptor) {
  const uint64_t raw = 0x800 / 16 | uint64_t(4096 / 16) << 16 | uint64_t(512 / 16) << 32 | 1ull << 46 | 4ull << 61;
  ExplainOperand operand;
  operand.mn_major = true;
  operand.rows = 64;
  const std::string text = explain_matrix_descriptor(raw, operand);
  EXPECT_NE(text.find("shared offset 0x800"), std::string::npos) << text;
  EXPECT_NE(text.find("4096 bytes: from one span of M or N to the next"), std::string::npos) << text;
  EXPECT_NE(text.find("512 bytes: from 8 k to the next 8"), std::string::npos) << text;
  // k = 2 is the row of the pattern at which the 64-byte mode starts to exchange pieces; row 32 is in the second block.
  EXPECT_NE(text.find("   2    0x00890 0x00880 0x008b0 0x008a0 0x01890"), std::string::npos) << text;
  EXPECT_NE(explain_matrix_descriptor(raw & ~(7ull << 46), operand).find("illegal: the constant field"),
            std::string::npos);
}

TEST(Explain, InstructionDescriptor) {
  const std::string text = explain_instruction_descriptor(0x08200490, MmaKind::f16, MmaForm{});
  EXPECT_NE(text.find("D[128 x 128] = A[128 x 16] * B[16 x 128]"), std::string::npos) << text;
  EXPECT_NE(text.find("layout D"), std::string::npos) << text;
  EXPECT_NE(explain_instruction_descriptor(0x08420490, MmaKind::f16, MmaForm{}).find("illegal: N >> 3"),
            std::string::npos);
}

// What is written here comes from the tables and figures of the PTX ISA, not from the code.
TEST(Explain, InstructionDescriptorsOfEveryKind) {
  const auto expect = [](uint32_t raw, MmaKind kind, const MmaForm& form, const std::vector<std::string>& lines) {
    const std::string text = explain_instruction_descriptor(raw, kind, form);
    for (const std::string& line : lines) EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  };
  // 128 x 64, e2m3 * e2m1.
  expect(0x08101590, MmaKind::f8f6f4, {},
         {"e2m3", "e2m1", "D[128 x 64] = A[128 x 32] * B[32 x 64]",
          "128 rows of 32 bytes, 16 elements in 12 of 16 bytes", "64 rows of 32 bytes, 16 elements in 8 of 16 bytes"});
  MmaForm form;
  form.a_in_tmem = true;
  expect(0x08101590, MmaKind::f8f6f4, form, {"8 columns, an element in bits 5:0 of a byte"});
  expect(0x082004A8, MmaKind::i8, {}, {"s8", "s32", "clamped to s32"});
  // 128 x 128 mxf8f6f4, scale factors in bytes 3 of A's and 1 of B's columns.
  form = {};
  form.scales = 1;
  expect(0x68a00010, MmaKind::mxf8f6f4, form,
         {"ue8m0", "one for each 32 of K", "of A: byte 3 of columns 0 to 3", "of B: byte 1 of columns 0 to 3"});
  // 256 x 256 nvf4 in a pair, four ue4m3 factors a row.
  form.cta_group = 2;
  form.scales = 4;
  expect(0x10400480, MmaKind::mxf4nvf4, form,
         {"ue4m3", "D[256 x 256] = A[256 x 64] * B[64 x 256]", "one for each 16 of K", "two elements to a byte",
          "of A: bytes 0 to 3 of columns 0 to 3", "of B: bytes 0 to 3 of columns 0 to 7", "layout A"});
  // 128 x 256 in a pair: B's halves in two partitions each.
  form.scales = 2;
  expect(0x08c004a0, MmaKind::mxf4, form, {"of B: bytes 2 to 3 of columns 0 to 3, those of N/2", "layout B"});
  // Sparse, 64 rows; weight-stationary, 32 rows.
  form = {};
  form.sparse = true;
  expect(0x04200014, MmaKind::f16, form,
         {"A[64 x 32]", "128 rows of 64 bytes", "4 bits for each 4 of K, of which 2", "layout F"});
  form.sparse = false;
  form.weight_stationary = true;
  expect(0x42200010, MmaKind::f16, form, {"B by up to 8 columns", "32 columns", "layout G"});
  EXPECT_NE(explain_instruction_descriptor(0x28a00010, MmaKind::mxf4, {}).find("illegal"), std::string::npos);
}

TEST(InstructionDescriptor, KnownWords) {
  const auto bf16 = InstructionDescriptor::decode(0x08200490, MmaKind::f16);
  EXPECT_EQ(bf16.m, 128u);
  EXPECT_EQ(bf16.n, 128u);
  EXPECT_EQ(bf16.a_type(), numerics::Format::bf16);
  EXPECT_EQ(bf16.b_type(), numerics::Format::bf16);
  EXPECT_EQ(bf16.d_type(), InstructionDescriptor::Accumulator::f32);
  EXPECT_EQ(InstructionDescriptor::decode(0x08200010, MmaKind::f16).a_type(), numerics::Format::f16);
  EXPECT_EQ(InstructionDescriptor::decode(0x08200010, MmaKind::f8f6f4).a_type(), numerics::Format::e4m3);
  EXPECT_EQ(InstructionDescriptor::decode(0x08200910, MmaKind::tf32).b_type(), numerics::Format::tf32);
  const auto s8 = InstructionDescriptor::decode(0x082004A0, MmaKind::i8);
  EXPECT_EQ(s8.a_type(), numerics::Format::s8);
  EXPECT_EQ(s8.d_type(), InstructionDescriptor::Accumulator::s32);
  for (auto [raw, kind] : {std::pair{0x08200490u, MmaKind::f16},
                           {0x08200010u, MmaKind::f16},
                           {0x08200910u, MmaKind::tf32},
                           {0x08200010u, MmaKind::f8f6f4},
                           {0x082004A0u, MmaKind::i8}})
    EXPECT_FALSE(check(InstructionDescriptor::decode(raw, kind), MmaForm{}));
}

// Every M and N that the 5- and 6-bit fields can hold, against PTX ISA table 39 typed in for cta_group::1.
TEST(InstructionDescriptor, ShapesOfCtaGroup1) {
  for (uint32_t m = 0; m < 32; ++m)
    for (uint32_t n = 0; n < 64; ++n) {
      const bool m_ok = m == 4 || m == 8;
      const bool n_ok = n >= 1 && n <= 32;
      const auto d = InstructionDescriptor::decode(0x490u | n << 17 | m << 24, MmaKind::f16);
      EXPECT_EQ(!check(d, MmaForm{}), m_ok && n_ok) << m * 16 << 'x' << n * 8;
      const auto i8 = InstructionDescriptor::decode(0x4a0u | n << 17 | m << 24, MmaKind::i8);
      const uint32_t columns = n * 8;
      const bool i8_ok = columns == 8 || columns == 16 || columns == 24 || columns == 32 || columns == 48 ||
                         (columns >= 64 && columns <= 256 && columns % 16 == 0);
      EXPECT_EQ(!check(i8, MmaForm{}), m_ok && i8_ok) << "i8 " << m * 16 << 'x' << columns;
    }
}

TEST(InstructionDescriptor, EveryIllegalFieldIsNamed) {
  const uint32_t good = 0x08200490;
  const auto field = [](uint32_t raw, MmaKind kind, MmaForm form = {}) {
    return field_of(check(InstructionDescriptor::decode(raw, kind), form));
  };
  EXPECT_EQ(field(good, MmaKind::f16), "");
  EXPECT_EQ(field(good | 1, MmaKind::f16), "the sparsity selector (bits 1:0)");
  EXPECT_EQ(field(good | 4, MmaKind::f16), "sparse (bit 2)");
  EXPECT_EQ(field(good | 8, MmaKind::f16), "saturate (bit 3)");
  EXPECT_EQ(field(good | 0x20, MmaKind::f16), "the D type (bits 5:4)");
  EXPECT_EQ(field(good & ~0x10u, MmaKind::f16), "the D type (bits 5:4)");  // f16 accumulators of bf16 operands
  EXPECT_EQ(field(good | 0x40, MmaKind::f16), "reserved bit 6");
  EXPECT_EQ(field(good, MmaKind::tf32), "the A type (bits 9:7)");
  EXPECT_EQ(field(0x08200110 | 1 << 10, MmaKind::tf32), "the B type (bits 12:10)");
  EXPECT_EQ(field(good | 1 << 23, MmaKind::f16), "reserved bit 23");
  EXPECT_EQ(field(good | 1 << 29, MmaKind::f16), "reserved bit 29");
  EXPECT_EQ(field(good | 1u << 30, MmaKind::f16), "the maximum shift (bits 31:30)");
  EXPECT_EQ(field(good | 1 << 15, MmaKind::f16, {.a_in_tmem = true}), "the A major bit (bit 15)");
  EXPECT_EQ(field(0x082004A0 | 1 << 13, MmaKind::i8), "negate (bits 14:13)");
  // PTX ISA, "Transpose and Negate operation": of elements with fewer than 8 bits, only those of mxf4 and mxf4nvf4 are
  // K-major alone.
  EXPECT_EQ(field(0x08200010 | 5 << 7 | 1 << 15, MmaKind::f8f6f4), "");
  EXPECT_EQ(field(0x08c004a0 | 1 << 15, MmaKind::mxf4), "the A major bit (bit 15)");
  EXPECT_EQ(field(0x08c004a0 | 1 << 16, MmaKind::mxf4), "the B major bit (bit 16)");
}

}  // namespace
}  // namespace gen5::test
