// Initialisation, the one device, and contexts. A context holds nothing of its own here: all share the machine's
// memory.
#include <algorithm>

#include "common/tinygpu/base/of_thread.h"
#include "common/tinygpu/cuda/device.h"
#include "common/tinygpu/cuda/driver_context.h"

namespace tinygpu::cuda {

Contexts& contexts() {
  static Contexts* c = new Contexts;
  return *c;
}

std::vector<ContextPtr>& context_stack() {
  static const OfThread<std::vector<ContextPtr>> own;
  return own.get();
}

void tell_current() {
  const auto& own = context_stack();
  GreenContexts::current() = own.empty() ? nullptr : own.back()->green;
}

ContextPtr current_context() { return context_stack().empty() ? nullptr : context_stack().back(); }

ContextPtr live_context(const void* handle) {
  if (handle == contexts().primary.get()) return contexts().primary;
  const auto it = contexts().live.find(handle);
  return it == contexts().live.end() ? nullptr : it->second;
}

void end_with_the_last(State& s) {
  if (contexts().live.empty() && contexts().retained == 0 && !s.runtime_in_use) s.reset();
}

namespace {

CUresult create(CUcontext* out, unsigned flags, CUdevice device) {
  return driver([&](State&) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (flags & ~unsigned(CU_CTX_FLAGS_MASK)) return CUDA_ERROR_INVALID_VALUE;
    auto c = std::make_shared<Context>(Context{flags, 3020, contexts().next_id++, nullptr});
    contexts().live[c.get()] = c;
    context_stack().push_back(c);
    tell_current();
    *out = handle_of(c);
    return CUDA_SUCCESS;
  });
}

}  // namespace

bool& initialised() {
  static bool done = false;
  return done;
}

CUresult need_context() {
  // Libraries over the runtime use the primary context without making it current through this library.
  if (const ContextPtr c = current_context(); c && !live_context(c.get())) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (current_context() || contexts().retained > 0 || State::get().runtime_in_use) return CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace tinygpu::cuda

using namespace tinygpu::cuda;
using DeviceAttribute = CUdevice_attribute;
using Limit = CUlimit;

extern "C" {

#include "common/tinygpu/cuda/device_calls.inc"

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  State::get();
  initialised() = true;
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = kCudaVersion;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  return driver([&](State&) { return answer(count, 1); });
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return on_device(ordinal, [&](State&) { return answer(device, 0); });
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return on_device(device, [&](State& s) {
    if (!name || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    const std::string whole = device_name(s.machine.spec());
    const size_t n = std::min(whole.size(), size_t(length) - 1);
    std::memcpy(name, whole.data(), n);
    name[n] = '\0';
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return on_device(device, [&](State& s) {
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    device_uuid(s.machine.spec(), uuid->bytes);
    return CUDA_SUCCESS;
  });
}
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return on_device(device, [&](State& s) { return answer(bytes, s.machine.memory().capacity()); });
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return on_device(device, [&](State& s) {
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    *major = s.machine.spec().compute_major;
    *minor = s.machine.spec().compute_minor;
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return on_device(device, [&](State&) {
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    if (peer != 0) return CUDA_ERROR_INVALID_DEVICE;
    *can = 0;
    return CUDA_SUCCESS;
  });
}

// ---- The primary context
CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  return on_device(device, [&](State&) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    ++contexts().retained;
    *out = handle_of(contexts().primary);
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return after_faults([&](State& s) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (contexts().retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    --contexts().retained;
    end_with_the_last(s);
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return after_faults([&](State& s) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    s.reset();
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return on_device(device, [&](State&) {
    if (flags & ~unsigned(CU_CTX_FLAGS_MASK)) return CUDA_ERROR_INVALID_VALUE;
    contexts().primary->flags = flags;
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return on_device(device, [&](State&) {
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    *flags = contexts().primary->flags;
    *active = contexts().retained > 0;
    return CUDA_SUCCESS;
  });
}

// ---- Contexts
CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return create(out, flags, device);
}
CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam*, int, unsigned flags, CUdevice device) {
  return create(out, flags, device);
}
CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) { return create(out, flags, device); }
CUresult cuCtxDestroy_v2(CUcontext c) {
  return after_faults([&](State& s) {
    const ContextPtr context = live_context(c);
    if (!context || context->green || !contexts().live.erase(c)) return CUDA_ERROR_INVALID_CONTEXT;
    if (current_context() == context) context_stack().pop_back();
    tell_current();
    end_with_the_last(s);
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxPushCurrent_v2(CUcontext c) {
  return driver([&](State&) {
    const ContextPtr context = live_context(c);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    context_stack().push_back(context);
    tell_current();
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxPopCurrent_v2(CUcontext* c) {
  return driver([&](State&) {
    if (context_stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (c) *c = handle_of(context_stack().back());
    context_stack().pop_back();
    tell_current();
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxSetCurrent(CUcontext c) {
  return driver<Pending::stays>([&](State&) {
    const ContextPtr context = live_context(c);
    if (c && !context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context_stack().empty()) context_stack().pop_back();
    if (c) context_stack().push_back(context);
    tell_current();
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetCurrent(CUcontext* c) {
  return driver<Pending::stays>([&](State& s) {
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    const ContextPtr now = current_context();
    *c = now ? handle_of(now) : s.runtime_in_use ? handle_of(contexts().primary) : nullptr;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetDevice(CUdevice* device) {
  return in_context<Pending::stays>([&](State&) { return answer(device, 0); });
}
CUresult cuCtxGetFlags(unsigned* flags) {
  return in_context(
      [&](State&) { return answer(flags, (current_context() ? current_context() : contexts().primary)->flags); });
}
CUresult cuCtxGetId(CUcontext c, unsigned long long* id) {
  return driver([&](State&) {
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    const ContextPtr which = live_context(c ? c : handle_of(current_context()));
    if (!which) return CUDA_ERROR_INVALID_CONTEXT;
    *id = which->id;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetApiVersion(CUcontext c, unsigned* version) {
  return driver([&](State&) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    if (c && !live_context(c)) return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return in_context(
      [&](State&) { return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; });
}
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return in_context([&](State&) { return answer(config, CU_FUNC_CACHE_PREFER_NONE); });
}
CUresult cuCtxResetPersistingL2Cache() {
  return in_context([](State&) { return CUDA_SUCCESS; });
}

}  // extern "C"
