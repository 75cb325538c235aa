// Allocators that give whole blocks: what lies between an allocation's end and its block's end is nobody else's. A
// property of the program: torch's allocator gives blocks of 512 bytes.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "common/tinygpu/machine/memory/memory.h"

namespace tinygpu {

class AllocationBlocks {
 public:
  /// A power of two. 1: an allocation is what the program asked for.
  void set_bytes(uint64_t bytes) { bytes_ = bytes; }
  uint64_t bytes() const { return bytes_; }
  /// Memory for bytes that pass the end of an allocation of the device, or lie behind that of lent host memory (which
  /// torch has aligned to 64), but are in its last block; nullptr if they lie elsewhere. What is stored there is kept,
  /// and the host's own memory is left alone. Thread safe.
  uint8_t* behind(const GlobalMemory& memory, uint64_t address, uint64_t size);

 private:
  std::atomic<uint64_t> bytes_{1};
  std::mutex mutex_;
  std::map<uint64_t, std::vector<uint8_t>> kept_;  // by the address of the allocation's end
};

}  // namespace tinygpu
