// Operands of MMAs that are read otherwise than they were written: every one of these descriptors is legal.
#include "tests/check/kernel.h"

namespace tinygpu::test::operand_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// "mma <- copy" of each finding.
std::vector<std::string> found(const std::string& body, std::vector<MapFields> maps) {
  Kernel k;
  k.body = body;
  k.tensor = true;
  k.maps = std::move(maps);
  return k.findings();
}

const std::string kCommit = "  @%p8 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b+8];\n" +
                            wait("%p12", 8) + "  tcgen05.fence::after_thread_sync;\n";

std::string expect(int bytes) {
  return fmt::format("  @%p8 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], {};\n", bytes);
}
std::string load(int offset, int map, int x, int y) {
  return fmt::format(
      "  @%p8 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s+{}], [%m+{}, {{{}, "
      "{}}}], [%b];\n",
      offset, 128 * map, x, y);
}
/// Both descriptors are of what lies at %s, plus these.
std::string mma(uint64_t a, uint64_t b, uint32_t idesc = 0x08040010) {
  return fmt::format(
      "  shr.u32 %r0, %s, 4; cvt.u64.u32 %rd0, %r0; add.u64 %rd1, %rd0, {:#x}; add.u64 %rd2, %rd0, {:#x};\n"
      "  mov.u32 %r1, {:#x};\n  @%p8 tcgen05.mma.cta_group::1.kind::f16 [%base], %rd1, %rd2, %r1, %p13;\n",
      a, b, idesc);
}

constexpr int kF16 = 6, kSwizzle128 = 3;
constexpr uint64_t kSbo = uint64_t(1) << 32, kLbo = uint64_t(1) << 16;
constexpr uint64_t kDescriptor = 0x4000404000010000;  // 128-byte swizzle, eight rows in 1024 bytes

MapFields k_major(int swizzle) { return matrix_map(kF16, {64, 128}, 128, {64, 128}, swizzle); }
std::vector<std::string> of_k_major(int swizzle, uint64_t a, uint64_t b) {
  return found(expect(16384) + load(0, 0, 0, 0) + wait("%p12") + mma(a, b) + kCommit, {k_major(swizzle)});
}

TEST(OperandLayouts, RowsAsACopyWroteThem) {
  EXPECT_THAT(of_k_major(kSwizzle128, kDescriptor, kDescriptor), IsEmpty());
  EXPECT_THAT(of_k_major(kSwizzle128, kDescriptor + 2, kDescriptor + 2), IsEmpty()) << "one step along K";
  EXPECT_THAT(of_k_major(kSwizzle128, kDescriptor + 2, kDescriptor), IsEmpty()) << "another step: that can be meant";
  EXPECT_THAT(of_k_major(kSwizzle128, kDescriptor + kLbo, kDescriptor), IsEmpty()) << "is not read";
}

TEST(OperandLayouts, AnotherSwizzleThanTheCopys) {
  const uint64_t b64 = (kDescriptor & ~(uint64_t(7) << 61)) | uint64_t(4) << 61;
  for (const auto& told : {of_k_major(0, kDescriptor, kDescriptor), of_k_major(kSwizzle128, b64, b64)}) {
    EXPECT_THAT(told, Not(IsEmpty()));
    EXPECT_THAT(told, Each(AllOf(StartsWith("operand-layout: tcgen05.mma"), HasSubstr("<- cp.async.bulk.tensor"))));
  }
}

TEST(OperandLayouts, RowsAndStepsBeside) {
  EXPECT_THAT(of_k_major(kSwizzle128, kDescriptor - kSbo, kDescriptor), Not(IsEmpty()))
      << "row 8 begins elsewhere along K";
  EXPECT_THAT(of_k_major(kSwizzle128, kDescriptor + 1, kDescriptor), SizeIs(1)) << "A half a step behind B";
  EXPECT_THAT(of_k_major(kSwizzle128, kDescriptor, kDescriptor + 1), SizeIs(1));
}

// Places are named as one thinks of them.
TEST(OperandLayouts, SaysWhichRowOfTheBox) {
  Kernel k;
  k.tensor = true;
  k.maps = {k_major(kSwizzle128)};
  k.body = expect(16384) + load(0, 0, 0, 0) + wait("%p12") + mma(kDescriptor - kSbo, kDescriptor) + kCommit;
  const auto told = k.diagnoses();
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told[0].message, HasSubstr("A of tcgen05.mma: row 8 begins at row 7, columns 56 to 63 of the box"));
  ASSERT_EQ(told[0].others.size(), 1u);
  EXPECT_THAT(told[0].others[0].label, HasSubstr("swizzle 128-byte"));
  // The same as a race: no thread waits for the copy.
  k.body = expect(16384) + load(0, 0, 0, 0) + "  bar.sync 0;\n  ld.shared.u32 %r1, [%s+1040];\n" + wait("%p12");
  std::string labels;
  for (const Diagnosis& d : k.diagnoses()) {
    labels += d.label;
    for (const auto& other : d.others) labels += other.label;
  }
  EXPECT_THAT(labels, HasSubstr("row 8, columns"));
}

// A's rows along M: two boxes of 64 × 16, B as above behind them.
std::vector<std::string> of_mn_major(uint64_t a) {
  const MapFields map_a = matrix_map(kF16, {128, 16}, 256, {64, 16}, kSwizzle128),
                  map_b = matrix_map(kF16, {64, 16}, 128, {64, 16}, kSwizzle128);
  return found(expect(2 * 2048 + 2048) + load(0, 0, 0, 0) + load(2048, 0, 64, 0) + load(8192, 1, 0, 0) + wait("%p12") +
                   mma(a, kDescriptor + 8192 / 16, 0x08040010 | 1 << 15) + kCommit,
               {map_a, map_b});
}
TEST(OperandLayouts, OfMnMajorTiles) {
  constexpr uint64_t a = 0x4000404000800000;  // 2048 bytes from one box to the next
  EXPECT_THAT(of_mn_major(a), IsEmpty());
  EXPECT_THAT(of_mn_major(a + kLbo), SizeIs(1));
  EXPECT_THAT(of_mn_major(a + kSbo), SizeIs(1));
  EXPECT_THAT(of_mn_major(a + 1), SizeIs(1));
}

// Of what threads have stored only this is known: what one reads twice, and what two read as different rows.
TEST(OperandLayouts, OfWhatThreadsStored) {
  const std::string stored = "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n";
  constexpr uint64_t plain = 0x0000401000080000;  // no swizzle: LBO 128, SBO 256
  const auto of = [&](uint64_t a, uint64_t b) { return found(stored + mma(a, b) + kCommit, {}); };
  EXPECT_THAT(of(plain, plain), IsEmpty());
  EXPECT_THAT(of(plain + kLbo, plain + 512), SizeIs(1)) << "the second 16 bytes of row 7 are row 8's first";
  EXPECT_THAT(of(plain + kSbo, plain), SizeIs(1)) << "A's row 8 is B's row 9";
  EXPECT_THAT(of(plain + 1, plain), SizeIs(1)) << "A's row 0 is B's row 1";
  EXPECT_THAT(of(plain + 16, plain), IsEmpty()) << "A's row 0 is B's row 8: a panel that both are parts of";
  const auto barrier = of(plain, plain + (16384 - 496) / 16);
  EXPECT_THAT(barrier, Contains(StartsWith("operand-layout"))) << "B ends in the mbarriers";
}

}  // namespace
}  // namespace tinygpu::test::operand_test
