// Modules, libraries, functions and kernels of the driver API.
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/function.h"
#include "common/tinygpu/cuda/library.h"

using namespace tinygpu::cuda;

namespace {

using Function = CUfunction;
using FunctionAttribute = CUfunction_attribute;
using CacheConfig = CUfunc_cache;
using SharedConfig = CUsharedconfig;
using LaunchShape = CUlaunchConfig;
using JitOption = CUjit_option;
using LibraryOption = CUlibraryOption;
using Pointer = CUdeviceptr;

uint64_t threads_of(const CUlaunchConfig& c) { return tinygpu::api::volume(c.blockDimX, c.blockDimY, c.blockDimZ); }
size_t shared_of(const CUlaunchConfig& c) { return c.sharedMemBytes; }

CUresult load_module(CUmodule* m, const void* image, const JitOptions& jit) {
  return in_context([&](State& s) { return load_image(s, image, jit, raw(m), true); });
}

}  // namespace

extern "C" {

#include "common/tinygpu/cuda/kernel_calls.inc"

// ---- Modules
CUresult cuModuleLoad(CUmodule* m, const char* path) {
  return in_context([&](State& s) { return load_file(s, path, {}, raw(m), true); });
}
CUresult cuModuleLoadData(CUmodule* m, const void* image) { return load_module(m, image, {}); }
CUresult cuModuleLoadDataEx(CUmodule* m, const void* image, unsigned count, CUjit_option* options, void** values) {
  return load_module(m, image, {options, values, count});
}
CUresult cuModuleLoadFatBinary(CUmodule* m, const void* image) { return load_module(m, image, {}); }
CUresult cuModuleUnload(CUmodule m) { return cuLibraryUnload(CUlibrary(m)); }
CUresult cuModuleGetFunction(CUfunction* f, CUmodule m, const char* name) {
  return cuLibraryGetKernel(reinterpret_cast<CUkernel*>(f), CUlibrary(m), name);
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule m) { return cuLibraryGetKernelCount(count, CUlibrary(m)); }
CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule m) {
  return cuLibraryEnumerateKernels(reinterpret_cast<CUkernel*>(out), count, CUlibrary(m));
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* p, size_t* size, CUmodule m, const char* name) {
  return cuLibraryGetGlobal(p, size, CUlibrary(m), name);
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (!mode) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* m, CUlibrary l) {
  return in_context([&](State& s) {
    if (!m) return CUDA_ERROR_INVALID_VALUE;
    if (!s.modules.has(reinterpret_cast<Module*>(l))) return CUDA_ERROR_INVALID_HANDLE;
    *m = reinterpret_cast<CUmodule>(l);
    return CUDA_SUCCESS;
  });
}
// ---- Kernels: those of modules and of libraries are the same
CUresult cuKernelGetFunction(CUfunction* f, CUkernel k) {
  return on_kernel(k, [&](State&, Kernel&) { return answer(f, CUfunction(k)); });
}
CUresult cuKernelGetLibrary(CUlibrary* l, CUkernel k) {
  return on_kernel(k, [&](State&, Kernel& kernel) { return answer(l, reinterpret_cast<CUlibrary>(kernel.module)); });
}
CUresult cuFuncGetModule(CUmodule* m, CUfunction f) {
  return on_kernel(f, [&](State&, Kernel& kernel) { return answer(m, reinterpret_cast<CUmodule>(kernel.module)); });
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction f) {
  return on_kernel(f, [&](State& s, Kernel& k) {
    return value ? function_attribute(s, k, attribute, *value) : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel k, CUdevice) {
  return cuFuncGetAttribute(value, attribute, CUfunction(k));
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel k, CUdevice) {
  return cuFuncSetAttribute(CUfunction(k), attribute, value);
}
CUresult cuKernelSetCacheConfig(CUkernel k, CUfunc_cache config, CUdevice) {
  return cuFuncSetCacheConfig(CUfunction(k), config);
}
CUresult cuKernelGetName(const char** name, CUkernel k) { return cuFuncGetName(name, CUfunction(k)); }
CUresult cuKernelGetParamInfo(CUkernel k, size_t index, size_t* offset, size_t* size) {
  return cuFuncGetParamInfo(CUfunction(k), index, offset, size);
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction f) {
  return on_kernel(f, [&](State&, Kernel& k) {
    return answer(state, k.loaded ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED);
  });
}
CUresult cuFuncLoad(CUfunction f) {
  return on_kernel(f, [](State&, Kernel& k) { return k.module->resolve(k); });
}

// ---- Block sizes
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction f, CUoccupancyB2DSize dynamic_of,
                                                   size_t shared, int limit, unsigned) {
  return on_kernel(f, [&](State& s, Kernel& k) {
    if (!grid || !block) return CUDA_ERROR_INVALID_VALUE;
    return potential_block_size(s, k, dynamic_of, shared, limit, *grid, *block);
  });
}
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction f, CUoccupancyB2DSize dynamic_of,
                                          size_t shared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, f, dynamic_of, shared, limit, 0);
}

}  // extern "C"
