// The 128-byte tensor map object, decoded. Layout: generated code of tensormap.replace and the driver's own encodings
// on an H200 (notes/evidence.md); the encoder in cuda/ is written separately.
#pragma once
#include <cstdint>
#include <string>

namespace tinygpu {

/// Element types, by the code that the object holds: 14 and 15 are none.
enum class TensorElement : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f32_ftz,
  f64,
  bf16,
  b4x16,
  b4x16_p64,
  b6x16,      // packed; b6x16 is b6x16_p32 when loaded, b6p2x16 when stored
  tf32 = 16,  // f32 and f32_ftz with the object's tf32 bit
  tf32_ftz
};

enum class Swizzle : uint8_t { none, b32, b64, b128, b96 };

struct TensorMap {
  static constexpr int kBytes = 128;

  uint64_t base = 0;  // global address
  uint32_t rank = 1;  // 1..5
  TensorElement element = TensorElement::u8;
  uint32_t bits = 8;        // of one element in global memory
  uint64_t dim[5] = {};     // elements
  uint64_t stride[5] = {};  // bytes; [0] is not stored in the object and unused
  uint32_t box[5] = {};     // tile mode: elements to traverse; [0] is the channels per pixel of im2col
  uint32_t step[5] = {};    // traversal strides
  uint32_t interleave = 0;  // 0 none, 1 16 B, 2 32 B
  Swizzle swizzle = Swizzle::none;
  uint32_t atomicity = 0;  // of the 128 B swizzle: 0 16 B, 1 32 B, 2 32 B with 8 B flip, 3 64 B
  uint32_t l2_promotion = 0;
  bool nan_fill = false;
  bool im2col = false;
  bool wide = false;                     // of im2col: made for .im2col::w; known for ranks 4 and 5 only
  int32_t lower[3] = {}, upper[3] = {};  // im2col corners: W, H, D
  uint32_t pixels = 0;                   // im2col: pixels per column

  bool hopper = false;        // decoded as compute capability 9.0 does
  bool known_element = true;  // the element type's code is one, and the tf32 mark stands at an f32
  uint32_t code = 0;          // of the element type, as the map has it
  bool tf32 = false;

  /// An H200 ignores what compute capability 10.0 brought: the atoms of the swizzle, im2col wide.
  static TensorMap decode(const uint8_t* object, bool hopper = false);
  /// Why the global address is misaligned, or an empty string.
  std::string misalignment() const;
  /// Why no instruction can use this object, or an empty string. A map that was never encoded fails here.
  std::string defect() const;

  /// Bytes of one run along dimension 0, in shared memory without padding between rows.
  uint32_t inner_bytes() const;
  /// Distance of two rows in shared memory.
  uint32_t pitch() const;
  /// Swizzled place of byte `address` of shared memory.
  uint32_t place(uint32_t address) const {
    switch (swizzle) {
      case Swizzle::none: return address;
      case Swizzle::b32:
      case Swizzle::b96: return address ^ ((address >> 7 & 1) << 4);
      case Swizzle::b64: return address ^ ((address >> 7 & 3) << 4);
      case Swizzle::b128: break;
    }
    switch (atomicity) {
      case 0: return address ^ ((address >> 7 & 7) << 4);
      case 1: return address ^ ((address >> 7 & 3) << 5);
      case 2: return address ^ ((address >> 7 & 3) << 5) ^ ((address >> 7 & 1) << 3);
      default: return address ^ ((address >> 7 & 1) << 6);
    }
  }
  /// The 16-byte chunks stay whole under the swizzle.
  bool keeps_chunks() const { return !(swizzle == Swizzle::b128 && atomicity == 2); }
  bool packed() const { return element == TensorElement::b4x16 || padded(); }
  bool padded() const { return element == TensorElement::b4x16_p64 || element == TensorElement::b6x16; }
};

/// "FLOAT32", "16U4_ALIGN16B" …
const char* name_of(TensorElement e);

}  // namespace tinygpu
