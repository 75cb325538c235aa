// Modules, libraries, functions and kernels.
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/function.h"
#include "common/tinygpu/cuda/library.h"

using namespace tinygpu::cuda;

namespace {

/// Modules end with their context, libraries don't.
enum class Owner : bool { context, process };

/// `load` is load_image or load_file, `from` what it takes.
template <class Load, class From>
CUresult load_by(Load load, Owner owner, void** out, From from, const JitOptions& jit) {
  return in_context([&](State& s) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    Module* m = nullptr;
    const CUresult e = load(s, from, jit, m);
    if (e != CUDA_SUCCESS) return e;
    m->ends_with_context = owner == Owner::context;
    *out = m;
    return CUDA_SUCCESS;
  });
}

CUresult load_to(Owner owner, void** out, const void* image, const JitOptions& jit) {
  return load_by(load_image, owner, out, image, jit);
}

CUresult load_file_to(Owner owner, void** out, const char* path, const JitOptions& jit) {
  return load_by(load_file, owner, out, path, jit);
}

CUresult unload(const void* module) {
  return in_context([&](State& s) {
    return s.modules.remove(static_cast<Module*>(const_cast<void*>(module))) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult function_to(void** out, const void* module, const char* name) {
  return in_context([&](State& s) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    Kernel* k = nullptr;
    const CUresult e = find_in_module(s, module, name, k);
    if (e == CUDA_SUCCESS) *out = k;
    return e;
  });
}

CUresult global_to(CUdeviceptr* address, size_t* size, const void* module, const char* name) {
  return in_context([&](State& s) { return find_global(s, module, name, reinterpret_cast<void**>(address), size); });
}

CUresult count_to(unsigned* count, const void* module) {
  return in_context([&](State& s) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    Module* m = nullptr;
    std::vector<std::string> names;
    const CUresult e = entries_of(s, module, m, names);
    if (e == CUDA_SUCCESS) *count = unsigned(names.size());
    return e;
  });
}

CUresult enumerate(void** out, unsigned count, const void* module) {
  return in_context([&](State& s) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    Module* m = nullptr;
    std::vector<std::string> names;
    if (CUresult e = entries_of(s, module, m, names); e != CUDA_SUCCESS) return e;
    for (unsigned i = 0; i < count && i < names.size(); ++i) out[i] = m->kernel_handle(names[i]);
    return CUDA_SUCCESS;
  });
}

CUresult name_of(const char** name, const void* kernel) {
  return on_kernel(kernel, [&](State&, Kernel& k) { return answer(name, k.name.c_str()); });
}

CUresult parameter(const void* kernel, size_t index, size_t* offset, size_t* size) {
  return on_kernel(kernel, [&](State&, Kernel& k) { return parameter_of(k, index, offset, size); });
}

template <class T>
void** raw(T* p) {
  return reinterpret_cast<void**>(p);
}

}  // namespace

extern "C" {

CUresult cuModuleLoad(CUmodule* m, const char* path) { return load_file_to(Owner::context, raw(m), path, {}); }
CUresult cuModuleLoadData(CUmodule* m, const void* image) { return load_to(Owner::context, raw(m), image, {}); }
CUresult cuModuleLoadDataEx(CUmodule* m, const void* image, unsigned count, CUjit_option* options, void** values) {
  return load_to(Owner::context, raw(m), image, {options, values, count});
}
CUresult cuModuleLoadFatBinary(CUmodule* m, const void* image) { return load_to(Owner::context, raw(m), image, {}); }
CUresult cuModuleUnload(CUmodule m) { return unload(m); }
CUresult cuModuleGetFunction(CUfunction* f, CUmodule m, const char* name) { return function_to(raw(f), m, name); }
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule m) { return count_to(count, m); }
CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule m) {
  return enumerate(raw(out), count, m);
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* p, size_t* size, CUmodule m, const char* name) {
  return global_to(p, size, m, name);
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (!mode) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* l, const void* image, CUjit_option* options, void** values, unsigned count,
                           CUlibraryOption*, void**, unsigned) {
  return load_to(Owner::process, raw(l), image, {options, values, count});
}
CUresult cuLibraryLoadFromFile(CUlibrary* l, const char* path, CUjit_option* options, void** values, unsigned count,
                               CUlibraryOption*, void**, unsigned) {
  return load_file_to(Owner::process, raw(l), path, {options, values, count});
}
CUresult cuLibraryUnload(CUlibrary l) { return unload(l); }
CUresult cuLibraryGetKernel(CUkernel* k, CUlibrary l, const char* name) { return function_to(raw(k), l, name); }
CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary l) { return count_to(count, l); }
CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary l) { return enumerate(raw(out), count, l); }
CUresult cuLibraryGetModule(CUmodule* m, CUlibrary l) {
  return in_context([&](State& s) {
    if (!m) return CUDA_ERROR_INVALID_VALUE;
    if (!s.modules.has(reinterpret_cast<Module*>(l))) return CUDA_ERROR_INVALID_HANDLE;
    *m = reinterpret_cast<CUmodule>(l);
    return CUDA_SUCCESS;
  });
}
CUresult cuLibraryGetGlobal(CUdeviceptr* p, size_t* size, CUlibrary l, const char* name) {
  return global_to(p, size, l, name);
}
CUresult cuLibraryGetManaged(CUdeviceptr* p, size_t* size, CUlibrary l, const char* name) {
  return global_to(p, size, l, name);
}

CUresult cuKernelGetFunction(CUfunction* f, CUkernel k) {
  return on_kernel(k, [&](State&, Kernel&) { return answer(f, reinterpret_cast<CUfunction>(k)); });
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
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value) {
  return on_kernel(f, [&](State& s, Kernel& k) { return set_function_attribute(s, k, attribute, value); });
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel k, CUdevice) {
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(k));
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel k, CUdevice) {
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(k), attribute, value);
}
CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache config) {
  return on_kernel(f, [&](State&, Kernel& k) {
    if (config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    k.cache_config = config;
    return CUDA_SUCCESS;
  });
}
CUresult cuKernelSetCacheConfig(CUkernel k, CUfunc_cache config, CUdevice) {
  return cuFuncSetCacheConfig(reinterpret_cast<CUfunction>(k), config);
}
CUresult cuFuncSetSharedMemConfig(CUfunction f, CUsharedconfig) {
  return on_kernel(f, [](State&, Kernel&) { return CUDA_SUCCESS; });
}
CUresult cuFuncGetName(const char** name, CUfunction f) { return name_of(name, f); }
CUresult cuKernelGetName(const char** name, CUkernel k) { return name_of(name, k); }
CUresult cuFuncGetParamInfo(CUfunction f, size_t index, size_t* offset, size_t* size) {
  return parameter(f, index, offset, size);
}
CUresult cuKernelGetParamInfo(CUkernel k, size_t index, size_t* offset, size_t* size) {
  return parameter(k, index, offset, size);
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction f) {
  return on_kernel(f, [&](State&, Kernel& k) {
    return answer(state, k.loaded ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED);
  });
}
CUresult cuFuncLoad(CUfunction f) {
  return on_kernel(f, [](State&, Kernel& k) { return k.module->resolve(k); });
}

}  // extern "C"
