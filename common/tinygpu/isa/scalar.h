// What the scalar families share between files.
#pragma once
#include "common/tinygpu/isa/lanewise.h"

namespace tinygpu::isa {

/// Floating-point add, sub, mul, fma, mad, min, max, abs, neg, copysign: floating.cpp. Called by the decode functions
/// of arithmetic.cpp when the instruction's type is a float.
void decode_float_arithmetic(Decoder& d, Op& op);
bool is_float_arithmetic(const ptx::Instruction& inst);

/// add, min, max on u16x2 and s16x2: packed.cpp.
void decode_packed_integer(Decoder& d, Op& op);

/// div on integers: arithmetic.cpp (approx.cpp owns the opcode for its float forms).
void decode_integer_division(Decoder& d, Op& op);

/// cvt.pack: packed.cpp.
void decode_convert_pack(Decoder& d, Op& op);

}  // namespace tinygpu::isa
