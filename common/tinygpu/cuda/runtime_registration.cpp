// The stubs that nvcc generates: fatbins, kernels and variables register themselves before main(). Nothing is read here
// but the wrapper's address; images are chosen and parsed when a kernel or variable is first used.
#include <pthread.h>

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/cuda/runtime.h"

namespace tinygpu::cuda {

namespace {

struct Registration {
  const image::FatbinWrapper* wrapper = nullptr;
  Module* module = nullptr;  // made at first use
  struct Managed {
    void** host;  // the host's pointer variable
    std::string name;
  };
  std::vector<Managed> managed;
};

struct HostSymbol {
  Registration* owner = nullptr;
  std::string name;
  Kernel* kernel = nullptr;
};

/// All registrations of the process. Does not touch State: a program that never calls CUDA makes no machine.
struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<Registration>> all;  // by handle
  std::unordered_map<const void*, HostSymbol> functions;
  std::unordered_map<const void*, HostSymbol> variables;
  bool lost = false;  // to a fork() while another thread was at it
  static Registry& get() {
    static Registry* r = new Registry;  // outlives atexit handlers
    return *r;
  }
};

[[gnu::constructor]] void handle_forks() {
  Registry::get();
  pthread_atfork(nullptr, nullptr, [] {
    Registry& r = Registry::get();
    r.lost = !r.mutex.try_lock();
    if (r.lost)
      new (&r.mutex) std::mutex;
    else
      r.mutex.unlock();
  });
}

Module& module_of(Registration& r) {
  State& s = State::get();
  if (!r.module) r.module = s.modules.add(std::make_unique<Module>(s.machine, r.wrapper));
  return *r.module;
}

/// Loads, and gives the host its pointers to managed variables.
CUresult prepare(Registration& r) {
  Module& m = module_of(r);
  if (CUresult e = m.load(); e != CUDA_SUCCESS) return e;
  for (const auto& v : r.managed)
    if (const auto place = m.variable(v.name)) *v.host = reinterpret_cast<void*>(place->address);
  return CUDA_SUCCESS;
}

/// The kernel's handle; loads nothing.
Kernel* handle_of(HostSymbol& h) {
  if (!h.kernel) h.kernel = module_of(*h.owner).kernel_handle(h.name);
  return h.kernel;
}

/// The registration of a handle, or nullptr.
Registration* registration(Registry& registry, void** handle) {
  const auto it = registry.all.find(handle);
  return it == registry.all.end() ? nullptr : it->second.get();
}

void remember(std::unordered_map<const void*, HostSymbol>& symbols, Registration* owner, const void* host,
              const char* name) {
  if (owner && host && name) symbols[host] = {owner, name, nullptr};
}

}  // namespace

CUresult find_kernel(const void* function, Kernel*& out) {
  if (!function) return kInvalidDeviceFunction;
  Registry& registry = Registry::get();
  std::lock_guard lock(registry.mutex);
  Registration* owner = nullptr;
  if (State::get().modules.has_kernel(function)) {
    out = static_cast<Kernel*>(const_cast<void*>(function));
    for (const auto& [handle, r] : registry.all)
      if (r->module == out->module) owner = r.get();
  } else {
    auto it = registry.functions.find(function);
    if (it == registry.functions.end()) return kInvalidDeviceFunction;
    out = handle_of(it->second);
    owner = it->second.owner;
  }
  return owner ? prepare(*owner) : CUDA_SUCCESS;
}

CUresult find_symbol(const void* symbol, SymbolPlace& out) {
  if (!symbol) return kInvalidSymbol;
  Registry& registry = Registry::get();
  std::lock_guard lock(registry.mutex);
  auto it = registry.variables.find(symbol);
  if (it == registry.variables.end()) {
    // A managed variable's name stands for the memory itself.
    const auto address = reinterpret_cast<uint64_t>(symbol);
    const Allocation* a = State::get().machine.memory().find(address);
    if (!a || a->kind != MemoryKind::managed || a->base != address) return kInvalidSymbol;
    out = {a->base, a->size};
    return CUDA_SUCCESS;
  }
  Registration& r = *it->second.owner;
  if (CUresult e = prepare(r); e != CUDA_SUCCESS) return e;
  const auto v = r.module->variable(it->second.name);
  if (!v) return kInvalidSymbol;
  out = {v->address, v->size};
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda

using namespace tinygpu::cuda;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  Registry& registry = Registry::get();
  std::lock_guard lock(registry.mutex);
  auto r = std::make_unique<Registration>();
  r->wrapper = static_cast<const tinygpu::image::FatbinWrapper*>(wrapper);
  const void* handle = r.get();
  registry.all[handle] = std::move(r);
  return static_cast<void**>(const_cast<void*>(handle));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  Registry& registry = Registry::get();
  if (registry.lost) return;
  std::unique_ptr<Registration> r;
  {
    std::lock_guard lock(registry.mutex);
    const auto it = registry.all.find(handle);
    if (it == registry.all.end()) return;
    r = std::move(it->second);
    registry.all.erase(it);
    std::erase_if(registry.functions, [&](const auto& f) { return f.second.owner == r.get(); });
    std::erase_if(registry.variables, [&](const auto& v) { return v.second.owner == r.get(); });
  }
  if (!r->module) return;
  State& s = State::get();
  if (s.hooks.busy_at_end() || s.hooks.is_lost()) return;
  std::lock_guard lock(s.mutex);
  s.modules.remove(r->module);
}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  Registry& registry = Registry::get();
  std::lock_guard lock(registry.mutex);
  remember(registry.functions, registration(registry, handle), host, name);
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t, int, int) {
  Registry& registry = Registry::get();
  std::lock_guard lock(registry.mutex);
  remember(registry.variables, registration(registry, handle), host, name);
}

void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t, int, int) {
  Registry& registry = Registry::get();
  std::lock_guard lock(registry.mutex);
  Registration* r = registration(registry, handle);
  if (r && host && name) r->managed.push_back({host, name});
  remember(registry.variables, r, host, name);
}

/// Called before the host first touches a managed variable of the file.
char __cudaInitModule(void** handle) {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  Registry& registry = Registry::get();
  std::lock_guard registry_lock(registry.mutex);
  Registration* r = registration(registry, handle);
  return r && contained([&] { return prepare(*r); }) == CUDA_SUCCESS;
}

/// Each stub of nvcc's asks this once, to initialise a static variable. While one waits here, a fork() leaves a child
/// in which that variable stays half made, and where the kernel's first launch waits forever: so this does not wait.
/// The launch takes the stub's address, too, and reports what is wrong.
cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* host) {
  if (handle) *handle = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return handle ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

/// Loads nothing.
cudaError_t cudaGetKernel(cudaKernel_t* handle, const void* host) {
  return always([&](State&) {
    Registry& registry = Registry::get();
    std::lock_guard lock(registry.mutex);
    auto it = registry.functions.find(host);
    if (!handle || it == registry.functions.end()) return kInvalidDeviceFunction;
    *handle = reinterpret_cast<cudaKernel_t>(handle_of(it->second));
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* handle, const void* host) {
  return cudaGetKernel(reinterpret_cast<cudaKernel_t*>(handle), host);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return api([&](State&) {
    if (!address) return CUDA_ERROR_INVALID_VALUE;
    SymbolPlace p;
    const CUresult e = find_symbol(symbol, p);
    if (e == CUDA_SUCCESS) *address = reinterpret_cast<void*>(p.address);
    return e;
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return api([&](State&) {
    if (!size) return CUDA_ERROR_INVALID_VALUE;
    SymbolPlace p;
    const CUresult e = find_symbol(symbol, p);
    if (e == CUDA_SUCCESS) *size = p.size;
    return e;
  });
}

}  // extern "C"
