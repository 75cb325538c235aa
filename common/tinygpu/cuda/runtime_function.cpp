// Kernels and libraries of the runtime.
#include <cstring>

#include "common/tinygpu/cuda/function.h"
#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/library.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;

namespace {

using Function = const void*;
using FunctionAttribute = cudaFuncAttribute;
using CacheConfig = cudaFuncCache;
using SharedConfig = cudaSharedMemConfig;
using LaunchShape = cudaLaunchConfig_t;
using JitOption = cudaJitOption;
using LibraryOption = cudaLibraryOption;
using Pointer = void*;
static_assert(int(cudaJitErrorLogBuffer) == int(CU_JIT_ERROR_LOG_BUFFER));

uint64_t threads_of(const cudaLaunchConfig_t& c) {
  return tinygpu::api::volume(c.blockDim.x, c.blockDim.y, c.blockDim.z);
}
size_t shared_of(const cudaLaunchConfig_t& c) { return c.dynamicSmemBytes; }

template <class F>
cudaError_t on_kernel(const void* function, F&& f) {
  return api<Pending::stays>([&](State& s) {
    Kernel* k = nullptr;
    if (CUresult e = find_kernel(function, k); e != CUDA_SUCCESS) return e;
    return CUresult(f(s, *k));
  });
}

}  // namespace

extern "C" {

#include "common/tinygpu/cuda/kernel_calls.inc"

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  return on_kernel(function, [&](State& s, Kernel& k) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult e = k.module->resolve(k); e != CUDA_SUCCESS) return e;
    auto get = [&](int attribute) {
      int value = 0;
      function_attribute(s, k, attribute, value);
      return value;
    };
    std::memset(out, 0, sizeof *out);
    out->sharedSizeBytes = size_t(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    out->constSizeBytes = size_t(get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
    out->localSizeBytes = size_t(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
    out->maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    out->numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
    out->ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
    out->binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    out->maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    out->preferredShmemCarveout = get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    out->clusterDimMustBeSet = get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
    out->requiredClusterWidth = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
    out->requiredClusterHeight = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
    out->requiredClusterDepth = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    out->clusterSchedulingPolicyPreference = get(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    out->nonPortableClusterSizeAllowed = get(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  if (device != 0) return finish(CUDA_ERROR_INVALID_DEVICE);
  return cudaFuncSetAttribute(kernel, attribute, value);
}

}  // extern "C"
