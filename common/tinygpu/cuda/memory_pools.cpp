#include "common/tinygpu/cuda/memory_pools.h"

#include <algorithm>

namespace tinygpu::cuda {

void* MemoryPools::create() {
  auto pool = std::make_unique<Pool>();
  void* handle = pool.get();
  all_[handle] = std::move(pool);
  return handle;
}

void* MemoryPools::standard() {
  if (!standard_) standard_ = create();
  return standard_;
}

bool MemoryPools::destroy(const void* pool) { return pool != standard_ && all_.erase(pool) != 0; }

void MemoryPools::took(const void* pool, uint64_t address, uint64_t bytes) {
  Pool& p = *all_.at(pool);
  p.used += bytes;
  p.high = std::max(p.high, p.used);
  taken_[address] = {pool, bytes};
}

void MemoryPools::gave_back(uint64_t address) {
  const auto it = taken_.find(address);
  if (it == taken_.end()) return;
  if (const auto pool = all_.find(it->second.pool); pool != all_.end()) pool->second->used -= it->second.bytes;
  taken_.erase(it);
}

CUresult MemoryPools::set(const void* pool, int attribute, const void* value) {
  const auto it = all_.find(pool);
  if (it == all_.end() || !value) return CUDA_ERROR_INVALID_VALUE;
  Pool& p = *it->second;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      p.attributes[attribute] = uint64_t(*static_cast<const int*>(value));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      p.attributes[attribute] = *static_cast<const uint64_t*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:  // to 0 only, as cuda.h says
      if (*static_cast<const uint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      p.high = p.used;
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemoryPools::get(const void* pool, int attribute, void* value) {
  const auto it = all_.find(pool);
  if (it == all_.end() || !value) return CUDA_ERROR_INVALID_VALUE;
  const Pool& p = *it->second;
  const auto set = p.attributes.find(attribute);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) = set == p.attributes.end() ? 1 : int(set->second);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<uint64_t*>(value) = set == p.attributes.end() ? 0 : set->second;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:  // nothing is kept beyond what is in use
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *static_cast<uint64_t*>(value) = p.used; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *static_cast<uint64_t*>(value) = p.high; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

void MemoryPools::reset() {
  all_.clear();
  taken_.clear();
  standard_ = nullptr;
}

}  // namespace tinygpu::cuda
