// The 32-bit instruction descriptor of tcgen05.mma for kinds f16, tf32, f8f6f4 and i8 (PTX ISA 9.7.16.4.2).
#pragma once
#include <cstdint>

#include "common/layout/element.h"

namespace gen5::layout {

enum class Kind : uint8_t { f16, tf32, f8f6f4, i8 };
enum class Accumulator : uint8_t { f16 = 0, f32 = 1, s32 = 2 };

struct Instruction {
  Kind kind = Kind::f16;
  Element a = Element::bf16, b = Element::bf16;
  Accumulator d = Accumulator::f32;
  uint32_t m = 128, n = 128;
  Major a_major = Major::k, b_major = Major::k;
  bool negate_a = false, negate_b = false;
  bool saturate = false;  // kind::i8
  uint32_t cta_group = 1;
};

/// Is `e` an operand of this kind?
GEN5_LAYOUT bool belongs(Kind kind, Element e) {
  switch (kind) {
    case Kind::f16: return e == Element::f16 || e == Element::bf16;
    case Kind::tf32: return e == Element::tf32;
    case Kind::f8f6f4:
      return e == Element::e4m3 || e == Element::e5m2 || e == Element::e2m3 || e == Element::e3m2 || e == Element::e2m1;
    case Kind::i8: return e == Element::s8 || e == Element::u8;
  }
  return false;
}

/// Why there is no such dense, not weight-stationary instruction (PTX ISA table of shapes), or nullptr.
GEN5_LAYOUT const char* why_illegal(const Instruction& i) {
  if (!belongs(i.kind, i.a) || !belongs(i.kind, i.b)) return "the element types do not belong to the kind";
  if (i.kind == Kind::i8 ? i.d != Accumulator::s32 : i.d == Accumulator::s32)
    return "kind::i8, and only it, accumulates in s32";
  if (i.kind == Kind::tf32 && i.d != Accumulator::f32) return "kind::tf32 accumulates in f32";
  if (i.kind == Kind::f16 && i.d == Accumulator::f16 && (i.a != Element::f16 || i.b != Element::f16))
    return "f16 accumulators need f16 operands";
  if (i.kind == Kind::f16 && i.a != i.b) return "f16 and bf16 operands are not mixed";
  if (i.saturate && i.kind != Kind::i8) return "only kind::i8 saturates";
  if (i.kind == Kind::i8 && (i.negate_a || i.negate_b)) return "kind::i8 does not negate";
  if (i.cta_group == 1) {
    if (i.m != 64 && i.m != 128) return "M is 64 or 128 for cta_group::1";
    if (i.n < 8 || i.n > 256 || i.n % 8) return "N is a multiple of 8 from 8 to 256 for cta_group::1";
    if (i.kind == Kind::i8 && i.n > 32 && i.n % 16) return "N above 32 is a multiple of 16 for kind::i8";
  } else if (i.cta_group == 2) {
    if (i.m != 128 && i.m != 256) return "M is 128 or 256 for cta_group::2";
    const uint32_t step = i.kind == Kind::i8 ? 32 : 16;
    if (i.n < step || i.n > 256 || i.n % step)
      return "N is a multiple of 16 (32 for kind::i8) up to 256 for cta_group::2";
  } else {
    return "cta_group is 1 or 2";
  }
  if (i.b_major == Major::mn && stored_bits(i.b) == 8 && i.n % (i.cta_group == 2 ? 32 : 16))
    return "an MN-major B of a byte an element needs N a multiple of 16 (32 for cta_group::2)";
  return nullptr;
}

/// The code of an element in bits 9:7 and 12:10; it depends on the kind.
GEN5_LAYOUT uint32_t element_code(Element e) {
  switch (e) {
    case Element::f16:
    case Element::e4m3:
    case Element::u8: return 0;
    case Element::bf16:
    case Element::e5m2:
    case Element::s8: return 1;
    case Element::tf32: return 2;
    case Element::e2m3: return 3;
    case Element::e3m2: return 4;
    case Element::e2m1: return 5;
  }
  return 0;
}

/// Bits: 3 saturate, 5:4 D, 9:7 A, 12:10 B, 13 and 14 negate, 15 and 16 MN-major, 22:17 N/8, 28:24 M/16. Evaluated by
/// the compiler: an impossible instruction does not compile, and the diagnosis quotes why.
consteval uint32_t instruction_descriptor(Instruction i) {
  if (const char* why = why_illegal(i)) throw why;
  return uint32_t(i.saturate) << 3 | uint32_t(i.d) << 4 | element_code(i.a) << 7 | element_code(i.b) << 10 |
         uint32_t(i.negate_a) << 13 | uint32_t(i.negate_b) << 14 | uint32_t(i.a_major) << 15 |
         uint32_t(i.b_major) << 16 | (i.n >> 3) << 17 | (i.m >> 4) << 24;
}

}  // namespace gen5::layout
