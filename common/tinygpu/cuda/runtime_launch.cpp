// Kernel launches: the <<<>>> stubs, cudaLaunchKernel and its extensible and cooperative forms.
#include <vector>

#include "common/tinygpu/base/of_thread.h"
#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/launch_attributes.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;

namespace {

static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));

struct CallConfiguration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
std::vector<CallConfiguration>& configurations() {
  static const tinygpu::OfThread<std::vector<CallConfiguration>> own;
  return own.get();
}

CUresult start(State& s, const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream,
               bool cooperative, const cudaLaunchAttribute* attributes = nullptr, unsigned count = 0) {
  Stream* on = s.streams.find(stream);
  if (!on) return CUDA_ERROR_INVALID_HANDLE;
  LaunchRequest r;
  if (CUresult e = find_kernel(function, r.kernel); e != CUDA_SUCCESS) return e;
  r.grid = {grid.x, grid.y, grid.z};
  r.block = {block.x, block.y, block.z};
  r.dynamic_shared = shared;
  r.cooperative = cooperative;
  r.args = args;
  return launch_with(s, *on, reinterpret_cast<const CUlaunchAttribute*>(attributes), count, r);
}

}  // namespace

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (!grid || !block || !shared || !stream) return cudaErrorInvalidValue;
  if (configurations().empty()) return cudaErrorMissingConfiguration;
  const CallConfiguration c = configurations().back();
  configurations().pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream) {
  return api<Pending::stays>([&](State& s) { return start(s, function, grid, block, args, shared, stream, false); });
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                                        cudaStream_t stream) {
  return api<Pending::stays>([&](State& s) { return start(s, function, grid, block, args, shared, stream, true); });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* function, void** args) {
  return api<Pending::stays>([&](State& s) {
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    return start(s, function, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream, false, c->attrs,
                 c->numAttrs);
  });
}

}  // extern "C"
