// What every call of both APIs is wrapped in, and small things that most of them do.
#pragma once
#include <exception>
#include <mutex>
#include <new>
#include <type_traits>

#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

/// No exception leaves an API call: what reaches this is a limit of tinygpu's own (its memory, a machine number
/// missing).
template <class F>
CUresult contained(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    say("host-out-of-memory", "the host has no memory left for the machine model");
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    say("internal", e.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

/// What a query does with its answer: INVALID_VALUE where the caller has no place for it.
template <class T>
CUresult answer(T* to, std::type_identity_t<T> value) {
  if (!to) return CUDA_ERROR_INVALID_VALUE;
  *to = value;
  return CUDA_SUCCESS;
}

/// Where the caller wants a handle.
template <class T>
void** raw(T* p) {
  return reinterpret_cast<void**>(p);
}

/// f(state, stream) for a live handle.
template <class F>
CUresult with_stream(State& s, const void* handle, F&& f) {
  Stream* p = s.streams.find(handle);
  if (p && p->green && p->green->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return p ? CUresult(f(s, *p)) : CUDA_ERROR_INVALID_HANDLE;
}

/// The host waits for the device, and learns of a fault.
inline CUresult wait_for_device(State& s) {
  s.synchronize();
  return s.sticky;
}

/// Runs one API call under the lock. A host function in a graph may make none, and could destroy what runs.
template <class F>
CUresult locked(F&& f) {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  ++s.calls;
  if (s.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  return contained([&] { return CUresult(f(s)); });
}

/// What an API call does with work that has been submitted: all but those that submit some, and questions that have
/// nothing to do with it, run it first. `frees`: runs; and behind a fault works for a host language, whose tensors end
/// while an exception is on its way and must not throw another one.
enum class Pending : uint8_t { runs, stays, frees };

/// The same; a sticky error comes first.
template <Pending pending = Pending::runs, class F>
CUresult guarded(F&& f) {
  return locked([&](State& s) {
    if (pending == Pending::frees && s.sticky != CUDA_SUCCESS && s.host_reads_memory) return CUresult(f(s));
    if (s.sticky != CUDA_SUCCESS) return s.sticky;
    if constexpr (pending != Pending::stays) {
      if (const CUresult e = s.settle(); e != CUDA_SUCCESS) return e;
      if (s.sticky != CUDA_SUCCESS) return s.sticky;
    }
    return CUresult(f(s));
  });
}

}  // namespace tinygpu::cuda
