// What observers are told that a tensor copy reads and writes is what it reads and writes.
#include <set>

#include "tests/bulk_tensor/tensor_fixture.h"

namespace tinygpu::test {
namespace {

struct Bytes final : Observer {
  Bytes() : Observer(operations | shared_accesses | global_accesses) {}
  void on_access(const MemoryAccess& a) override {
    const bool shared = a.space == ptx::Space::shared;
    if (a.proxy == Proxy::generic) {
      // The threads fill the buffer first.
      if (shared && a.kind == AccessKind::write)
        a.each([&](uint64_t at, uint64_t, int) { buffer = std::min(buffer, at); });
      return;
    }
    if (a.proxy == Proxy::tensormap) return;
    EXPECT_NE(a.who().operation, 0u);
    auto& set = shared ? (a.kind == AccessKind::read ? shared_read : shared_written)
                       : (a.kind == AccessKind::read ? global_read : global_written);
    a.each([&](uint64_t at, uint64_t bytes, int lane) {
      EXPECT_EQ(lane, -1);
      for (uint64_t i = 0; i < bytes; ++i) set.insert(at + i);
    });
  }
  uint64_t buffer = ~0ull;
  std::set<uint64_t> shared_read, shared_written, global_read, global_written;
};

class ToldLoad : public TensorCopy {
 protected:
  ToldLoad() : TensorCopy(load_kernels()) {}
};

TEST_F(ToldLoad, NamesTheBytesThatLandAndThoseTheyComeFrom) {
  for (int n = 0; n < 120 && !HasFailure(); ++n) {
    const int rank = pick(1, 4);
    Case c = random_case(rank, pick(0, 10));
    for (int i = 0; i < rank; ++i) c.at[i] = pick(-4, 8);
    c.at[0] = pick(-3, 6) * 16 / unit_bytes(c.map);
    Bytes told;
    gpu_.gpu.options.observers = {&told};
    const Expected got = loaded("tile" + std::to_string(rank), c);
    EXPECT_EQ(told.shared_written.size(), got.bytes) << "case " << n;
    EXPECT_TRUE(told.shared_read.empty());
    EXPECT_TRUE(told.global_written.empty());
    for (size_t i = 0; i < got.shared.size(); ++i)
      if (got.shared[i] != 0xee) {
        ASSERT_TRUE(told.shared_written.count(told.buffer + i)) << "case " << n << ", byte " << i;
      }
    // Bytes of memory that the load does not name can be anything.
    for (size_t i = 0; i < memory_.size(); ++i)
      if (!told.global_read.count(address_ + i)) memory_[i] ^= 0xff;
    gpu_.gpu.options.observers = {};
    std::memcpy(gpu_.gpu.memory.translate(address_, memory_.size()), memory_.data(), memory_.size());
    compare(got.shared, loaded("tile" + std::to_string(rank), c).shared, "case " + std::to_string(n));
  }
}

class ToldStore : public TensorCopy {
 protected:
  ToldStore() : TensorCopy(store_kernels()) {}
};

TEST_F(ToldStore, NamesTheBytesThatChangeAndThoseTheyComeFrom) {
  for (int n = 0; n < 60 && !HasFailure(); ++n) {
    const int rank = pick(1, 4);
    Case c = random_case(rank, pick(0, 10));
    for (int i = 1; i < rank; ++i) c.at[i] = pick(0, 8);
    c.at[0] = pick(0, 6) * 16 / unit_bytes(c.map);
    Bytes told;
    gpu_.gpu.options.observers = {&told};
    compare_store("store" + std::to_string(rank), c, "case " + std::to_string(n));
    EXPECT_TRUE(told.shared_written.empty());
    EXPECT_TRUE(told.global_read.empty());
    const auto after = gpu_.download<uint8_t>(address_, memory_.size());
    size_t changed = 0;
    for (size_t i = 0; i < memory_.size(); ++i)
      if (after[i] != memory_[i]) {
        ASSERT_TRUE(told.global_written.count(address_ + i)) << "case " << n << ", byte " << i;
        ++changed;
      }
    // One random byte in 256 is as it was.
    EXPECT_GE(double(changed), 0.95 * double(told.global_written.size()) - 8) << "case " << n;
    EXPECT_GE(told.shared_read.size(), told.global_written.size()) << "case " << n;
  }
}

}  // namespace
}  // namespace tinygpu::test
