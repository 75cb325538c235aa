// What the driver_*.cpp files share.
#pragma once
#include <cuda.h>

#include <cstring>

#include "common/tinygpu/cuda/calls.h"

namespace tinygpu::cuda {

/// True after cuInit, which the runtime does for its user. Every other call (but versions and error texts) returns
/// NOT_INITIALIZED before.
bool& initialised();

/// One driver call: initialised, lock, sticky error first.
template <Pending pending = Pending::runs, class F>
CUresult driver(F&& f) {
  if (!initialised() && !State::get().runtime_in_use) return CUDA_ERROR_NOT_INITIALIZED;
  return guarded<pending>(f);
}

/// A driver call that works after a fault as well: what ends contexts.
template <class F>
CUresult after_faults(F&& f) {
  if (!initialised() && !State::get().runtime_in_use) return CUDA_ERROR_NOT_INITIALIZED;
  return locked([&](State& s) {
    if (s.sticky == CUDA_SUCCESS) s.settle();
    return CUresult(f(s));
  });
}

/// A driver call that needs a current context.
CUresult need_context();
template <Pending pending = Pending::runs, class F>
CUresult in_context(F&& f) {
  return driver<pending>([&](State& s) {
    if (CUresult e = need_context(); e != CUDA_SUCCESS) return e;
    return CUresult(f(s));
  });
}

// What calls that are the same in both APIs (*_calls.inc) are made of; runtime.h has the like.
#define API_RESULT CUresult
#define API_NAME(name) cu##name
#define API_NAMES(driver, runtime) cu##driver
constexpr bool kNullMayBeFreed = false;  // by calls that know of streams, and for arrays and textures
template <Pending pending = Pending::runs, class F>
CUresult shared_call(F&& f) {
  return in_context<pending>(f);
}
/// f(state, stream) for a live handle.
template <Pending pending = Pending::runs, class F>
CUresult on_stream(CUstream stream, F&& f) {
  return shared_call<pending>([&](State& s) { return with_stream(s, stream, f); });
}

inline Kernel* kernel_of(const void* handle) { return static_cast<Kernel*>(const_cast<void*>(handle)); }

/// A call on a live kernel handle (CUfunction and CUkernel are the same thing here): launches, attributes, occupancy.
template <class F>
CUresult on_kernel(const void* handle, F&& f) {
  return in_context<Pending::stays>([&](State& s) {
    return s.modules.has_kernel(handle) ? CUresult(f(s, *kernel_of(handle))) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace tinygpu::cuda
