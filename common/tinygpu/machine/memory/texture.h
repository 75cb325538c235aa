// Texture objects: what a kernel is given as a handle, and what a read of it gives. Plain formats in one, two and three
// dimensions, layers of one and of two, and cubes; no mipmaps.
#pragma once
#include <cstdint>

namespace tinygpu {

/// A texel: 1, 2 or 4 channels of one kind.
struct TexelFormat {
  enum class Kind : uint8_t { unsigned_integer, signed_integer, floating };
  Kind kind = Kind::floating;
  uint8_t bits = 32, channels = 1;
  uint32_t bytes() const { return uint32_t(bits) / 8 * channels; }
};

/// What lies in the machine's memory where a texture object's handle points.
struct TextureObject {
  enum class Address : uint8_t { wrap, clamp, mirror, border };
  uint64_t texels = 0;  // device address
  uint64_t pitch = 0, slice = 0;
  uint32_t size[3] = {1, 1, 1};
  TexelFormat format;
  uint8_t dims = 1;            // of a layer, or of a cube's face
  bool cube = false;           // six faces a layer, each a slice
  uint32_t layers = 0;         // 0: it is not layered
  bool linear_memory = false;  // read by an integer, without addressing modes
  Address mode[3] = {Address::clamp, Address::clamp, Address::clamp};
  bool filter = false;                                      // linear: between the texels around the point
  bool normalized = false;                                  // coordinates from 0 to 1
  bool as_float = false;                                    // integers are read as fractions of their largest value
  static constexpr const char* kName = "a texture object";  // of the allocation that holds it
};

/// The texels that a read takes part of, at most two in each dimension, and their weights.
struct Taps {
  uint32_t count = 0;
  uint64_t offset[8];  // bytes behind TextureObject::texels
  uint32_t weight[8];  // 256ths
  bool inside[8];      // false: the border, which is zero
};
/// Of a read at `at` (for a cube: a direction) in a layer, or the last one if there are fewer.
Taps taps_of(const TextureObject& t, const float* at, uint32_t layer = 0);
/// Of a read of linear memory at element `index`.
Taps taps_of(const TextureObject& t, int32_t index);

/// What the read gives: four words, floats or integers as the format says. `texel[i]`: the bytes of tap i.
void read_texture(const TextureObject& t, const Taps& taps, const uint8_t* const* texel, uint32_t out[4]);
/// True if the words are floats.
inline bool reads_floats(const TextureObject& t) { return t.format.kind == TexelFormat::Kind::floating || t.as_float; }

}  // namespace tinygpu
