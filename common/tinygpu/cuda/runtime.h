// What the runtime_*.cpp files share: the call wrapper with the thread's last error, and the registry of host symbols.
#pragma once
#include <cuda_runtime_api.h>

#include <exception>
#include <string>

#include "common/tinygpu/cuda/calls.h"

namespace tinygpu::cuda {

/// The calling thread's last error (cudaGetLastError).
cudaError_t& last_error();
/// Records an error as the thread's last one and passes it on. NotReady is an answer, not an error.
cudaError_t finish(CUresult e);

/// One runtime call: lock, sticky error first, last error recorded.
template <Pending pending = Pending::runs, class F>
cudaError_t api(F&& f) {
  State::get().runtime_in_use = true;
  return finish(guarded<pending>(f));
}

/// One for which the host waits: everything that was submitted before it is done.
template <class F>
cudaError_t blocking(F&& f) {
  return api([&](State& s) {
    s.synchronize();
    return CUresult(f(s));
  });
}

/// A runtime call that works after a fault as well (queries of names, devices, versions).
template <class F>
cudaError_t always(F&& f) {
  return finish(locked(f));
}

// What calls that are the same in both APIs (*_calls.inc) are made of; driver.h has the like.
#define API_RESULT cudaError_t
#define API_NAME(name) cuda##name
#define API_NAMES(driver, runtime) cuda##runtime
constexpr bool kNullMayBeFreed = true;  // by calls that know of streams, and for arrays and textures
template <Pending pending = Pending::runs, class F>
cudaError_t shared_call(F&& f) {
  return api<pending>(f);
}
/// f(state, stream) for a live handle.
template <Pending pending = Pending::runs, class F>
cudaError_t on_stream(cudaStream_t stream, F&& f) {
  return shared_call<pending>([&](State& s) { return with_stream(s, stream, f); });
}

/// The kernel behind what runtime calls accept as one: a host stub's address, a cudaKernel_t or a cudaFunction_t.
/// INVALID_DEVICE_FUNCTION if it is none; the module's own error if it can't be loaded.
CUresult find_kernel(const void* function, Kernel*& out);

/// A device variable by the address of its host shadow. cudaErrorInvalidSymbol if it is none.
struct SymbolPlace {
  uint64_t address = 0, size = 0;
};
CUresult find_symbol(const void* symbol, SymbolPlace& out);

}  // namespace tinygpu::cuda
