// What every header here shares: how a wrapper is declared, predicates as operands, and 32-bit shared addresses.
#pragma once
#include <cstdint>

#define GEN5_PTX __device__ __forceinline__

// CUDA C++ has no operands for predicates. Text around one instruction that uses predicate p: what it sets p to comes
// out as 1 or 0 in operand %0, or p is whether the operand `condition` is not 0.
#define GEN5_PTX_SETS_P(instruction) "{\n\t.reg .pred p;\n\t" instruction "\n\tselp.u32 %0, 1, 0, p;\n\t}"
#define GEN5_PTX_TAKES_P(condition, instruction) \
  "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " condition ", 0;\n\t" instruction "\n\t}"

namespace gen5::ptx {

/// The 32-bit address in the shared window (.shared::cta, and this CTA's own .shared::cluster) of an object in shared
/// memory. Most wrappers take such addresses: the instructions do.
GEN5_PTX uint32_t shared_address(const void* object) { return static_cast<uint32_t>(__cvta_generic_to_shared(object)); }

}  // namespace gen5::ptx
