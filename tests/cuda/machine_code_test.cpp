// What is read of machine code: bytes of kernels that ptxas 13.0 made for sm_90a, beside what nvdisasm prints of them.
#include "common/tinygpu/image/machine_code.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tinygpu::image {
namespace {

struct Words {
  uint64_t low, high;
};

SassCode read(std::initializer_list<Words> words) {
  std::vector<uint8_t> bytes(words.size() * sizeof(Words));
  std::memcpy(bytes.data(), words.begin(), bytes.size());
  return read_instructions(bytes);
}

TEST(MachineCode, UnitsGuardsStallsAndScoreboards) {
  const SassCode c = read({
      {0x0000000000007919, 0x000e620000002100},  // S2R R0, SR_TID.X
      {0x0000000000057245, 0x002fd60000201000},  // I2FP.F32.U32 R5, R0
      {0x3f80000005057423, 0x000fc80000000004},  // FFMA R5, R5, R4, 1
      {0x3f000000ff047435, 0x000fe200000001ff},  // HFMA2.MMA R4, -RZ, RZ, 1.75, 0
      {0x0000000102021824, 0x000fe400078e0a09},  // @P1 IMAD.IADD R2, R2, 0x1, -R9
      {0x0000000418147225, 0x001fe200078e00ff},  // IMAD.WIDE.U32 R20, R24, R4, RZ
  });
  ASSERT_EQ(c.code.size(), 6u);
  EXPECT_EQ(c.code[0].sets, 1) << "what S2R brings is waited for";
  EXPECT_EQ(c.code[0].waits, 0);
  EXPECT_EQ(c.code[1].waits, 1 << 1) << "by who reads it";
  EXPECT_EQ(c.code[1].sets, SassInstruction::kNone);
  EXPECT_EQ(c.code[1].pipe, Pipe::alu);
  EXPECT_FALSE(c.code[1].floating) << "a conversion";
  EXPECT_TRUE(c.code[2].floating);
  EXPECT_EQ(c.code[2].pipe, Pipe::fma);
  EXPECT_EQ(c.code[2].stall, 4) << "the next FFMA needs its result";
  EXPECT_FALSE(c.code[2].guarded);
  EXPECT_EQ(c.code[3].stall, 1);
  EXPECT_TRUE(c.code[4].guarded);
  EXPECT_EQ(c.code[4].pipe, Pipe::fma_heavy);
  EXPECT_EQ(c.code[5].pipe, Pipe::fma_heavy);
  EXPECT_EQ(c.code[5].occupies, 2 * c.code[4].occupies) << "a product of 64 bits: probe_00_instructions, mul_u64";
}

TEST(MachineCode, ProductsAreTheImadsThatMultiply) {
  const SassCode c = read({
      {0x0000000405037224, 0x040fe200078e02ff},  // IMAD R3, R5, R4, RZ
      {0xaaf9533405037424, 0x000fc800078e0204},  // IMAD R3, R5, R4, -0x5506accc
      {0x0000001003057824, 0x000fe200078e00ff},  // IMAD.SHL.U32 R5, R3, 0x10, RZ
      {0x0000200006057824, 0x000fe400078e00ff},  // IMAD.SHL.U32 R5, R6, 0x2000, RZ
      {0x000000ffff057224, 0x000fe400078e0007},  // IMAD.MOV.U32 R5, RZ, RZ, R7
      {0x0000000102021824, 0x000fe400078e0a09},  // @P1 IMAD.IADD R2, R2, 0x1, -R9
      {0x0000000418147225, 0x001fe200078e00ff},  // IMAD.WIDE.U32 R20, R24, R4, RZ
      {0x3f80000005057423, 0x000fc80000000004},  // FFMA R5, R5, R4, 1
  });
  std::vector<bool> products;
  for (const SassInstruction& i : c.code) products.push_back(i.product);
  EXPECT_EQ(products, (std::vector<bool>{true, true, false, false, false, false, true, false}));
}

TEST(MachineCode, LinesOfConstantsOnTheShortestWayToABulkCopy) {
  const Words ahead{0x00000000000c0947, 0x000fea0003800000};  // @P0 BRA, four instructions on
  const Words first{0x00000a00ff017b82, 0x000fe20000000800};  // LDC R1, c[0x0][0x28]
  const Words copy{0x00000e08040075b4, 0x0003e40008011000};   // UTMALDG.3D [UR8], [UR4], desc[UR14]
  const Words end{0x000000000000794d, 0x000fea0003800000};    // EXIT
  const auto lines = [&](Words begin, Words last) {
    return read({begin,
                 {0x0000660000047ab9, 0x000fe40000000a00},  // ULDC.64 UR4, c[0x0][0x198]
                 {0x00023e0000047ab9, 0x000fe20000000a00},  // ULDC.64 UR4, c[0x0][0x8f8]
                 {0x00023400ff0e7b82, 0x000f220000000a00},  // LDC.64 R14, c[0x0][0x8d0]
                 first,
                 {0x00005100ff087b82, 0x000ee20000000800},  // LDC R8, c[0x0][0x144]
                 {0x0000540000047ab9, 0x002fe20000000800},  // ULDC UR4, c[0x0][0x150]
                 {0x0000840003037b82, 0x000e240000000800},  // LDC R3, c[0x0][R3+0x210]
                 last,
                 end})
        .lines_before_copy;
  };
  EXPECT_EQ(lines(ahead, copy), 3u) << "LDC's lines at 0 and 0x140, and the others' at 0x140";
  EXPECT_EQ(lines(first, copy), 6u) << "and those at 0x180 and 0x8c0, of which both caches have one";
  EXPECT_EQ(lines(ahead, end), 0u);
}

TEST(MachineCode, BranchesForthAndBack) {
  const SassCode c = read({
      {0x00000000000c0947, 0x000fea0003800000},  // at 0x00: @P0 BRA 0x40
      {0xfffffffc00f81947, 0x000fea000383ffff},  // at 0x10: @P1 BRA 0x0
      {0x0000000000007919, 0x000e620000002100},
      {0x000000000000794d, 0x000fea0003800000},  // at 0x30: EXIT
      {0xfffffffc00fc7947, 0x000fc0000383ffff},  // at 0x40: BRA 0x40
  });
  EXPECT_EQ(c.code[0].target, 4);
  EXPECT_TRUE(c.code[0].branches && c.code[0].guarded);
  EXPECT_EQ(c.code[1].target, 0);
  EXPECT_EQ(c.code[2].target, -1);
  EXPECT_TRUE(c.code[3].leaves);
  EXPECT_EQ(c.code[4].target, 4);
}

TEST(MachineCode, ABranchOutOfTheCodeHasNoTarget) {
  const SassCode c = read({{0x000000080008a947, 0x000fea0003800000}});  // @!P2 BRA, 0x830 bytes on
  EXPECT_TRUE(c.code[0].branches);
  EXPECT_EQ(c.code[0].target, -1);
}

TEST(MachineCode, AnythingElseIsNoMachineCode) {
  const uint8_t noise[40] = {0x7f, 'E', 'L', 'F', 2, 1};
  EXPECT_TRUE(read_machine_code(noise).empty());
  EXPECT_TRUE(read_machine_code({}).empty());
  EXPECT_TRUE(read_instructions(Bytes(noise, 15)).code.empty()) << "less than an instruction";
}

}  // namespace
}  // namespace tinygpu::image
