#include "common/tinygpu/cuda/array.h"

#include <cstring>

#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

namespace {

constexpr const char* kArray = "an array";
/// Rows begin at multiples of this. Hardware has another layout, which no program sees.
constexpr uint64_t kRow = 32;
/// What the device's attributes say.
constexpr uint64_t kTextureAlignment = 512, kTexturePitchAlignment = 32, kLongestLinear = 1u << 28;

/// A block that holds a description; its address is the handle.
template <class T>
CUresult keep(State& s, const T& description, const char* name, CUtexObject* handle) {
  const uint64_t block = s.machine.memory().allocate(sizeof(T), MemoryKind::constant, name);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memcpy(s.machine.memory().at(block, sizeof(T)), &description, sizeof(T));
  *handle = block;
  return CUDA_SUCCESS;
}

template <class T>
const T* find(State& s, uint64_t handle, const char* name) {
  const Allocation* a = s.machine.memory().find(handle);
  return a && a->base == handle && a->name == name ? reinterpret_cast<const T*>(a->host) : nullptr;
}

/// Whether CUDA has arrays of this size with these flags.
bool has_size(const Array& a) {
  constexpr uint64_t kMostLayers = 2048;
  if (!a.size[0] || (a.layered() && a.size[2] > kMostLayers)) return false;
  if (a.cube()) return a.size[0] == a.size[1] && (a.layered() ? a.size[2] && a.size[2] % 6 == 0 : a.size[2] == 6);
  return a.layered() ? a.size[2] : a.size[1] || !a.size[2];
}

}  // namespace

CUresult make_array(State& s, Array a, void** handle) {
  const uint8_t c = a.format.channels;
  if (!has_size(a) || (c != 1 && c != 2 && c != 4)) return CUDA_ERROR_INVALID_VALUE;
  // That it is for surface stores or gathers is no matter: every array here is.
  constexpr unsigned kKnown =
      CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER;
  if (a.flags & ~kKnown) return CUresult(say_not_implemented("an array that is sparse, or of another kind"));
  const CheckedSize row = CheckedSize(a.size[0]) * a.format.bytes(), pitch = row.rounded_up(kRow);
  const CheckedSize slice = pitch * (a.size[1] ? a.size[1] : 1), whole = slice * (a.size[2] ? a.size[2] : 1);
  if (whole.overflowed()) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult e = allocate(s, a.texels, whole.value(), MemoryKind::device); e != CUDA_SUCCESS) return e;
  a.row = row.value(), a.pitch = pitch.value(), a.slice = slice.value();
  return keep(s, a, kArray, reinterpret_cast<CUtexObject*>(handle));
}

const Array* find_array(State& s, const void* handle) { return find<Array>(s, address_of(handle), kArray); }

CUresult free_array(State& s, const void* handle) {
  const Array* a = find_array(s, handle);
  if (!a) return CUDA_ERROR_INVALID_HANDLE;
  s.machine.memory().release(a->texels);
  s.machine.memory().release(address_of(handle));
  return CUDA_SUCCESS;
}

bool array_end(const Array& a, uint64_t x, uint64_t y, uint64_t z, uint64_t width, uint64_t height, uint64_t depth,
               CopyEnd& out) {
  const uint64_t rows = a.size[1] ? a.size[1] : 1, planes = a.size[2] ? a.size[2] : 1;
  const auto fits = [](uint64_t at, uint64_t count, uint64_t size) { return at <= size && count <= size - at; };
  if (!fits(x, width, a.row) || !fits(y, height, rows) || !fits(z, depth, planes)) return false;
  if (x % a.format.bytes() || width % a.format.bytes()) return false;
  out = {reinterpret_cast<const void*>(a.texels), Side::device, a.pitch, a.slice, z * a.slice + y * a.pitch + x};
  return true;
}

void describe(const Array& a, TextureObject& t) {
  t.texels = a.texels;
  t.pitch = a.pitch, t.slice = a.slice;
  t.dims = a.dims();
  t.cube = a.cube();
  t.layers = a.layered() ? uint32_t(a.size[2] / (a.cube() ? 6 : 1)) : 0;
  for (int d = 0; d < t.dims; ++d) t.size[d] = uint32_t(a.size[d]);
  t.format = a.format;
}

CUresult describe_linear(State& s, uint64_t address, uint64_t bytes, TextureObject& t) {
  t.texels = address;
  t.linear_memory = true;
  t.size[0] = uint32_t(bytes / t.format.bytes());
  if (address % kTextureAlignment || !t.size[0] || bytes / t.format.bytes() > kLongestLinear)
    return CUDA_ERROR_INVALID_VALUE;
  return reach(s, reinterpret_cast<const void*>(address), bytes, Side::device, false) ? CUDA_SUCCESS
                                                                                      : CUDA_ERROR_INVALID_VALUE;
}

CUresult describe_pitched(State& s, uint64_t address, uint64_t width, uint64_t height, uint64_t pitch,
                          TextureObject& t) {
  t.texels = address;
  t.pitch = pitch;
  t.dims = 2;
  t.size[0] = uint32_t(width), t.size[1] = uint32_t(height);
  const CheckedSize row = CheckedSize(width) * t.format.bytes();
  if (!width || !height || address % kTextureAlignment || pitch % kTexturePitchAlignment || row.value() > pitch)
    return CUDA_ERROR_INVALID_VALUE;
  const CheckedSize whole = CheckedSize(height - 1) * pitch + row;
  return reach(s, reinterpret_cast<const void*>(address), whole.value(), Side::device, false)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult set_mode(TextureObject& t, int dimension, int mode, const float* border) {
  if (mode < 0 || mode > int(TextureObject::Address::border)) return CUDA_ERROR_INVALID_VALUE;
  t.mode[dimension] = TextureObject::Address(mode);
  if (t.mode[dimension] == TextureObject::Address::border &&
      (border[0] != 0 || border[1] != 0 || border[2] != 0 || border[3] != 0))
    return CUresult(say_not_implemented("a texture with a border colour"));
  return CUDA_SUCCESS;
}

CUresult set_seamless(TextureObject& t) {
  if (!t.cube) return CUDA_ERROR_INVALID_VALUE;
  if (t.filter) return CUresult(say_not_implemented("a cube map that is filtered across its faces' edges"));
  for (auto& mode : t.mode) mode = TextureObject::Address::clamp;
  return CUDA_SUCCESS;
}

CUresult make_texture(State& s, TextureObject t, CUtexObject* handle) {
  t.normalized |= t.cube;  // a direction, whatever the flag says
  const bool integers = t.format.kind != TexelFormat::Kind::floating;
  const uint8_t c = t.format.channels;
  if (c != 1 && c != 2 && c != 4) return CUDA_ERROR_INVALID_VALUE;
  // Integers of 32 bits are no fractions, and integers are not filtered.
  if ((t.as_float && integers && t.format.bits == 32) || (t.filter && !reads_floats(t)))
    return CUDA_ERROR_INVALID_VALUE;
  // Of these an H200's words are known, and no rule that gives them.
  if (t.filter && t.format.kind == TexelFormat::Kind::signed_integer && t.format.bits == 8)
    return CUresult(say_not_implemented("a filtered texture of 8-bit signed integers"));
  const auto mirrored = [&](int d) { return t.mode[d] == TextureObject::Address::mirror; };
  if (t.filter && t.dims == 3 && t.normalized && (mirrored(0) || mirrored(2)))
    return CUresult(say_not_implemented("a filtered 3D texture that is mirrored in x or z"));
  return keep(s, t, TextureObject::kName, handle);
}

CUresult destroy_texture(State& s, uint64_t handle) {
  if (!find<TextureObject>(s, handle, TextureObject::kName)) return CUDA_ERROR_INVALID_VALUE;
  s.machine.memory().release(handle);
  return CUDA_SUCCESS;
}

CUresult make_surface(State& s, const Array& a, CUsurfObject* handle) {
  if (!(a.flags & CUDA_ARRAY3D_SURFACE_LDST)) return CUDA_ERROR_INVALID_VALUE;
  SurfaceObject o;
  o.texels = a.texels, o.row = a.row, o.pitch = a.pitch, o.slice = a.slice;
  o.height = uint32_t(a.size[1] ? a.size[1] : 1), o.depth = uint32_t(a.size[2] ? a.size[2] : 1);
  o.dims = a.dims();
  o.layered = a.cube() || a.layered();
  return keep(s, o, SurfaceObject::kName, handle);
}
CUresult destroy_surface(State& s, uint64_t handle) {
  if (!find<SurfaceObject>(s, handle, SurfaceObject::kName)) return CUDA_ERROR_INVALID_VALUE;
  s.machine.memory().release(handle);
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
