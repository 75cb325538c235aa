// tcgen05.ld and st of f32 accumulators (PTX ISA 9.7.16.8): as tcgen05_ld_st.h has them, with registers that the
// compiler knows to be floats, which spares it moves between the two kinds.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

// clang-format off
#define GEN5_FLOATS \
  "%0,%1,%2,%3,%4,%5,%6,%7," \
  "%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23," \
  "%24,%25,%26,%27,%28,%29,%30,%31"
#define GEN5_OF_4(kind, r, i) kind((r)[i]), kind((r)[(i) + 1]), kind((r)[(i) + 2]), kind((r)[(i) + 3])
#define GEN5_OF_32(kind, r) \
  GEN5_OF_4(kind, r, 0), GEN5_OF_4(kind, r, 4), GEN5_OF_4(kind, r, 8), GEN5_OF_4(kind, r, 12), \
  GEN5_OF_4(kind, r, 16), GEN5_OF_4(kind, r, 20), GEN5_OF_4(kind, r, 24), GEN5_OF_4(kind, r, 28)
// clang-format on

/// Columns `address` … + 31 of this thread's lane. `r` may be used behind tcgen05_wait_ld.
GEN5_PTX void tcgen05_ld_32_floats(float* r, uint32_t address) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {" GEN5_FLOATS "}, [%32];"
               : GEN5_OF_32("=f", r)
               : "r"(address)
               : "memory");
}

/// Writes them. The cells may be read behind tcgen05_wait_st.
GEN5_PTX void tcgen05_st_32_floats(uint32_t address, const float* r) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], {" GEN5_FLOATS "};" ::GEN5_OF_32("f", r), "r"(address)
               : "memory");
}

#undef GEN5_FLOATS
#undef GEN5_OF_4
#undef GEN5_OF_32

}  // namespace gen5::ptx
