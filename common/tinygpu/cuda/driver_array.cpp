// Arrays and texture objects of the driver API.
#include "common/tinygpu/cuda/array.h"
#include "common/tinygpu/cuda/driver.h"

using namespace tinygpu::cuda;
using tinygpu::TexelFormat;
using tinygpu::TextureObject;

namespace {

using ArrayHandle = CUarray;
using Resource = CUDA_RESOURCE_DESC;
using Sampler = CUDA_TEXTURE_DESC;
using ResourceView = CUDA_RESOURCE_VIEW_DESC;

bool format_of(CUarray_format format, unsigned channels, TexelFormat& out) {
  using Kind = TexelFormat::Kind;
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: out = {Kind::unsigned_integer, 8}; break;
    case CU_AD_FORMAT_UNSIGNED_INT16: out = {Kind::unsigned_integer, 16}; break;
    case CU_AD_FORMAT_UNSIGNED_INT32: out = {Kind::unsigned_integer, 32}; break;
    case CU_AD_FORMAT_SIGNED_INT8: out = {Kind::signed_integer, 8}; break;
    case CU_AD_FORMAT_SIGNED_INT16: out = {Kind::signed_integer, 16}; break;
    case CU_AD_FORMAT_SIGNED_INT32: out = {Kind::signed_integer, 32}; break;
    case CU_AD_FORMAT_HALF: out = {Kind::floating, 16}; break;
    case CU_AD_FORMAT_FLOAT: out = {Kind::floating, 32}; break;
    default: return false;
  }
  out.channels = uint8_t(channels);
  return channels == 1 || channels == 2 || channels == 4;
}

CUarray_format format_of(const TexelFormat& f) {
  if (f.kind == TexelFormat::Kind::floating) return f.bits == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
  const bool is_signed = f.kind == TexelFormat::Kind::signed_integer;
  switch (f.bits) {
    case 8: return is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
    case 16: return is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
    default: return is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
  }
}

CUresult new_array(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& d) {
  return in_context([&](State& s) {
    Array a;
    if (!format_of(d.Format, d.NumChannels, a.format)) return CUDA_ERROR_INVALID_VALUE;
    a.size[0] = d.Width, a.size[1] = d.Height, a.size[2] = d.Depth;
    a.flags = d.Flags;
    return make_array(s, a, raw(out));
  });
}

const Array* array_of(State& s, const CUDA_RESOURCE_DESC& r) {
  return r.resType == CU_RESOURCE_TYPE_ARRAY ? find_array(s, r.res.array.hArray) : nullptr;
}

CUresult texture_of(State& s, const CUDA_RESOURCE_DESC& r, TextureObject& t) {
  switch (r.resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
      const Array* a = find_array(s, r.res.array.hArray);
      if (!a) return CUDA_ERROR_INVALID_HANDLE;
      describe(*a, t);
      return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& l = r.res.linear;
      if (!format_of(l.format, l.numChannels, t.format)) return CUDA_ERROR_INVALID_VALUE;
      return describe_linear(s, l.devPtr, l.sizeInBytes, t);
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& p = r.res.pitch2D;
      if (!format_of(p.format, p.numChannels, t.format)) return CUDA_ERROR_INVALID_VALUE;
      return describe_pitched(s, p.devPtr, p.width, p.height, p.pitchInBytes, t);
    }
    default: return CUresult(say_not_implemented("a texture of a mipmapped array"));
  }
}

CUresult sampler_of(const CUDA_TEXTURE_DESC& d, TextureObject& t) {
  if (d.flags & CU_TRSF_SRGB) return CUresult(say_not_implemented("a texture in sRGB"));
  for (int i = 0; i < 3; ++i)
    if (CUresult e = set_mode(t, i, int(d.addressMode[i]), d.borderColor); e != CUDA_SUCCESS) return e;
  t.filter = d.filterMode == CU_TR_FILTER_MODE_LINEAR;
  t.as_float =
      !(d.flags & CU_TRSF_READ_AS_INTEGER) && t.format.kind != TexelFormat::Kind::floating && t.format.bits < 32;
  t.normalized = d.flags & CU_TRSF_NORMALIZED_COORDINATES;
  return d.flags & CU_TRSF_SEAMLESS_CUBEMAP ? set_seamless(t) : CUDA_SUCCESS;
}

}  // namespace

extern "C" {

#include "common/tinygpu/cuda/texture_calls.inc"

CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* d) {
  return out && d ? new_array(out, {d->Width, d->Height, 0, d->Format, d->NumChannels, 0}) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* d) {
  return out && d ? new_array(out, *d) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* d, CUarray array) {
  return in_context([&](State& s) {
    const Array* a = find_array(s, array);
    if (!a) return CUDA_ERROR_INVALID_HANDLE;
    return answer(d, {a->size[0], a->size[1], a->size[2], format_of(a->format), a->format.channels, a->flags});
  });
}
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* d, CUarray array) {
  return in_context([&](State& s) {
    const Array* a = find_array(s, array);
    if (!a) return CUDA_ERROR_INVALID_HANDLE;
    return answer(d, {a->size[0], a->size[1], format_of(a->format), a->format.channels});
  });
}

}  // extern "C"
