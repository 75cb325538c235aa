// Memory of the runtime: pitched allocations, and what a pointer is, beside what both APIs share.
#include "common/tinygpu/cuda/copy_batch.h"
#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;
using tinygpu::Allocation;
using tinygpu::MemoryKind;

namespace {

using Pointer = void*;
using ConstPointer = const void*;
using MemoryAdvice = cudaMemoryAdvise;
using MemoryLocation = cudaMemLocation;
using BatchPointers = void* const*;
using BatchSources = const void* const*;
using BatchSizes = const size_t*;
using BatchAttributes = cudaMemcpyAttributes;
using PoolProps = cudaMemPoolProps;
using PoolAttribute = cudaMemPoolAttr;
using PoolAccess = cudaMemAccessDesc;

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

const void* pointer(const void* p) { return p; }

template <class F>
cudaError_t pool_call(F&& f) {
  return api(f);
}
}  // namespace

extern "C" {

#include "common/tinygpu/cuda/memory_calls.inc"

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

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* p) {
  return api([&](State& s) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = {};
    void* here = const_cast<void*>(p);
    const Allocation* a = s.machine.memory().find(address_of(p));
    out->device = a ? 0 : -2;  // cudaInvalidDeviceId
    if (a) out->devicePointer = here;
    if (!a || host_sees(*a)) out->hostPointer = here;
    out->type = !a                               ? cudaMemoryTypeUnregistered
                : is_host_memory(*a)             ? cudaMemoryTypeHost
                : a->kind == MemoryKind::managed ? cudaMemoryTypeManaged
                                                 : cudaMemoryTypeDevice;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
