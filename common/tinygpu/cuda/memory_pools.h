// Memory pools: attributes, and how much each has given. All take from the machine's memory.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>

namespace tinygpu::cuda {

class MemoryPools {
 public:
  /// Of the device.
  void* standard();
  void* create();
  bool destroy(const void* pool);
  bool has(const void* pool) const { return all_.count(pool) != 0; }
  /// An allocation came from the pool; memory was freed, wherever it came from.
  void took(const void* pool, uint64_t address, uint64_t bytes);
  void gave_back(uint64_t address);
  CUresult set(const void* pool, int attribute, const void* value);
  CUresult get(const void* pool, int attribute, void* value);
  void reset();

 private:
  struct Pool {
    std::map<int, uint64_t> attributes;
    uint64_t used = 0, high = 0;  // bytes now, and at most since the program set that to 0
  };
  struct Taken {
    const void* pool;
    uint64_t bytes;
  };
  std::map<const void*, std::unique_ptr<Pool>> all_;
  std::map<uint64_t, Taken> taken_;  // by address
  void* standard_ = nullptr;
};

}  // namespace tinygpu::cuda
