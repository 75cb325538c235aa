// Copies and fills.
#include "common/tinygpu/cuda/runtime_copy.h"
#include "common/tinygpu/cuda/array.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/cuda/runtime.h"
#include "common/tinygpu/cuda/runtime_sides.h"

using namespace tinygpu::cuda;
using tinygpu::CheckedSize;

namespace {

CUresult copy_2d(State& s, void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height,
                 cudaMemcpyKind kind) {
  if (width == 0 || height == 0) return CUDA_SUCCESS;  // whatever the rest says, as on hardware
  CopyEnd to{dst, Side::either, dst_pitch}, from{src, Side::either, src_pitch};
  if (!sides(kind, to.side, from.side)) return kInvalidMemcpyDirection;
  if (width > dst_pitch || width > src_pitch) return kInvalidPitch;
  return copy(s, to, from, width, height);
}

CUresult copy_1d(State& s, void* dst, const void* src, size_t size, cudaMemcpyKind kind) {
  return copy_2d(s, dst, size, src, size, size, 1, kind);
}

/// One side of a 3D copy. Where an array takes part, the extent counts its texels, and so does its own position.
CUresult end_of(State& s, cudaArray_t array, const cudaPitchedPtr& q, const cudaPos& at, const cudaExtent& e,
                CopyEnd& out) {
  if (array) {
    if (q.ptr) return CUDA_ERROR_INVALID_VALUE;
    const Array* a = find_array(s, array);
    if (!a) return CUDA_ERROR_INVALID_HANDLE;
    const CheckedSize x = CheckedSize(at.x) * a->format.bytes();
    return array_end(*a, x.value(), at.y, at.z, e.width, e.height, e.depth, out) ? CUDA_SUCCESS
                                                                                 : CUDA_ERROR_INVALID_VALUE;
  }
  out.base = q.ptr;
  out.pitch = q.pitch;
  out.slice = out.pitch * q.ysize;
  out.offset = at.z * out.slice + at.y * out.pitch + at.x;
  return e.width > q.pitch ? kInvalidPitch : CUDA_SUCCESS;
}

CUresult copy_symbol(State& s, const void* symbol, void* outside, size_t size, size_t offset, cudaMemcpyKind kind,
                     bool to_symbol) {
  SymbolPlace p;
  if (CUresult e = find_symbol(symbol, p); e != CUDA_SUCCESS) return e;
  if (offset > p.size || size > p.size - offset) return CUDA_ERROR_INVALID_VALUE;
  const auto right = to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  if (kind != right && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) return kInvalidMemcpyDirection;
  void* inside = reinterpret_cast<void*>(p.address + offset);
  return to_symbol ? copy_1d(s, inside, outside, size, kind) : copy_1d(s, outside, inside, size, kind);
}

/// Work that a graph cannot hold.
template <class F>
cudaError_t now_on(cudaStream_t stream, F&& f) {
  return on_stream(stream, [&](State& s, Stream& p) {
    const CUresult e = no_capture(p);
    return e == CUDA_SUCCESS ? CUresult(f(s)) : e;
  });
}
/// Work that a graph can hold: `f` has its arguments by value.
cudaError_t work_on(cudaStream_t stream, CUgraphNodeType type, Work f) {
  return on_stream<Pending::stays>(stream, [&](State& s, Stream& p) { return submit(s, p, type, std::move(f)); });
}

/// A pitch below the width is an error only where there is a second row, as on hardware.
CUresult fill_rows(State& s, void* dst, size_t pitch, int value, size_t width, size_t height, size_t depth = 1,
                   CheckedSize slice = 0) {
  if (width > pitch && height > 1) return kInvalidPitch;
  return fill(s, reinterpret_cast<uint64_t>(dst), uint32_t(value), 1, width, height, pitch, depth, slice);
}

}  // namespace

CUresult tinygpu::cuda::copy_3d(State& s, const cudaMemcpy3DParms& p) {
  CopyEnd to, from;
  if (!sides(p.kind, to.side, from.side)) return kInvalidMemcpyDirection;
  if ((p.dstArray && to.side == Side::host) || (p.srcArray && from.side == Side::host)) return kInvalidMemcpyDirection;
  cudaExtent e = p.extent;
  if (const Array* a = find_array(s, p.dstArray ? p.dstArray : p.srcArray))
    e.width = (CheckedSize(e.width) * a->format.bytes()).value();
  if (CUresult bad = end_of(s, p.dstArray, p.dstPtr, p.dstPos, e, to); bad != CUDA_SUCCESS) return bad;
  if (CUresult bad = end_of(s, p.srcArray, p.srcPtr, p.srcPos, e, from); bad != CUDA_SUCCESS) return bad;
  return copy(s, to, from, e.width, e.height, e.depth);
}

extern "C" {

cudaError_t cudaMemcpy(void* dst, const void* src, size_t size, cudaMemcpyKind kind) {
  return blocking([&](State& s) { return copy_1d(s, dst, src, size, kind); });
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  return work_on(stream, CU_GRAPH_NODE_TYPE_MEMCPY, [=](State& s) { return copy_1d(s, dst, src, size, kind); });
}
cudaError_t cudaMemcpyPeer(void* dst, int dst_device, const void* src, int src_device, size_t size) {
  return blocking([&](State& s) {
    if (dst_device != 0 || src_device != 0) return CUDA_ERROR_INVALID_DEVICE;
    return copy_1d(s, dst, src, size, cudaMemcpyDeviceToDevice);
  });
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device, size_t size,
                                cudaStream_t stream) {
  return now_on(stream, [&](State& s) {
    if (dst_device != 0 || src_device != 0) return CUDA_ERROR_INVALID_DEVICE;
    return copy_1d(s, dst, src, size, cudaMemcpyDeviceToDevice);
  });
}
cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return blocking([&](State& s) { return copy_2d(s, dst, dst_pitch, src, src_pitch, width, height, kind); });
}
cudaError_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return work_on(stream, CU_GRAPH_NODE_TYPE_MEMCPY,
                 [=](State& s) { return copy_2d(s, dst, dst_pitch, src, src_pitch, width, height, kind); });
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return blocking([&](State& s) { return p ? copy_3d(s, *p) : CUDA_ERROR_INVALID_VALUE; });
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  if (!p) return finish(CUDA_ERROR_INVALID_VALUE);
  return work_on(stream, CU_GRAPH_NODE_TYPE_MEMCPY, [q = *p](State& s) { return copy_3d(s, q); });
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t size, size_t offset, cudaMemcpyKind kind) {
  return blocking([&](State& s) { return copy_symbol(s, symbol, const_cast<void*>(src), size, offset, kind, true); });
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t size, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return work_on(stream, CU_GRAPH_NODE_TYPE_MEMCPY,
                 [=](State& s) { return copy_symbol(s, symbol, const_cast<void*>(src), size, offset, kind, true); });
}
cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t size, size_t offset, cudaMemcpyKind kind) {
  return blocking([&](State& s) { return copy_symbol(s, symbol, dst, size, offset, kind, false); });
}
cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t size, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return work_on(stream, CU_GRAPH_NODE_TYPE_MEMCPY,
                 [=](State& s) { return copy_symbol(s, symbol, dst, size, offset, kind, false); });
}

cudaError_t cudaMemset(void* dst, int value, size_t size) {
  return api([&](State& s) { return fill_rows(s, dst, size, value, size, 1); });
}
cudaError_t cudaMemsetAsync(void* dst, int value, size_t size, cudaStream_t stream) {
  return work_on(stream, CU_GRAPH_NODE_TYPE_MEMSET, [=](State& s) { return fill_rows(s, dst, size, value, size, 1); });
}
cudaError_t cudaMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return api([&](State& s) { return fill_rows(s, dst, pitch, value, width, height); });
}
cudaError_t cudaMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return work_on(stream, CU_GRAPH_NODE_TYPE_MEMSET,
                 [=](State& s) { return fill_rows(s, dst, pitch, value, width, height); });
}
cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent e) {
  return api([&](State& s) {
    return fill_rows(s, p.ptr, p.pitch, value, e.width, e.height, e.depth, CheckedSize(p.pitch) * p.ysize);
  });
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr p, int value, cudaExtent e, cudaStream_t stream) {
  return now_on(stream, [&](State& s) {
    return fill_rows(s, p.ptr, p.pitch, value, e.width, e.height, e.depth, CheckedSize(p.pitch) * p.ysize);
  });
}

}  // extern "C"
