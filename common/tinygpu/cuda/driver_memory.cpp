// Memory of the driver API.
#include "common/tinygpu/cuda/array.h"
#include "common/tinygpu/cuda/copy_batch.h"
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/driver_copy.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/image/host_memory.h"

using namespace tinygpu::cuda;
using tinygpu::Allocation;
using tinygpu::MemoryKind;

namespace {

using Pointer = CUdeviceptr;
using ConstPointer = CUdeviceptr;
using MemoryAdvice = CUmem_advise;
using MemoryLocation = CUmemLocation;
using BatchPointers = CUdeviceptr*;
using BatchSources = CUdeviceptr*;
using BatchSizes = size_t*;
using BatchAttributes = CUmemcpyAttributes;
using PoolProps = CUmemPoolProps;
using PoolAttribute = CUmemPool_attribute;
using PoolAccess = CUmemAccessDesc;

CUresult allocate_to(State& s, CUdeviceptr* out, size_t size, MemoryKind kind) {
  uint64_t address = 0;
  const CUresult e = out ? allocate(s, address, size, kind) : CUDA_ERROR_INVALID_VALUE;
  if (e == CUDA_SUCCESS) *out = address;
  return e;
}

const void* pointer(CUdeviceptr p) { return reinterpret_cast<const void*>(p); }

CUresult copy_bytes(const void* dst, Side dst_side, const void* src, Side src_side, size_t size) {
  return in_context([&](State& s) {
    s.synchronize();
    return copy(s, {dst, dst_side}, {src, src_side}, size);
  });
}
CUresult copy_on(CUstream stream, const void* dst, Side dst_side, const void* src, Side src_side, size_t size) {
  return on_stream<Pending::stays>(stream, [&](State& s, Stream& p) {
    return submit(s, p, CU_GRAPH_NODE_TYPE_MEMCPY, [=](State& at) {
      return copy(at, {dst, dst_side}, {src, src_side}, size);
    });
  });
}

CUresult block_on(CUstream stream, Work work) {
  return on_stream<Pending::stays>(
      stream, [&](State& s, Stream& p) { return submit(s, p, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(work)); });
}

CUresult fill_with(CUdeviceptr p, uint32_t value, uint32_t bytes, size_t count, size_t height = 1, size_t pitch = 0) {
  return in_context([&](State& s) { return fill(s, p, value, bytes, count, height, pitch); });
}
CUresult fill_on(CUstream stream, CUdeviceptr p, uint32_t value, uint32_t bytes, size_t count, size_t height = 1,
                 size_t pitch = 0) {
  return on_stream<Pending::stays>(stream, [&](State& s, Stream& on) {
    return submit(s, on, CU_GRAPH_NODE_TYPE_MEMSET,
                  [=](State& at) { return fill(at, p, value, bytes, count, height, pitch); });
  });
}

bool end_of(CUmemorytype type, const void* host, CUdeviceptr device, CopyEnd& out) {
  switch (type) {
    case CU_MEMORYTYPE_HOST: out = {host, Side::host}; return true;
    case CU_MEMORYTYPE_DEVICE: out = {pointer(device), Side::device}; return true;
    case CU_MEMORYTYPE_UNIFIED: out = {pointer(device), Side::either}; return true;
    default: return false;
  }
}

/// One end of a CUDA_MEMCPY2D or 3D, from its fields.
struct End {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t pitch, height, x, y, z;
};
CUresult end_of(State& s, const End& e, size_t width, size_t height, size_t depth, CopyEnd& out) {
  if (e.type == CU_MEMORYTYPE_ARRAY) {
    const Array* a = find_array(s, e.array);
    if (!a) return CUDA_ERROR_INVALID_HANDLE;
    return array_end(*a, e.x, e.y, e.z, width, height, depth, out) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (!end_of(e.type, e.host, e.device, out)) return CUDA_ERROR_INVALID_VALUE;
  out.pitch = e.pitch ? e.pitch : width;
  out.slice = out.pitch * (e.height ? e.height : height);
  out.offset = e.z * out.slice + e.y * out.pitch + e.x;
  return width > out.pitch.value() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult copy_ends(State& s, const End& dst, const End& src, size_t width, size_t height, size_t depth) {
  CopyEnd to, from;
  if (CUresult e = end_of(s, dst, width, height, depth, to); e != CUDA_SUCCESS) return e;
  if (CUresult e = end_of(s, src, width, height, depth, from); e != CUDA_SUCCESS) return e;
  return copy(s, to, from, width, height, depth);
}

CUresult copy_2d(State& s, const CUDA_MEMCPY2D* p) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY2D& c = *p;
  return copy_ends(s, {c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, 0, c.dstXInBytes, c.dstY, 0},
                   {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcPitch, 0, c.srcXInBytes, c.srcY, 0},
                   c.WidthInBytes, c.Height, 1);
}

/// The mapping and the range of addresses that a pointer is in: both are the allocation where these come together.
VirtualMemory::Place place_of(State& s, const Allocation& a, CUdeviceptr p) {
  VirtualMemory::Place place{{a.base, a.size}, {a.base, a.size}, true};
  s.virtual_memory.find(p, place);
  return place;
}

CUresult pointer_attribute(State& s, void* out, CUpointer_attribute attribute, CUdeviceptr p) {
  const Allocation* a = s.machine.memory().find(p);
  if (!out || !a) return CUDA_ERROR_INVALID_VALUE;
  const VirtualMemory::Place place = place_of(s, *a, p);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(out) = is_host_memory(*a) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<CUdeviceptr*>(out) = p; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!host_sees(*a)) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(out) = const_cast<void*>(pointer(p));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(out) = a->kind == MemoryKind::managed;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(out) = 0; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(out) = place.range.address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<size_t*>(out) = place.range.size; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      *static_cast<CUdeviceptr*>(out) = place.mapping.address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *static_cast<size_t*>(out) = place.mapping.size; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *static_cast<unsigned*>(out) = 0; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: *static_cast<unsigned long long*>(out) = 0; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<unsigned long long*>(out) = a->base; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<unsigned*>(out) = 1; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT: *static_cast<CUcontext*>(out) = nullptr; return CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

template <class F>
CUresult pool_call(F&& f) {
  return driver(f);
}
}  // namespace

CUresult tinygpu::cuda::copy_block(State& s, const CUDA_MEMCPY3D& c) {
  return copy_ends(
      s, {c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, c.dstHeight, c.dstXInBytes, c.dstY, c.dstZ},
      {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcPitch, c.srcHeight, c.srcXInBytes, c.srcY, c.srcZ},
      c.WidthInBytes, c.Height, c.Depth);
}

extern "C" {

#include "common/tinygpu/cuda/memory_calls.inc"

CUresult cuMemAllocPitch_v2(CUdeviceptr* p, size_t* pitch, size_t width, size_t height, unsigned element) {
  return in_context([&](State& s) {
    if (!p || !pitch || (element != 4 && element != 8 && element != 16)) return CUDA_ERROR_INVALID_VALUE;
    if (width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    uint64_t address = 0;
    const CUresult e = allocate_pitched(s, address, *pitch, width, height);
    if (e == CUDA_SUCCESS) *p = address;
    return e;
  });
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr p) {
  return in_context([&](State& s) {
    const Allocation* a = s.machine.memory().find(p);
    if (!a) return CUDA_ERROR_NOT_FOUND;
    const VirtualMemory::Span mapping = place_of(s, *a, p).mapping;
    if (base) *base = mapping.address;
    if (size) *size = mapping.size;
    return CUDA_SUCCESS;
  });
}
CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr p) {
  return in_context([&](State& s) { return pointer_attribute(s, out, attribute, p); });
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out, CUdeviceptr p) {
  return in_context([&](State& s) {
    if (!tinygpu::image::host_accessible(attributes, count * sizeof *attributes, false) ||
        !tinygpu::image::host_accessible(out, count * sizeof *out, false))
      return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i)
      if (pointer_attribute(s, out[i], attributes[i], p) != CUDA_SUCCESS && out[i]) std::memset(out[i], 0, 4);
    return CUDA_SUCCESS;
  });
}
/// The one that can be set, synchronous copies, holds here anyway.
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr p) {
  return in_context([&](State& s) {
    const bool can = value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && s.machine.memory().find(p);
    return can ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
// ---- Copies
CUresult cuMemcpy(CUdeviceptr d, CUdeviceptr s, size_t n) {
  return copy_bytes(pointer(d), Side::either, pointer(s), Side::either, n);
}
CUresult cuMemcpyAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream stream) {
  return copy_on(stream, pointer(d), Side::either, pointer(s), Side::either, n);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr d, const void* s, size_t n) {
  return copy_bytes(pointer(d), Side::device, s, Side::host, n);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void* s, size_t n, CUstream stream) {
  return copy_on(stream, pointer(d), Side::device, s, Side::host, n);
}
CUresult cuMemcpyDtoH_v2(void* d, CUdeviceptr s, size_t n) {
  return copy_bytes(d, Side::host, pointer(s), Side::device, n);
}
CUresult cuMemcpyDtoHAsync_v2(void* d, CUdeviceptr s, size_t n, CUstream stream) {
  return copy_on(stream, d, Side::host, pointer(s), Side::device, n);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr s, size_t n) {
  return copy_bytes(pointer(d), Side::device, pointer(s), Side::device, n);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream stream) {
  return copy_on(stream, pointer(d), Side::device, pointer(s), Side::device, n);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* p) {
  return in_context([&](State& s) { return copy_2d(s, p); });
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* p) { return cuMemcpy2D_v2(p); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, CUstream stream) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  return block_on(stream, [q = *p](State& s) { return copy_2d(s, &q); });
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* p) {
  return in_context([&](State& s) { return p ? copy_block(s, *p) : CUDA_ERROR_INVALID_VALUE; });
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, CUstream stream) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  return block_on(stream, [q = *p](State& s) { return copy_block(s, q); });
}

// ---- Fills
CUresult cuMemsetD8_v2(CUdeviceptr p, unsigned char v, size_t n) { return fill_with(p, v, 1, n); }
CUresult cuMemsetD16_v2(CUdeviceptr p, unsigned short v, size_t n) { return fill_with(p, v, 2, n); }
CUresult cuMemsetD32_v2(CUdeviceptr p, unsigned v, size_t n) { return fill_with(p, v, 4, n); }
CUresult cuMemsetD2D8_v2(CUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t h) {
  return fill_with(p, v, 1, w, h, pitch);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t h) {
  return fill_with(p, v, 2, w, h, pitch);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr p, size_t pitch, unsigned v, size_t w, size_t h) {
  return fill_with(p, v, 4, w, h, pitch);
}
CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s) { return fill_on(s, p, v, 1, n); }
CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short v, size_t n, CUstream s) { return fill_on(s, p, v, 2, n); }
CUresult cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream s) { return fill_on(s, p, v, 4, n); }
CUresult cuMemsetD2D8Async(CUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t h, CUstream s) {
  return fill_on(s, p, v, 1, w, h, pitch);
}
CUresult cuMemsetD2D16Async(CUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t h, CUstream s) {
  return fill_on(s, p, v, 2, w, h, pitch);
}
CUresult cuMemsetD2D32Async(CUdeviceptr p, size_t pitch, unsigned v, size_t w, size_t h, CUstream s) {
  return fill_on(s, p, v, 4, w, h, pitch);
}

}  // extern "C"
