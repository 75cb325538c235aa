// Operand element types of the tensor core, and which of a tile's two directions is contiguous.
#pragma once
#include <cstdint>

#include "common/layout/attributes.h"

namespace gen5::layout {

enum class Element : uint8_t { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, s8, u8 };

/// Bits of an element as it lies in shared memory for kinds f16, tf32, f8f6f4 and i8 (narrower ones are padded to a
/// byte).
GEN5_LAYOUT uint32_t stored_bits(Element e) {
  switch (e) {
    case Element::tf32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    default: return 8;
  }
}

/// K-major: consecutive K lie together (A row by row, B column by column). MN-major: consecutive M (or N) do.
enum class Major : uint8_t { k = 0, mn = 1 };

}  // namespace gen5::layout
