// Device memory: addresses that the host cannot touch, reuse, messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/tinygpu/machine/memory.h"

namespace tinygpu {
namespace {

TEST(GlobalMemory, HostDereferenceFaults) {
  GlobalMemory m(1 << 20);
  const uint64_t a = m.allocate(64, 256, MemoryKind::device);
  EXPECT_DEATH({ *reinterpret_cast<volatile int*>(a) = 1; }, "");
}

TEST(GlobalMemory, ManagedMemoryIsTheSameForBothSides) {
  GlobalMemory m(1 << 20);
  const uint64_t a = m.allocate(64, 256, MemoryKind::managed);
  *reinterpret_cast<int*>(a) = 42;
  EXPECT_EQ(*reinterpret_cast<int*>(m.translate(a, 4)), 42);
  EXPECT_TRUE(m.release(a));
  EXPECT_EQ(m.translate(a, 4), nullptr);
}

TEST(GlobalMemory, ExhaustionAndReuse) {
  GlobalMemory m(1 << 20);
  std::vector<uint64_t> all;
  while (uint64_t a = m.allocate(100000, 256, MemoryKind::device)) all.push_back(a);
  EXPECT_EQ(all.size(), 10u);
  EXPECT_TRUE(m.release(all[3]));
  EXPECT_FALSE(m.release(all[3])) << "a double free is refused";
  EXPECT_EQ(m.allocate(100000, 256, MemoryKind::device), all[3]);
  for (uint64_t a : all) EXPECT_TRUE(m.release(a));
  EXPECT_EQ(m.used(), 0u);
  EXPECT_NE(m.allocate(1 << 20, 256, MemoryKind::device), 0u) << "free ranges were not joined";
}

TEST(GlobalMemory, FreshMemoryIsZeroAlsoWhenReused) {
  GlobalMemory m(1 << 20);
  for (int i = 0; i < 3; ++i) {
    const uint64_t a = m.allocate(10000, 256, MemoryKind::device);
    uint8_t* p = m.translate(a, 10000);
    for (int k = 0; k < 10000; ++k) ASSERT_EQ(p[k], 0) << k;
    std::fill(p, p + 10000, uint8_t(0x5a));
    m.release(a);
  }
}

TEST(GlobalMemory, DescribesAddressesNearAllocations) {
  GlobalMemory m(1 << 20);
  EXPECT_EQ(m.describe(4096), "no device memory is allocated");
  const uint64_t a = m.allocate(1000, 256, MemoryKind::device, "table");
  EXPECT_THAT(m.describe(a + 1012), ::testing::StartsWith("12 bytes past the end of a 1000-byte allocation"));
  EXPECT_THAT(m.describe(a + 1012), ::testing::EndsWith("(table)"));
  EXPECT_THAT(m.describe(a - 4), ::testing::StartsWith("4 bytes before a 1000-byte allocation"));
}

}  // namespace
}  // namespace tinygpu
