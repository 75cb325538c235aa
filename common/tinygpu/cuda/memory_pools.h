// Memory pools: attributes only, all pools take from the machine's memory.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>

#include "common/tinygpu/api/memory.h"

namespace tinygpu::cuda {

class MemoryPools {
 public:
  explicit MemoryPools(const api::Memory& memory) : memory_(memory) {}
  /// Of the device.
  void* standard();
  void* create();
  bool destroy(const void* pool);
  bool has(const void* pool) const { return all_.count(pool) != 0; }
  CUresult set(const void* pool, int attribute, const void* value);
  CUresult get(const void* pool, int attribute, void* value);
  void reset();

 private:
  using Attributes = std::map<int, uint64_t>;
  const api::Memory& memory_;
  std::map<const void*, std::unique_ptr<Attributes>> all_;
  void* standard_ = nullptr;
};

}  // namespace tinygpu::cuda
