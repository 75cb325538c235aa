// Element-wise reductions of bulk copies (cp.reduce.async.bulk*, PTX ISA 9.7.9.25.5 and .6) and of red.async.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tinygpu {

enum class ReduceOperation : uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor };
enum class ReduceType : uint8_t { u32, s32, u64, s64, f16, bf16, f32, f64 };

/// to[i] = to[i] op from[i] over `bytes`. Floats add with one rounding to nearest even.
void reduce(ReduceOperation op, ReduceType t, uint8_t* to, const uint8_t* from, size_t bytes);

}  // namespace tinygpu
