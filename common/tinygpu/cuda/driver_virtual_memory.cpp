// Virtual memory management of the driver API. It needs no current context.
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/virtual_memory.h"

using namespace tinygpu::cuda;

namespace {

/// A location of what can be reached: this device. INVALID_DEVICE or INVALID_VALUE for others.
CUresult judge(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  return location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
  return driver([&](State&) {
    if (!granularity || !properties) return CUDA_ERROR_INVALID_VALUE;
    if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
      return CUDA_ERROR_INVALID_VALUE;
    const CUresult e = VirtualMemory::judge(*properties);
    return e == CUDA_SUCCESS ? answer(granularity, VirtualMemory::kGranularity) : e;
  });
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return driver([&](State& s) {
    if (!handle || !properties || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return s.virtual_memory.create(size, *properties, *handle);
  });
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return driver([&](State& s) { return s.virtual_memory.release(handle); });
}
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return driver([&](State& s) {
    return properties ? s.virtual_memory.properties(handle, *properties) : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return driver([&](State& s) {
    return handle ? s.virtual_memory.retain(reinterpret_cast<uint64_t>(address), *handle) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* out, size_t size, size_t align, CUdeviceptr wanted,
                             unsigned long long flags) {
  return driver([&](State& s) {
    if (!out || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    uint64_t address = 0;
    const CUresult e = s.virtual_memory.reserve(size, align, wanted, address);
    return e == CUDA_SUCCESS ? answer(out, address) : e;
  });
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  return driver([&](State& s) { return s.virtual_memory.free(address, size); });
}
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return driver([&](State& s) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (offset != 0) return CUDA_ERROR_NOT_SUPPORTED;
    return s.virtual_memory.map(address, size, handle);
  });
}
CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  return driver([&](State& s) { return s.virtual_memory.unmap(address, size); });
}

/// The last word of several about this device counts.
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* access, size_t count) {
  return driver([&](State& s) {
    if (!access || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      if (judge(access[i].location) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
      if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ) {
        say("invalid-mapping", "memory that can be read and not written is not modelled",
            "CU_MEM_ACCESS_FLAGS_PROT_READWRITE lets the device do both");
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      if (access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    }
    return s.virtual_memory.set_access(address, size, access[count - 1].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  });
}
CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return driver([&](State& s) {
    VirtualMemory::Place place;
    if (!flags || !location || !s.virtual_memory.find(address, place)) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult e = judge(*location); e != CUDA_SUCCESS) return e;
    *flags = place.reachable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
