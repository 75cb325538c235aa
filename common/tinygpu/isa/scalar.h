// Types that share an opcode with others, and whose functions stand in a file of their own.
#pragma once
#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// add, sub, mul, fma, mad, min, max, abs, neg, copysign of floats: floating.cpp.
void decode_float_arithmetic(Decoder& d, Op& op);
/// add, min, max on u16x2 and s16x2: packed.cpp.
void decode_packed_integer(Decoder& d, Op& op);

}  // namespace tinygpu::isa
