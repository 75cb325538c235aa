// tcgen05.mma.ws, weight-stationary (PTX ISA 9.7.16.10): B may be kept in one of four collector buffers while several A
// go by. M is 32, 64 or 128, N 64, 128 or 256.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// What becomes of B in its collector buffer: it is kept, was kept and is taken from there, for the last time; or not.
enum class Collect { discard, fill, use, lastuse };

#define GEN5_WS(collector)                                                                                           \
  asm volatile(                                                                                                      \
      GEN5_PTX_TAKES_P("%4", "tcgen05.mma.ws.cta_group::1.kind::f16" collector " [%0], %1, %2, %3, p, %5;")::"r"(d), \
      "l"(a), "l"(b), "r"(idesc), "r"(uint32_t(accumulate)), "l"(zero_columns)                                       \
      : "memory")

/// kind::f16 with collector buffer kBuffer. `zero_columns`: a zero-column mask descriptor, 0 for none.
template <int kBuffer, Collect kCollect>
GEN5_PTX void tcgen05_mma_ws_f16(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate,
                                 uint64_t zero_columns = 0) {
  static_assert(kBuffer == 0 || kBuffer == 1);
  if constexpr (kCollect == Collect::discard) {
    GEN5_WS("");
  } else if constexpr (kBuffer == 0) {
    if constexpr (kCollect == Collect::fill) GEN5_WS(".collector::b0::fill");
    if constexpr (kCollect == Collect::use) GEN5_WS(".collector::b0::use");
    if constexpr (kCollect == Collect::lastuse) GEN5_WS(".collector::b0::lastuse");
  } else {
    if constexpr (kCollect == Collect::fill) GEN5_WS(".collector::b1::fill");
    if constexpr (kCollect == Collect::use) GEN5_WS(".collector::b1::use");
    if constexpr (kCollect == Collect::lastuse) GEN5_WS(".collector::b1::lastuse");
  }
}
#undef GEN5_WS

}  // namespace gen5::ptx
