// cuTensorMapEncode*: parameters → the 128-byte object that the TMA unit reads. Only the object's bytes connect this
// with the machine's decoder.
#pragma once
#include <cstdint>
#include <string>

namespace tinygpu::cuda {

struct TensorMapParameters {
  enum class Kind : uint8_t { tiled, im2col, im2col_wide } kind = Kind::tiled;
  void* object = nullptr;  // 128 bytes, anywhere
  uint32_t type = 0;       // CUtensorMapDataType
  uint32_t rank = 0;
  uint64_t address = 0;
  const uint64_t* dims = nullptr;     // rank values, elements
  const uint64_t* strides = nullptr;  // rank − 1 values, bytes
  const uint32_t* box = nullptr;      // tiled: rank values
  const int* lower = nullptr;         // im2col: rank − 2 corners, W H D; wide: one, W
  const int* upper = nullptr;
  uint32_t channels = 0, pixels = 0;  // im2col
  const uint32_t* steps = nullptr;    // rank values
  uint32_t interleave = 0, swizzle = 0, promotion = 0, fill = 0;
  uint32_t wide_mode = 0;  // CUtensorMapIm2ColWideMode
  bool blackwell = true;   // compute capability 10 or later: packed types, swizzle atoms, im2col wide
};

/// Which documented requirement a parameter violates: "boxDim[1] is 300: it must be 1 to 256". Empty if none.
std::string check_tensor_map(const TensorMapParameters& p);
/// Writes the object. The parameters must have passed the check.
void encode_tensor_map(const TensorMapParameters& p);

}  // namespace tinygpu::cuda
