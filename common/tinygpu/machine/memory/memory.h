// Device memory: one address range that the host cannot touch, backed by pages at another address.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "common/tinygpu/machine/memory/address_space.h"
#include "common/tinygpu/machine/memory/free_ranges.h"

namespace tinygpu {

enum class MemoryKind : uint8_t { device, managed, pinned, registered, constant, mapped };

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  uint8_t* host = nullptr;  // where tinygpu reads and writes it
  MemoryKind kind = MemoryKind::device;
  std::string name;      // variable name, or empty
  uint64_t claimed = 0;  // bytes of address range from `base` on that it takes, the gap behind it included
};

/// The host reaches it without the CUDA API, at any time.
inline bool host_writes(const Allocation& a) {
  return a.kind == MemoryKind::managed || a.kind == MemoryKind::pinned || a.kind == MemoryKind::registered;
}

/// Global memory of one GPU. Managed and pinned allocations are readable by both sides.
/// Thread safe: allocate/release take a lock; find() is wait-free between them (allocations change only between
/// kernels, or on the host side while a kernel runs, which hardware allows too).
class GlobalMemory {
 public:
  explicit GlobalMemory(uint64_t capacity);
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  /// Zero-filled pages (hardware gives garbage; fill_poison makes that visible). 0 if capacity is exhausted.
  uint64_t allocate(uint64_t size, uint64_t align, MemoryKind kind, std::string name = {});
  /// False if `base` is not the start of a live allocation.
  bool release(uint64_t base);
  /// Makes host memory visible to the device at its own address (cudaHostRegister). False if any of it is known
  /// already, or the range passes the last address.
  bool register_host(void* p, uint64_t size);
  bool unregister_host(void* p);
  /// Releases every allocation and forgets all registered memory. What is mapped stays.
  void clear();

  // ---- Addresses and memory apart (cuMemAddressReserve, cuMemCreate, cuMemMap). Who maps memory sees to its bytes.
  struct Reserved {
    uint64_t address = 0;
    uint8_t* host = nullptr;  // the bytes behind the addresses
  };
  /// Addresses that no allocation gets: at `wanted` if those are free. Address 0 if there are not so many.
  Reserved reserve(uint64_t size, uint64_t align, uint64_t wanted);
  void unreserve(const Reserved& range, uint64_t size);
  /// Memory without addresses: false if there is not so much.
  bool take(uint64_t size);
  void give_back(uint64_t size);
  /// Kernels and copies reach reserved addresses from here on, as one allocation of the kind `mapped`; and no longer.
  void show(const Reserved& range, uint64_t size);
  void hide(uint64_t address);

  /// The allocation that holds `address`, or nullptr.
  const Allocation* find(uint64_t address) const;
  /// Host pointer for [address, address+size), or nullptr if any byte is outside one allocation.
  uint8_t* translate(uint64_t address, uint64_t size) const;
  /// The host reaches an allocation in [begin, end) without the CUDA API.
  bool host_reaches(uint64_t begin, uint64_t end) const;
  /// The allocation nearest below/above, for messages: "12 bytes past the end of a 4096-byte allocation at 0x…".
  std::string describe(uint64_t address) const;

  /// Changes whenever an allocation is made or released: validates cached results of find().
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  /// True if `address` lies in the range that device addresses come from, allocated or not.
  bool reserved(uint64_t address) const { return offset_of(address) < span_; }
  /// That range: its first address and its bytes.
  uint64_t first_address() const { return space_.first(); }
  uint64_t span() const { return span_; }
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }

 private:
  uint64_t capacity_, used_ = 0;
  std::atomic<uint64_t> epoch_{1};
  uint64_t span_;
  AddressSpace space_;
  std::map<uint64_t, Allocation> allocations_;
  FreeRanges free_;
  uint64_t next_reserved_;  // addresses from here on have never been reserved
  void release_locked(const Allocation& a);
  uint64_t offset_of(uint64_t address) const { return address - space_.first(); }
  mutable std::shared_mutex mutex_;
};

}  // namespace tinygpu
