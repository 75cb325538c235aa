// Shared-memory swizzles: TMA writes boxes with them and tcgen05.mma reads operands with them (PTX
// ISA 5.5.7, 9.7.16.3).
#pragma once
#include <cstdint>

#include "common/layout/attributes.h"

namespace gen5::layout {

/// A swizzle exchanges 16-byte (or 32-byte) chunks inside rows of `span` bytes so that a column of chunks is spread
/// over the banks. Values are the descriptor's encoding (PTX ISA table of the shared-memory descriptor, bits 63:61).
enum class Swizzle : uint8_t {
  none = 0,
  b128_atom32 = 1,  // 128-byte rows, 32-byte chunks
  b128 = 2,
  b64 = 4,
  b32 = 6,
};

/// Bytes of one row: the width inside which chunks move. 16 without swizzle (a core matrix row).
GEN5_LAYOUT uint32_t span_bytes(Swizzle s) {
  switch (s) {
    case Swizzle::none: return 16;
    case Swizzle::b32: return 32;
    case Swizzle::b64: return 64;
    default: return 128;
  }
}

/// Bytes after which the pattern repeats: a tile that begins on a multiple of it begins in phase 0.
GEN5_LAYOUT uint32_t repeat_bytes(Swizzle s) { return s == Swizzle::none ? 16 : 8 * span_bytes(s); }

/// Where the byte goes that would lie at shared address `address` without swizzle. The XOR takes absolute address bits.
GEN5_LAYOUT uint32_t swizzled(Swizzle s, uint32_t address) {
  switch (s) {
    case Swizzle::none: return address;
    case Swizzle::b32: return address ^ ((address >> 3) & 0x10);
    case Swizzle::b64: return address ^ ((address >> 3) & 0x30);
    case Swizzle::b128: return address ^ ((address >> 3) & 0x70);
    case Swizzle::b128_atom32: return address ^ ((address >> 2) & 0x60);
  }
  return address;
}

}  // namespace gen5::layout
