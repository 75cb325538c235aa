// Device memory: addresses that the host cannot touch, reuse, messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "common/tinygpu/machine/memory/free_ranges.h"
#include "common/tinygpu/machine/memory/memory.h"

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

TEST(GlobalMemory, AlignedMemoryGivesBackAllItsAddresses) {
  GlobalMemory m(1 << 20);
  for (int round = 0; round < 1000; ++round) {
    const uint64_t small = m.allocate(100, 256, MemoryKind::device);
    const uint64_t a = m.allocate(1000, 65536, MemoryKind::device);
    ASSERT_NE(a, 0u) << round;
    EXPECT_EQ(a % 65536, 0u);
    EXPECT_TRUE(m.release(small));
    EXPECT_TRUE(m.release(a));
  }
}

TEST(GlobalMemory, SizesThatWrap) {
  GlobalMemory m(1 << 20);
  const uint64_t a = m.allocate(64, 256, MemoryKind::device);
  EXPECT_EQ(m.allocate(~0ull, 256, MemoryKind::device), 0u);
  EXPECT_EQ(m.allocate(0ull - 64, 256, MemoryKind::device), 0u);
  EXPECT_EQ(m.translate(a + 32, 0ull - a), nullptr);
  EXPECT_EQ(m.translate(a + 32, ~0ull), nullptr);
  EXPECT_EQ(m.translate(~0ull, 2), nullptr);
  EXPECT_NE(m.translate(a + 32, 32), nullptr);
  EXPECT_EQ(m.translate(a + 32, 33), nullptr);
  char here[16];
  EXPECT_FALSE(m.register_host(here, ~0ull));
  EXPECT_TRUE(m.register_host(here, sizeof here));
  EXPECT_FALSE(m.register_host(here + 15, 1));
}

TEST(GlobalMemory, ClearReleasesEverything) {
  GlobalMemory m(1 << 20);
  const uint64_t a = m.allocate(5000, 256, MemoryKind::device), b = m.allocate(5000, 256, MemoryKind::pinned);
  *m.translate(a, 1) = 7;
  char here[16];
  ASSERT_TRUE(m.register_host(here, sizeof here));
  m.clear();
  EXPECT_EQ(m.used(), 0u);
  EXPECT_EQ(m.find(a), nullptr);
  EXPECT_EQ(m.find(b), nullptr);
  EXPECT_TRUE(m.register_host(here, sizeof here));
  EXPECT_EQ(m.allocate(5000, 256, MemoryKind::device), a);
  EXPECT_EQ(*m.translate(a, 1), 0);
}

/// The lowest place of `size` at a multiple of `align`, found by looking at every range.
std::optional<uint64_t> take_slowly(std::map<uint64_t, uint64_t>& free, uint64_t size, uint64_t align) {
  for (const auto& [begin, length] : free) {
    const uint64_t at = (begin + align - 1) / align * align;
    if (at + size > begin + length) continue;
    const uint64_t first = begin, end = begin + length;
    free.erase(first);
    if (at > first) free[first] = at - first;
    if (end > at + size) free[at + size] = end - at - size;
    return at;
  }
  return std::nullopt;
}

void give_back_slowly(std::map<uint64_t, uint64_t>& free, uint64_t begin, uint64_t size) {
  free[begin] = size;
  for (auto it = free.begin(); it != free.end();) {
    const auto next = std::next(it);
    if (next == free.end() || it->first + it->second != next->first) {
      it = next;
      continue;
    }
    it->second += next->second;
    free.erase(next);
  }
}

TEST(FreeRanges, LowestPlaceAsAPlainSearchFindsIt) {
  constexpr uint64_t kSpan = 4 << 20, kFirst = 3 << 20;
  FreeRanges free;
  free.add(kFirst, kSpan);
  std::map<uint64_t, uint64_t> slow{{kFirst, kSpan}};
  std::mt19937 random(7);
  std::vector<std::pair<uint64_t, uint64_t>> live;
  for (int step = 0; step < 20000; ++step) {
    if (live.empty() || random() % 100 < 53) {
      const uint64_t size = 512 * (1 + random() % 60);
      const uint64_t align = std::array{512, 1024, 4096, 16384}[random() % 4];
      const auto got = free.take(size, align);
      ASSERT_EQ(got, take_slowly(slow, size, align)) << step;
      if (got) live.emplace_back(*got, size);
    } else {
      std::swap(live[random() % live.size()], live.back());
      free.add(live.back().first, live.back().second);
      give_back_slowly(slow, live.back().first, live.back().second);
      live.pop_back();
    }
    ASSERT_EQ(free.count(), slow.size()) << step;
  }
  for (const auto& [begin, size] : live) free.add(begin, size);
  EXPECT_EQ(free.count(), 1u);
  EXPECT_EQ(free.take(kSpan, 512), kFirst);
}

TEST(FreeRanges, ANamedPlace) {
  FreeRanges free;
  free.add(0, 8192);
  EXPECT_TRUE(free.take_at(2048, 1024));
  EXPECT_FALSE(free.take_at(2048, 512));
  EXPECT_FALSE(free.take_at(1536, 1024)) << "its second half is taken";
  EXPECT_FALSE(free.take_at(7680, 1024)) << "past the end";
  EXPECT_TRUE(free.take_at(3072, 5120));
  EXPECT_TRUE(free.take_at(0, 2048));
  EXPECT_EQ(free.count(), 0u);
  EXPECT_FALSE(free.take_at(0, 512));
}

// Reserved addresses get no allocation, and hold what is shown there until it is hidden.
TEST(GlobalMemory, AddressesAndMemoryApart) {
  constexpr uint64_t kMiB = 1 << 20;
  GlobalMemory m(64 * kMiB);
  const auto range = m.reserve(8 * kMiB, 2 * kMiB, 0);
  ASSERT_NE(range.address, 0u);
  EXPECT_EQ(range.address % (2 * kMiB), 0u);
  EXPECT_EQ(m.find(range.address), nullptr);
  EXPECT_EQ(m.reserve(kMiB, 512, range.address + 8 * kMiB).address, range.address + 8 * kMiB);
  EXPECT_TRUE(m.take(60 * kMiB));
  EXPECT_FALSE(m.take(5 * kMiB)) << "addresses are no memory, and memory is there once";
  EXPECT_EQ(m.allocate(5 * kMiB, 512, MemoryKind::device), 0u);
  m.give_back(60 * kMiB);
  m.show({range.address + kMiB, range.host + kMiB}, kMiB);
  EXPECT_EQ(m.translate(range.address + kMiB + 8, 8), range.host + kMiB + 8);
  EXPECT_EQ(m.translate(range.address + kMiB - 8, 16), nullptr);
  EXPECT_FALSE(m.release(range.address + kMiB)) << "it is no allocation that can be freed";
  m.clear();
  EXPECT_NE(m.find(range.address + kMiB), nullptr) << "it stays";
  m.hide(range.address + kMiB);
  EXPECT_EQ(m.find(range.address + kMiB), nullptr);
  m.unreserve(range, 8 * kMiB);
  EXPECT_EQ(m.reserve(8 * kMiB, 2 * kMiB, range.address).address, range.address);
}

// 200,000 holes that are all too small: a walk over them for each new allocation would take minutes.
TEST(FreeRanges, ManyHolesCostLittle) {
  constexpr uint64_t kHoles = 200000;
  FreeRanges free;
  free.add(0, kHoles * 8192);
  for (uint64_t i = 0; i < kHoles; ++i) ASSERT_EQ(free.take(1024, 512), i * 1024);
  for (uint64_t i = 0; i < kHoles; i += 2) free.add(i * 1024, 1024);
  for (uint64_t i = 0; i < kHoles / 2; ++i) ASSERT_EQ(free.take(2048, 512), kHoles * 1024 + i * 2048);
  EXPECT_EQ(free.take(1024, 512), 0u);
  EXPECT_EQ(free.take(1024, 4096), 4096u);
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
