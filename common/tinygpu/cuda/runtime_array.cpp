// Arrays and texture objects of the runtime API.
#include <algorithm>

#include "common/tinygpu/cuda/array.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/runtime.h"
#include "common/tinygpu/cuda/runtime_sides.h"

using namespace tinygpu::cuda;
using tinygpu::TexelFormat;
using tinygpu::TextureObject;

namespace {

using ArrayHandle = cudaArray_t;
using Resource = cudaResourceDesc;
using Sampler = cudaTextureDesc;
using ResourceView = cudaResourceViewDesc;

/// False for what no array has: channels of different widths, or of none.
bool format_of(const cudaChannelFormatDesc& d, TexelFormat& out) {
  switch (d.f) {
    case cudaChannelFormatKindSigned: out.kind = TexelFormat::Kind::signed_integer; break;
    case cudaChannelFormatKindUnsigned: out.kind = TexelFormat::Kind::unsigned_integer; break;
    case cudaChannelFormatKindFloat: out.kind = TexelFormat::Kind::floating; break;
    default: return false;
  }
  if ((d.x != 8 && d.x != 16 && d.x != 32) || (d.f == cudaChannelFormatKindFloat && d.x == 8)) return false;
  const int channels[] = {d.x, d.y, d.z, d.w};
  out.bits = uint8_t(d.x);
  out.channels = 0;
  while (out.channels < 4 && channels[out.channels] == d.x) ++out.channels;
  for (int c = out.channels; c < 4; ++c)
    if (channels[c]) return false;
  return true;
}

cudaChannelFormatDesc desc_of(const TexelFormat& f) {
  const auto channel = [&](int c) { return f.channels > c ? int(f.bits) : 0; };
  const auto kind = f.kind == TexelFormat::Kind::floating         ? cudaChannelFormatKindFloat
                    : f.kind == TexelFormat::Kind::signed_integer ? cudaChannelFormatKindSigned
                                                                  : cudaChannelFormatKindUnsigned;
  return {channel(0), channel(1), channel(2), channel(3), kind};
}

CUresult new_array(State& s, cudaArray_t* out, const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned flags) {
  Array a;
  if (!out || !desc) return CUDA_ERROR_INVALID_VALUE;
  if (!format_of(*desc, a.format)) return CUresult(cudaErrorInvalidChannelDescriptor);
  a.size[0] = extent.width, a.size[1] = extent.height, a.size[2] = extent.depth;
  a.flags = flags;
  return make_array(s, a, raw(out));
}

/// Rows between memory and an array, whichever way.
CUresult copy_rows(State& s, cudaArray_const_t array, size_t x, size_t y, void* memory, size_t pitch, size_t width,
                   size_t height, cudaMemcpyKind kind, bool to_array) {
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  const Array* a = find_array(s, array);
  if (!a) return CUDA_ERROR_INVALID_HANDLE;
  CopyEnd inside, outside{memory, Side::either, pitch}, ignored;
  if (!sides(kind, to_array ? ignored.side : outside.side, to_array ? outside.side : ignored.side))
    return kInvalidMemcpyDirection;
  if (ignored.side == Side::host) return kInvalidMemcpyDirection;
  if (width > pitch) return kInvalidPitch;
  if (!array_end(*a, x, y, 0, width, height, 1, inside)) return CUDA_ERROR_INVALID_VALUE;
  return to_array ? copy(s, inside, outside, width, height) : copy(s, outside, inside, width, height);
}

/// `bytes` of an array from (x, y) on, row after row, to or from memory without gaps.
CUresult copy_run(State& s, cudaArray_const_t array, size_t x, size_t y, void* memory, size_t bytes,
                  cudaMemcpyKind kind, bool to_array) {
  const Array* a = find_array(s, array);
  if (!a) return CUDA_ERROR_INVALID_HANDLE;
  if (x >= a->row) return CUDA_ERROR_INVALID_VALUE;
  auto* at = static_cast<uint8_t*>(memory);
  while (bytes) {
    const size_t width = std::min<size_t>(bytes, a->row - x), height = x ? 1 : std::max<size_t>(bytes / a->row, 1);
    if (CUresult e = copy_rows(s, array, x, y, at, width, width, height, kind, to_array); e != CUDA_SUCCESS) return e;
    at += width * height;
    bytes -= width * height;
    y += height;
    x = 0;
  }
  return CUDA_SUCCESS;
}

cudaError_t copy_on(cudaStream_t stream, Work f) {
  return on_stream<Pending::stays>(
      stream, [&](State& s, Stream& p) { return submit(s, p, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(f)); });
}

const Array* array_of(State& s, const cudaResourceDesc& r) {
  return r.resType == cudaResourceTypeArray ? find_array(s, r.res.array.array) : nullptr;
}

CUresult texture_of(State& s, const cudaResourceDesc& r, TextureObject& t) {
  switch (r.resType) {
    case cudaResourceTypeArray: {
      const Array* a = find_array(s, r.res.array.array);
      if (!a) return CUDA_ERROR_INVALID_HANDLE;
      describe(*a, t);
      return CUDA_SUCCESS;
    }
    case cudaResourceTypeLinear:
      if (!format_of(r.res.linear.desc, t.format)) return CUresult(cudaErrorInvalidChannelDescriptor);
      return describe_linear(s, reinterpret_cast<uint64_t>(r.res.linear.devPtr), r.res.linear.sizeInBytes, t);
    case cudaResourceTypePitch2D: {
      const auto& p = r.res.pitch2D;
      if (!format_of(p.desc, t.format)) return CUresult(cudaErrorInvalidChannelDescriptor);
      return describe_pitched(s, reinterpret_cast<uint64_t>(p.devPtr), p.width, p.height, p.pitchInBytes, t);
    }
    default: return CUresult(say_not_implemented("a texture of a mipmapped array"));
  }
}

CUresult sampler_of(const cudaTextureDesc& d, TextureObject& t) {
  for (int i = 0; i < 3; ++i)
    if (CUresult e = set_mode(t, i, int(d.addressMode[i]), d.borderColor); e != CUDA_SUCCESS) return e;
  if (d.sRGB) return CUresult(say_not_implemented("a texture in sRGB"));
  t.filter = d.filterMode == cudaFilterModeLinear;
  t.as_float = d.readMode == cudaReadModeNormalizedFloat && t.format.kind != TexelFormat::Kind::floating;
  t.normalized = d.normalizedCoords;
  return d.seamlessCubemap ? set_seamless(t) : CUDA_SUCCESS;
}

}  // namespace

extern "C" {

#include "common/tinygpu/cuda/texture_calls.inc"

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

cudaError_t cudaMallocArray(cudaArray_t* out, const cudaChannelFormatDesc* desc, size_t width, size_t height,
                            unsigned flags) {
  return api([&](State& s) { return new_array(s, out, desc, {width, height, 0}, flags); });
}
cudaError_t cudaMalloc3DArray(cudaArray_t* out, const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned flags) {
  return api([&](State& s) { return new_array(s, out, desc, extent, flags); });
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
  return api([&](State& s) {
    const Array* a = find_array(s, array);
    if (!a) return CUDA_ERROR_INVALID_HANDLE;
    if (desc) *desc = desc_of(a->format);
    if (extent) *extent = {a->size[0], a->size[1], a->size[2]};
    if (flags) *flags = a->flags;
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
  return api([&](State& s) {
    const Array* a = find_array(s, array);
    return a ? answer(desc, desc_of(a->format)) : CUDA_ERROR_INVALID_HANDLE;
  });
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return blocking(
      [&](State& s) { return copy_rows(s, dst, x, y, const_cast<void*>(src), pitch, width, height, kind, true); });
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void* src, size_t pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_on(stream, [=](State& s) {
    return copy_rows(s, dst, x, y, const_cast<void*>(src), pitch, width, height, kind, true);
  });
}
cudaError_t cudaMemcpy2DFromArray(void* dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
  return blocking([&](State& s) { return copy_rows(s, src, x, y, dst, pitch, width, height, kind, false); });
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_on(stream, [=](State& s) { return copy_rows(s, src, x, y, dst, pitch, width, height, kind, false); });
}
cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t bytes, cudaMemcpyKind kind) {
  return blocking([&](State& s) { return copy_run(s, dst, x, y, const_cast<void*>(src), bytes, kind, true); });
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void* src, size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_on(stream, [=](State& s) { return copy_run(s, dst, x, y, const_cast<void*>(src), bytes, kind, true); });
}
cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
  return blocking([&](State& s) { return copy_run(s, src, x, y, dst, bytes, kind, false); });
}
cudaError_t cudaMemcpyFromArrayAsync(void* dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_on(stream, [=](State& s) { return copy_run(s, src, x, y, dst, bytes, kind, false); });
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t to_x, size_t to_y, cudaArray_const_t src, size_t x,
                                     size_t y, size_t width, size_t height, cudaMemcpyKind) {
  return blocking([&](State& s) {
    const Array *to = find_array(s, dst), *from = find_array(s, src);
    if (!to || !from) return CUDA_ERROR_INVALID_HANDLE;
    CopyEnd a, b;
    if (!array_end(*to, to_x, to_y, 0, width, height, 1, a) || !array_end(*from, x, y, 0, width, height, 1, b))
      return CUDA_ERROR_INVALID_VALUE;
    return copy(s, a, b, width, height);
  });
}

}  // extern "C"
