// Device addresses where a process has no pages of its own: numbers, and bytes from the heap behind each allocation.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tinygpu {

class AddressSpace {
 public:
  explicit AddressSpace(uint64_t) {}
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// As Linux hands addresses out natively: 47 bits, and far from those of shared and local memory.
  uint64_t first() const { return 0x7e0000000000; }
  uint8_t* provide(uint64_t address, uint64_t size, bool) {
    if (size > kMost - provided_) return nullptr;
    auto* const bytes = static_cast<uint8_t*>(std::calloc(1, size_t(size)));
    if (!bytes) return nullptr;
    provided_ += size;
    owned_[address] = std::unique_ptr<uint8_t, Free>(bytes);
    return bytes;
  }
  void withdraw(uint64_t address, uint64_t size, uint8_t*, bool) {
    owned_.erase(address);
    provided_ -= size;
  }

 private:
  /// Bytes of all allocations: a page must not fill the memory of who reads it.
  static constexpr uint64_t kMost = uint64_t(512) << 20;
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  uint64_t provided_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<uint8_t, Free>> owned_;
};

class ZeroWords {
 public:
  explicit ZeroWords(uint64_t count) : blocks_(size_t((count + kBlock - 1) / kBlock)) {}
  ZeroWords(const ZeroWords&) = delete;
  ZeroWords& operator=(const ZeroWords&) = delete;
  uint64_t& operator[](uint64_t i) {
    auto& block = blocks_[size_t(i / kBlock)];
    if (!block) block = std::make_unique<uint64_t[]>(kBlock);
    return block[i % kBlock];
  }
  uint64_t operator[](uint64_t i) const {
    const auto& block = blocks_[size_t(i / kBlock)];
    return block ? block[i % kBlock] : 0;
  }

 private:
  static constexpr size_t kBlock = 1 << 13;
  std::vector<std::unique_ptr<uint64_t[]>> blocks_;
};

}  // namespace tinygpu
