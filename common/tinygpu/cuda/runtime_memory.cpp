// Allocation: device, pitched, managed, pinned, registered, stream-ordered; what a pointer is.
#include <algorithm>

#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;
using tinygpu::Allocation;
using tinygpu::MemoryKind;

namespace {

/// The pointer is null where nothing was allocated, as on hardware.
CUresult allocate_to(State& s, void** out, size_t size, MemoryKind kind) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  if (size == 0) return CUDA_SUCCESS;
  uint64_t address = 0;
  const CUresult e = allocate(s, address, size, kind);
  if (e == CUDA_SUCCESS) *out = reinterpret_cast<void*>(address);
  return e;
}

CUresult allocate_from(State& s, const void* pool, void** out, size_t size) {
  const CUresult e = allocate_to(s, out, size, MemoryKind::device);
  if (e == CUDA_SUCCESS && *out) s.pools.took(pool, reinterpret_cast<uint64_t>(*out), size);
  return e;
}

CUresult release_if(State& s, void* p, MemoryKind kind) {
  s.synchronize();
  return p ? release(s, reinterpret_cast<uint64_t>(p), kind) : CUDA_SUCCESS;
}

template <class F>
cudaError_t pool_call(F&& f) {
  return api(f);
}
using PoolProps = cudaMemPoolProps;
using PoolAttribute = cudaMemPoolAttr;
using PoolAccess = cudaMemAccessDesc;

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** p, size_t size) {
  return api([&](State& s) { return allocate_to(s, p, size, MemoryKind::device); });
}

cudaError_t cudaFree(void* p) {
  return api([&](State& s) { return release_if(s, p, MemoryKind::device); });
}

cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
  return api([&](State& s) {
    if (!p || !pitch) return CUDA_ERROR_INVALID_VALUE;
    *p = nullptr;
    uint64_t address = 0;
    const CUresult e = allocate_pitched(s, address, *pitch, width, height);
    if (e == CUDA_SUCCESS) *p = reinterpret_cast<void*>(address);
    return e;
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* p, cudaExtent extent) {
  return api([&](State& s) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    *p = {nullptr, 0, extent.width, extent.height};
    uint64_t address = 0;
    const CUresult e = allocate_pitched(s, address, p->pitch, extent.width, extent.height, extent.depth);
    if (e == CUDA_SUCCESS) p->ptr = reinterpret_cast<void*>(address);
    return e;
  });
}

cudaError_t cudaMallocManaged(void** p, size_t size, unsigned flags) {
  return api([&](State& s) {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return CUDA_ERROR_INVALID_VALUE;
    if (size == 0) return CUDA_ERROR_INVALID_VALUE;
    return allocate_to(s, p, size, MemoryKind::managed);
  });
}

cudaError_t cudaMallocHost(void** p, size_t size) {
  return api([&](State& s) { return allocate_to(s, p, size, MemoryKind::pinned); });
}

cudaError_t cudaHostAlloc(void** p, size_t size, unsigned flags) {
  constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  return api([&](State& s) {
    return flags & ~kKnown ? CUDA_ERROR_INVALID_VALUE : allocate_to(s, p, size, MemoryKind::pinned);
  });
}

cudaError_t cudaFreeHost(void* p) {
  return api([&](State& s) { return release_if(s, p, MemoryKind::pinned); });
}

cudaError_t cudaHostRegister(void* p, size_t size, unsigned flags) {
  constexpr unsigned kModelled = cudaHostRegisterPortable | cudaHostRegisterMapped;
  return api([&](State& s) {
    if (flags & ~(kModelled | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly)) return CUDA_ERROR_INVALID_VALUE;
    return flags & ~kModelled ? CUDA_ERROR_NOT_SUPPORTED : register_host(s, p, size);
  });
}

cudaError_t cudaHostUnregister(void* p) {
  return api([&](State& s) {
    return s.machine.memory().unregister_host(p) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return api([&](State& s) {
    const Allocation* a = s.machine.memory().find(reinterpret_cast<uint64_t>(host));
    if (!device || !a || a->kind == MemoryKind::device || a->kind == MemoryKind::constant)
      return CUDA_ERROR_INVALID_VALUE;
    *device = host;
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return api([&](State& s) {
    const Allocation* a = s.machine.memory().find(reinterpret_cast<uint64_t>(host));
    if (!flags || !a || (a->kind != MemoryKind::pinned && a->kind != MemoryKind::registered))
      return CUDA_ERROR_INVALID_VALUE;
    *flags = cudaHostAllocMapped;
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api([&](State& s) {
    if (!free || !total) return CUDA_ERROR_INVALID_VALUE;
    *total = s.machine.memory().capacity();
    *free = *total - s.machine.memory().used();
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* p) {
  return api([&](State& s) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = {};
    const Allocation* a = s.machine.memory().find(reinterpret_cast<uint64_t>(p));
    if (!a) {
      out->type = cudaMemoryTypeUnregistered;
      out->device = -2;  // cudaInvalidDeviceId
      out->hostPointer = const_cast<void*>(p);
      return CUDA_SUCCESS;
    }
    void* here = const_cast<void*>(p);
    out->device = 0;
    out->devicePointer = here;
    switch (a->kind) {
      case MemoryKind::device:
      case MemoryKind::constant: out->type = cudaMemoryTypeDevice; break;
      case MemoryKind::managed:
        out->type = cudaMemoryTypeManaged;
        out->hostPointer = here;
        break;
      case MemoryKind::pinned:
      case MemoryKind::registered:
        out->type = cudaMemoryTypeHost;
        out->hostPointer = here;
        break;
    }
    return CUDA_SUCCESS;
  });
}

/// Advice changes nothing here; it must be about memory that exists.
cudaError_t cudaMemAdvise(const void* p, size_t size, cudaMemoryAdvise advice, cudaMemLocation) {
  return api([&](State& s) {
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy) return CUDA_ERROR_INVALID_VALUE;
    return size && reach(s, p, size, Side::device, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

cudaError_t cudaMemPrefetchAsync(const void* p, size_t size, cudaMemLocation, unsigned, cudaStream_t stream) {
  return api([&](State& s) {
    if (!s.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    return size && reach(s, p, size, Side::device, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* p, size_t, unsigned flags) {
  return api([&](State& s) {
    if (!s.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    const bool one = flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle;
    return one && reach(s, p, 1, Side::device, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// ---- Stream-ordered allocation: in submission order, so the same as the plain kind

cudaError_t cudaMallocAsync(void** p, size_t size, cudaStream_t stream) {
  return api([&](State& s) {
    if (!s.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    return allocate_from(s, s.pools.standard(), p, size);
  });
}

cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  return api([&](State& s) {
    if (!s.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    return p ? release(s, reinterpret_cast<uint64_t>(p), MemoryKind::device) : CUDA_SUCCESS;
  });
}

cudaError_t cudaMallocFromPoolAsync(void** p, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  return api([&](State& s) {
    if (!s.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!s.pools.has(pool)) return CUDA_ERROR_INVALID_VALUE;
    return allocate_from(s, pool, p, size);
  });
}

#define API_RESULT cudaError_t
#define API_NAME(name) cuda##name
#include "common/tinygpu/cuda/pool_calls.inc"
#undef API_RESULT
#undef API_NAME

}  // extern "C"
