// PTX's names of element types.
#pragma once
#include <string>

namespace tinygpu::test {

/// Bits of an element of a matrix type.
inline int bits_of(const std::string& type) {
  if (type == "f64") return 64;
  if (type == "tf32" || type == "f32" || type == "s32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  if (type == "b1") return 1;
  return type == "s4" || type == "u4" ? 4 : 8;
}

}  // namespace tinygpu::test
