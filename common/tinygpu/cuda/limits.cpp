#include "common/tinygpu/cuda/limits.h"

#include <algorithm>

namespace tinygpu::cuda {
namespace {

constexpr size_t kFifo = 1 << 20, kLeastFifo = 512 << 10;

}  // namespace

void Limits::reset() {
  values_ = {{CU_LIMIT_STACK_SIZE, 1024},
             {CU_LIMIT_PRINTF_FIFO_SIZE, kFifo},
             {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
             {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
             {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
             {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128},
             {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
  machine_.set_heap(values_.at(CU_LIMIT_MALLOC_HEAP_SIZE));
  machine_.set_stack(values_.at(CU_LIMIT_STACK_SIZE));
}

CUresult Limits::get(int which, size_t& value) const {
  const auto it = values_.find(which);
  if (it == values_.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  value = it->second;
  return CUDA_SUCCESS;
}

CUresult Limits::set(int which, size_t value) {
  const auto it = values_.find(which);
  if (it == values_.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  if (which == CU_LIMIT_PRINTF_FIFO_SIZE) value = std::max(value, kLeastFifo);  // as the H100's driver does
  it->second = value;
  if (which == CU_LIMIT_MALLOC_HEAP_SIZE) machine_.set_heap(value);
  if (which == CU_LIMIT_STACK_SIZE) machine_.set_stack(value);
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
