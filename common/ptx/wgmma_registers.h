// wgmma with A in registers (PTX ISA 9.7.15): the second of two products that follow each other, whose A the threads
// have made of the first one's D.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

// clang-format off
#define GEN5_WGMMA_D4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define GEN5_WGMMA_D16(d, i) GEN5_WGMMA_D4(d, i), GEN5_WGMMA_D4(d, (i) + 4), GEN5_WGMMA_D4(d, (i) + 8), GEN5_WGMMA_D4(d, (i) + 12)
#define GEN5_WGMMA_D32(d, i) GEN5_WGMMA_D16(d, i), GEN5_WGMMA_D16(d, (i) + 16)
#define GEN5_WGMMA_0_TO_31 \
  "%0, %1, %2, %3, %4, %5, %6, %7, " \
  "%8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define GEN5_WGMMA_32_TO_63 \
  "%32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63"
// clang-format on

/// D[64 × N] = A[64 × 16] · B[16 × N] (+ D), bf16: A is this warpgroup's registers, B in shared memory by descriptor
/// with N contiguous (MN-major). Of A a thread holds what it would hold of an accumulator with 16 columns, two
/// neighbours in a word: a[2 j + h] is row 16 (t / 32) + t % 32 / 4 + 8 h, columns 8 j + 2 (t % 4) and the next.
template <int N>
GEN5_PTX void wgmma_m64k16_registers(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b, bool accumulate) {
  static_assert(N == 64 || N == 128, "other sizes are not written out");
  const uint32_t p = accumulate;
  if constexpr (N == 64)
    asm volatile(GEN5_PTX_TAKES_P("%37", "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" GEN5_WGMMA_0_TO_31
                                         "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;")
                 : GEN5_WGMMA_D32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(p));
  else
    asm volatile(GEN5_PTX_TAKES_P("%69", "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" GEN5_WGMMA_0_TO_31
                                         ", " GEN5_WGMMA_32_TO_63 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;")
                 : GEN5_WGMMA_D32(d, 0), GEN5_WGMMA_D32(d, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(p));
}

#undef GEN5_WGMMA_D4
#undef GEN5_WGMMA_D16
#undef GEN5_WGMMA_D32
#undef GEN5_WGMMA_0_TO_31
#undef GEN5_WGMMA_32_TO_63

}  // namespace gen5::ptx
