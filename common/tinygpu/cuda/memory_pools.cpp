#include "common/tinygpu/cuda/memory_pools.h"

namespace tinygpu::cuda {

void* MemoryPools::create() {
  auto pool = std::make_unique<Attributes>();
  void* handle = pool.get();
  all_[handle] = std::move(pool);
  return handle;
}

void* MemoryPools::standard() {
  if (!standard_) standard_ = create();
  return standard_;
}

bool MemoryPools::destroy(const void* pool) { return pool != standard_ && all_.erase(pool) != 0; }

CUresult MemoryPools::set(const void* pool, int attribute, const void* value) {
  auto it = all_.find(pool);
  if (it == all_.end() || !value) return CUDA_ERROR_INVALID_VALUE;
  if (attribute < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES || attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    return CUDA_ERROR_INVALID_VALUE;
  const bool is_int = attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
  (*it->second)[attribute] = is_int ? uint64_t(*static_cast<const int*>(value)) : *static_cast<const uint64_t*>(value);
  return CUDA_SUCCESS;
}

CUresult MemoryPools::get(const void* pool, int attribute, void* value) {
  auto it = all_.find(pool);
  if (it == all_.end() || !value) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
      auto set = it->second->find(attribute);
      *static_cast<int*>(value) = set == it->second->end() ? 1 : int(set->second);
      return CUDA_SUCCESS;
    }
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<uint64_t*>(value) = (*it->second)[attribute];
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *static_cast<uint64_t*>(value) = memory_.used(); return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

void MemoryPools::reset() {
  all_.clear();
  standard_ = nullptr;
}

}  // namespace tinygpu::cuda
