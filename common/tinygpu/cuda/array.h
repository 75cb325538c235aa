// Arrays and texture objects as both APIs see them. Their handles are addresses of blocks of the machine's memory that
// describe them, so that what ends memory ends them.
#pragma once
#include <cstdint>

#include "common/tinygpu/api/texture.h"
#include "common/tinygpu/cuda/memory.h"

namespace tinygpu::cuda {

struct Array {
  uint64_t texels = 0;    // device address
  uint64_t size[3] = {};  // width, height, depth in texels, or layers, or faces; 0: the array has fewer dimensions
  uint64_t pitch = 0, slice = 0, row = 0;  // bytes; row: of texels
  TexelFormat format;
  unsigned flags = 0;
  bool cube() const { return flags & CUDA_ARRAY3D_CUBEMAP; }
  bool layered() const { return flags & CUDA_ARRAY3D_LAYERED; }
  /// Of a layer, or of a cube's face.
  uint8_t dims() const { return size[2] && !cube() && !layered() ? 3 : size[1] ? 2 : 1; }
};

/// Makes an array of `wanted`'s size, format and flags. INVALID_VALUE for a size that such an array cannot have,
/// NOT_SUPPORTED (said by name) for flags of sparse arrays and others.
CUresult make_array(State& s, Array wanted, void** handle);
CUresult free_array(State& s, const void* handle);
/// The live array of a handle, or nullptr.
const Array* find_array(State& s, const void* handle);

/// An end of a copy that begins at texel byte x, row y, plane z of an array, for a block of that extent. False if it
/// leaves the array.
bool array_end(const Array& a, uint64_t x, uint64_t y, uint64_t z, uint64_t width, uint64_t height, uint64_t depth,
               CopyEnd& out);

/// Complete a texture of an array (memory, size, format), or one whose format is known: of linear memory, and of rows.
void describe(const Array& a, TextureObject& t);
CUresult describe_linear(State& s, uint64_t address, uint64_t bytes, TextureObject& t);
CUresult describe_pitched(State& s, uint64_t address, uint64_t width, uint64_t height, uint64_t pitch,
                          TextureObject& t);
/// One dimension's addressing mode, in CUDA's numbers. A border has no colour here.
CUresult set_mode(TextureObject& t, int dimension, int mode, const float* border);
/// Reads across the edges of a cube's faces, which replaces the addressing modes. The filter has to be set before.
CUresult set_seamless(TextureObject& t);
/// Makes the object, if CUDA has textures like it: INVALID_VALUE otherwise.
CUresult make_texture(State& s, TextureObject t, CUtexObject* handle);
CUresult destroy_texture(State& s, uint64_t handle);

/// A surface of an array. INVALID_VALUE if it was not made for one (CUDA_ARRAY3D_SURFACE_LDST).
CUresult make_surface(State& s, const Array& a, CUsurfObject* handle);
CUresult destroy_surface(State& s, uint64_t handle);

}  // namespace tinygpu::cuda
