// Function attributes, occupancy, and the runtime's library management.
#include <cstring>

#include "common/tinygpu/cuda/function.h"
#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/library.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;

namespace {

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
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return on_kernel(function, [&](State& s, Kernel& k) { return set_function_attribute(s, k, attribute, value); });
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  if (device != 0) return finish(CUDA_ERROR_INVALID_DEVICE);
  return cudaFuncSetAttribute(kernel, attribute, value);
}
cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
  return on_kernel(function, [&](State&, Kernel& k) {
    if (config > cudaFuncCachePreferEqual) return CUDA_ERROR_INVALID_VALUE;
    k.cache_config = config;
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
  return on_kernel(function, [](State&, Kernel&) { return CUDA_SUCCESS; });
}
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return on_kernel(function, [&](State&, Kernel& k) { return answer(name, k.name.c_str()); });
}
cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  return on_kernel(function, [&](State&, Kernel& k) { return parameter_of(k, index, offset, size); });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t shared, unsigned) {
  return on_kernel(function, [&](State& s, Kernel& k) {
    return blocks ? max_active_blocks(s, k, threads, shared, *blocks) : CUDA_ERROR_INVALID_VALUE;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int threads) {
  return on_kernel(function, [&](State& s, Kernel& k) {
    return bytes ? available_dynamic_shared(s, k, blocks, threads, *bytes) : CUDA_ERROR_INVALID_VALUE;
  });
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function, const cudaLaunchConfig_t* c) {
  return on_kernel(function, [&](State& s, Kernel& k) {
    if (!size || !c) return CUDA_ERROR_INVALID_VALUE;
    return potential_cluster_size(s, k, tinygpu::api::volume(c->blockDim.x, c->blockDim.y, c->blockDim.z),
                                  c->dynamicSmemBytes, *size);
  });
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const cudaLaunchConfig_t* c) {
  return on_kernel(function, [&](State& s, Kernel& k) {
    if (!clusters || !c) return CUDA_ERROR_INVALID_VALUE;
    return count_active_clusters(s, k, tinygpu::api::volume(c->blockDim.x, c->blockDim.y, c->blockDim.z),
                                 c->dynamicSmemBytes, reinterpret_cast<const CUlaunchAttribute*>(c->attrs), c->numAttrs,
                                 *clusters);
  });
}

// ---- Libraries
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* options, void** values,
                                unsigned count, cudaLibraryOption*, void**, unsigned) {
  static_assert(int(cudaJitErrorLogBuffer) == int(CU_JIT_ERROR_LOG_BUFFER));
  return api([&](State& s) {
    if (!library) return CUDA_ERROR_INVALID_VALUE;
    Module* m = nullptr;
    const CUresult e = load_image(s, code, {reinterpret_cast<CUjit_option*>(options), values, count}, m);
    if (e == CUDA_SUCCESS) *library = reinterpret_cast<cudaLibrary_t>(m);
    return e;
  });
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, cudaJitOption* options, void** values,
                                    unsigned count, cudaLibraryOption*, void**, unsigned) {
  return api([&](State& s) {
    if (!library) return CUDA_ERROR_INVALID_VALUE;
    Module* m = nullptr;
    const CUresult e = load_file(s, file, {reinterpret_cast<CUjit_option*>(options), values, count}, m);
    if (e == CUDA_SUCCESS) *library = reinterpret_cast<cudaLibrary_t>(m);
    return e;
  });
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return api([&](State& s) {
    return s.modules.remove(reinterpret_cast<Module*>(library)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return api([&](State& s) {
    if (!kernel) return CUDA_ERROR_INVALID_VALUE;
    Kernel* k = nullptr;
    const CUresult e = find_in_module(s, library, name, k);
    if (e == CUDA_SUCCESS) *kernel = reinterpret_cast<cudaKernel_t>(k);
    return e;
  });
}
cudaError_t cudaLibraryGetGlobal(void** address, size_t* size, cudaLibrary_t library, const char* name) {
  return api([&](State& s) { return find_global(s, library, name, address, size); });
}
cudaError_t cudaLibraryGetManaged(void** address, size_t* size, cudaLibrary_t library, const char* name) {
  return cudaLibraryGetGlobal(address, size, library, name);
}
cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return api([&](State& s) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    Module* m = nullptr;
    std::vector<std::string> names;
    const CUresult e = entries_of(s, library, m, names);
    if (e == CUDA_SUCCESS) *count = unsigned(names.size());
    return e;
  });
}
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
  return api([&](State& s) {
    if (!kernels) return CUDA_ERROR_INVALID_VALUE;
    Module* m = nullptr;
    std::vector<std::string> names;
    if (CUresult e = entries_of(s, library, m, names); e != CUDA_SUCCESS) return e;
    for (unsigned i = 0; i < count && i < names.size(); ++i)
      kernels[i] = reinterpret_cast<cudaKernel_t>(m->kernel_handle(names[i]));
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
