// The 32-bit instruction descriptor of tcgen05.mma's block-scaled kinds (PTX ISA 9.7.16.4.2), and where scale factors
// lie in memory (9.7.16.10.7).
#pragma once
#include <cstdint>

#include "common/layout/element.h"

namespace gen5::layout {

enum class ScaledKind : uint8_t { mxf8f6f4, mxf4, mxf4nvf4 };

struct ScaledInstruction {
  ScaledKind kind = ScaledKind::mxf8f6f4;
  Element a = Element::e4m3, b = Element::e4m3;
  uint32_t m = 128, n = 128;
  bool ue4m3 = false;  // the scales; else ue8m0
  uint32_t cta_group = 1;
};

/// Elements along K of one instruction, and of one scale.
GEN5_LAYOUT uint32_t depth_of(ScaledKind kind) { return kind == ScaledKind::mxf8f6f4 ? 32 : 64; }
GEN5_LAYOUT uint32_t block_of(ScaledKind kind) { return kind == ScaledKind::mxf4nvf4 ? 16 : 32; }

/// Why there is no such dense instruction, or nullptr.
GEN5_LAYOUT const char* why_illegal(const ScaledInstruction& i) {
  const auto narrow = [](Element e) {
    return e == Element::e4m3 || e == Element::e5m2 || e == Element::e2m3 || e == Element::e3m2 || e == Element::e2m1;
  };
  if (!narrow(i.a) || !narrow(i.b)) return "block-scaled operands are e4m3, e5m2, e2m3, e3m2 or e2m1";
  if (i.kind != ScaledKind::mxf8f6f4 && (i.a != Element::e2m1 || i.b != Element::e2m1))
    return "kinds mxf4 and mxf4nvf4 multiply e2m1";
  if (i.cta_group == 1) {
    if (i.m != 128) return "M is 128 for cta_group::1";
    if (i.n < 8 || i.n > 256 || i.n % 8) return "N is a multiple of 8 from 8 to 256 for cta_group::1";
  } else if (i.cta_group == 2) {
    if (i.m != 128 && i.m != 256) return "M is 128 or 256 for cta_group::2";
    if (i.n < 16 || i.n > 256 || i.n % 16) return "N is a multiple of 16 from 16 to 256 for cta_group::2";
  } else {
    return "cta_group is 1 or 2";
  }
  if (i.ue4m3 && i.kind != ScaledKind::mxf4nvf4) return "only kind::mxf4nvf4 has ue4m3 scales";
  return nullptr;
}

/// Bits: 9:7 A, 12:10 B (e2m1 is 5 in mxf8f6f4 and 1 in the others), 22:17 N/8, 23 ue8m0 scales, 28:27 M/128. The ids
/// of the scales, bits 5:4 of B's and 30:29 of A's, are 0: with_scales puts others. Evaluated by the compiler.
consteval uint32_t scaled_instruction_descriptor(ScaledInstruction i) {
  if (const char* why = why_illegal(i)) throw why;
  const auto code = [&](Element e) -> uint32_t {
    if (i.kind != ScaledKind::mxf8f6f4) return 1;
    switch (e) {
      case Element::e5m2: return 1;
      case Element::e2m3: return 3;
      case Element::e3m2: return 4;
      case Element::e2m1: return 5;
      default: return 0;
    }
  };
  return code(i.a) << 7 | code(i.b) << 10 | (i.n >> 3) << 17 | uint32_t(!i.ue4m3) << 23 | (i.m >> 7) << 27;
}

/// The same instruction with scales from byte `a_id` of A's cells and byte `b_id` of B's on.
GEN5_LAYOUT uint32_t with_scales(uint32_t idesc, uint32_t a_id, uint32_t b_id) {
  return idesc | b_id << 4 | a_id << 29;
}

/// Scales of up to 128 rows (of A, or columns of B) and four neighbours along K are a chunk of 512 bytes, as
/// tcgen05.cp.32x128b.warpx4 brings it: where the scale of `row`, the `j`-th of the four, is.
GEN5_LAYOUT uint32_t scale_offset(uint32_t row, uint32_t j) { return row % 32 * 16 + row / 32 * 4 + j; }
inline constexpr uint32_t kScaleChunk = 512;

}  // namespace gen5::layout
