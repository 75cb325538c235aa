// Device memory of a machine: allocations, copies and fills.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>

#include "common/tinygpu/machine/memory/memory.h"

namespace tinygpu {
class Gpu;
}

namespace tinygpu::api {

/// A copy or a fill of bytes that are not all inside one allocation. The sentence says what is near.
class MemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Memory {
 public:
  /// `check`: fresh device memory is marked, so that reads of what was never written are found; see on_unmarked.
  Memory(Gpu& gpu, bool check) : gpu_(gpu), check_(check) {}

  /// Zero-filled, unless it is marked. 0 if there is not so much.
  uint64_t allocate(uint64_t bytes, MemoryKind kind = MemoryKind::device, std::string name = {});
  /// False if it is not the start of a live allocation.
  bool release(uint64_t address);
  /// Everything is gone, registered host memory and what kernels have allocated too. What is mapped stays.
  void clear();
  /// Whoever allocates for the program gives blocks of so many bytes, a power of two: what is accessed behind an
  /// allocation's end, but in its last block, is told and goes on.
  void set_blocks(uint64_t bytes);
  /// Marks are bytes of the host, so that only so many are marked at a time: called for an allocation that is not.
  std::function<void(uint64_t bytes)> on_unmarked;
  /// With `check`: device allocations that are live, and their bytes.
  struct Live {
    uint64_t allocations = 0, bytes = 0;
  };
  Live checked() const;

  void read(uint64_t address, std::span<uint8_t> to) const;
  void write(uint64_t address, std::span<const uint8_t> from);
  void fill(uint64_t address, uint8_t value, uint64_t bytes);

  /// The allocation that holds `address`, or nullptr.
  const Allocation* find(uint64_t address) const;
  /// Where its bytes can be read and written, or nullptr if any is outside one allocation. A caller that writes them
  /// says so by written().
  uint8_t* at(uint64_t address, uint64_t bytes) const;
  void written(uint64_t address, uint64_t bytes);
  /// "12 bytes past the end of a 4096-byte allocation at 0x…".
  std::string describe(uint64_t address) const;
  /// Host memory at its own address, for kernels. False if any of it is known already.
  bool register_host(void* p, uint64_t bytes);
  bool unregister_host(void* p);
  /// True if device addresses come from where `address` lies, allocated or not.
  bool reserved(uint64_t address) const;
  // Addresses and memory apart: machine/memory/memory.h.
  using Reserved = GlobalMemory::Reserved;
  Reserved reserve(uint64_t bytes, uint64_t align, uint64_t wanted);
  void unreserve(const Reserved& range, uint64_t bytes);
  bool take(uint64_t bytes);
  void give_back(uint64_t bytes);
  void show(const Reserved& range, uint64_t bytes);
  void hide(uint64_t address);
  uint64_t capacity() const;
  uint64_t used() const;
  /// No line of it is in L2 any more.
  void flush_l2();

 private:
  struct Checked {
    uint64_t bytes = 0;
    bool marked = false;
  };
  bool may_mark(uint64_t bytes) const;
  uint8_t* must(uint64_t address, uint64_t bytes, const char* what) const;

  Gpu& gpu_;
  const bool check_;
  std::map<uint64_t, Checked> checked_;  // by address
  uint64_t marked_bytes_ = 0;
};

}  // namespace tinygpu::api
