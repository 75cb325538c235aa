// The 64-bit shared-memory descriptor of a tcgen05 operand (PTX ISA 9.7.16.4.1, 9.7.16.3).
//
//   bits 13:0  start address >> 4      bits 29:16  leading-dimension byte offset >> 4 (LBO)
//   bits 45:32 stride-dimension byte offset >> 4 (SBO)     bits 48:46  0b001     bits 51:49 base offset
//   bit  52    LBO is an absolute address (sm_103a)         bits 63:61  swizzle
//
// What LBO and SBO mean depends on the layout (distances in bytes between ...):
//              no swizzle                                  swizzled
//   K-major    SBO: 8-row groups, LBO: 16-byte K columns    SBO: 8-row groups, LBO not read (write 16)
//   MN-major   SBO: 16-byte MN blocks, LBO: 8-k groups      SBO: 8-k groups (4-k with 32-byte atoms), LBO: MN blocks of
//   span
#pragma once
#include <cstdint>

#include "common/layout/element.h"
#include "common/layout/swizzle.h"

namespace gen5::layout {

struct SmemOperand {
  Element element = Element::bf16;
  Major major = Major::k;
  Swizzle swizzle = Swizzle::b128;
  uint32_t leading = 16;  // LBO in bytes
  uint32_t stride = 0;    // SBO in bytes
};

/// Why no instruction can read such an operand, or nullptr.
GEN5_LAYOUT const char* why_illegal(const SmemOperand& o) {
  if (o.leading % 16 || o.stride % 16) return "LBO and SBO are multiples of 16 bytes";
  if (o.leading > 0x3fff0 || o.stride > 0x3fff0)
    return "LBO and SBO have 14 bits of 16-byte units: at most 262128 bytes";
  const bool atom32 = o.swizzle == Swizzle::b128_atom32;
  if (o.element == Element::tf32 && o.major == Major::mn && !atom32)
    return "MN-major 32-bit operands need the 128-byte swizzle with 32-byte atoms";
  if (atom32 && !(o.element == Element::tf32 && o.major == Major::mn))
    return "the 128-byte swizzle with 32-byte atoms is for MN-major 32-bit operands";
  return nullptr;
}

/// Every field but the start address. Evaluated by the compiler: an impossible operand does not compile, and the
/// diagnosis quotes why.
consteval uint64_t smem_descriptor(SmemOperand o) {
  if (const char* why = why_illegal(o)) throw why;
  return uint64_t(o.leading >> 4) << 16 | uint64_t(o.stride >> 4) << 32 | uint64_t(1) << 46 | uint64_t(o.swizzle) << 61;
}

/// The descriptor of an operand that begins at 32-bit shared address `address`, a multiple of 16. Stepping along K
/// inside a swizzled row is stepping the address: the swizzle takes its phase from higher address bits.
GEN5_LAYOUT uint64_t at_address(uint64_t descriptor, uint32_t address) {
  return descriptor | ((address & 0x3ffff) >> 4);
}

/// Byte offset of (row, byte along K) in a K-major tile that TMA wrote: rows of span_bytes, one below the other, from a
/// start aligned to repeat_bytes. For `none`, columns of 16 bytes × `rows` follow each other.
GEN5_LAYOUT uint32_t k_major_offset(Swizzle s, uint32_t rows, uint32_t row, uint32_t k_byte) {
  const uint32_t span = span_bytes(s);
  return swizzled(s, (k_byte / span) * rows * span + row * span + k_byte % span);
}

/// Byte offset of (byte along M or N, k) in an MN-major tile that TMA wrote: one row of span_bytes for each of `depth`
/// k, blocks of span along M or N behind each other.
GEN5_LAYOUT uint32_t mn_major_offset(Swizzle s, uint32_t depth, uint32_t mn_byte, uint32_t k) {
  const uint32_t span = span_bytes(s);
  return swizzled(s, (mn_byte / span) * depth * span + k * span + mn_byte % span);
}

}  // namespace gen5::layout
