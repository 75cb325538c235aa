// tcgen05.cp and tcgen05.shift (PTX ISA 9.7.16.9): shared memory to Tensor Memory, and rows of Tensor Memory one lane
// on. One thread issues, the tensor core's queue executes, tcgen05.commit tells when. The source is a matrix descriptor
// of a K-major tile, as tcgen05.mma's (common/layout/smem_descriptor.h).
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Rows × bits of a row. Where it says warpx, each row goes to several of the four quarters of 32 lanes.
enum class CpShape { r128x256b, r4x256b, r128x128b, r64x128b_warpx2_02_13, r64x128b_warpx2_01_23, r32x128b_warpx4 };

/// What sixteen bytes of the source are: taken as they are; twelve bytes of 6-bit elements, or eight of 4-bit ones, and
/// padding: each becomes a byte, as kinds f8f6f4 and mxf8f6f4 want A in Tensor Memory.
enum class CpFrom { bytes, b6x16_p32, b4x16_p64 };

#define GEN5_CP_FROM(group, shape)                                                                                 \
  if constexpr (kFrom == CpFrom::bytes)                                                                            \
    asm volatile("tcgen05.cp.cta_group::" group "." shape " [%0], %1;" ::"r"(address), "l"(source) : "memory");    \
  else if constexpr (kFrom == CpFrom::b6x16_p32)                                                                   \
    asm volatile("tcgen05.cp.cta_group::" group "." shape ".b8x16.b6x16_p32 [%0], %1;" ::"r"(address), "l"(source) \
                 : "memory");                                                                                      \
  else                                                                                                             \
    asm volatile("tcgen05.cp.cta_group::" group "." shape ".b8x16.b4x16_p64 [%0], %1;" ::"r"(address), "l"(source) \
                 : "memory")
#define GEN5_CP(shape)            \
  if constexpr (kCtaGroup == 1) { \
    GEN5_CP_FROM("1", shape);     \
  } else {                        \
    GEN5_CP_FROM("2", shape);     \
  }

/// Copies what `source` describes to Tensor Memory at `address`. r4x256b: row i goes to lane 32·i of the address's
/// lane. kCtaGroup 2: in both CTAs of a pair, each out of its own shared memory.
template <CpShape kShape, CpFrom kFrom = CpFrom::bytes, int kCtaGroup = 1>
GEN5_PTX void tcgen05_cp(uint32_t address, uint64_t source) {
  if constexpr (kShape == CpShape::r128x256b) {
    GEN5_CP("128x256b");
  } else if constexpr (kShape == CpShape::r4x256b) {
    GEN5_CP("4x256b");
  } else if constexpr (kShape == CpShape::r128x128b) {
    GEN5_CP("128x128b");
  } else if constexpr (kShape == CpShape::r64x128b_warpx2_02_13) {
    GEN5_CP("64x128b.warpx2::02_13");
  } else if constexpr (kShape == CpShape::r64x128b_warpx2_01_23) {
    GEN5_CP("64x128b.warpx2::01_23");
  } else {
    GEN5_CP("32x128b.warpx4");
  }
}
#undef GEN5_CP
#undef GEN5_CP_FROM

/// In each quarter of the lanes, eight columns from `address` on: lane i takes what lane i + 1 has, lane 31 keeps its
/// own.
GEN5_PTX void tcgen05_shift_down(uint32_t address) {
  asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(address) : "memory");
}

}  // namespace gen5::ptx
