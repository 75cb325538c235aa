// wgmma (PTX ISA 9.7.15): Hopper's warpgroup MMA. Four warps issue it together; D lies in their registers.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Orders this warpgroup's earlier register writes and the wgmmas that follow. Once before the first of a batch, and
/// whenever registers of D were touched by other instructions.
GEN5_PTX void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Closes a group of this warp's wgmmas.
GEN5_PTX void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits until at most `Pending` of the latest groups are unfinished. D and the operands of finished ones may be
/// touched.
template <int Pending>
GEN5_PTX void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Keeps the compiler from moving accesses of an accumulator register across this point: a wgmma in flight writes it.
GEN5_PTX void wgmma_pin(float& d) { asm volatile("" : "+f"(d)::"memory"); }

enum class WgmmaType { bf16, f16, e4m3 };

// The registers of an accumulator in the text of an instruction, sixteen at a time, and as its operands.
#define GEN5_WGMMA_R0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define GEN5_WGMMA_R1 GEN5_WGMMA_R0 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define GEN5_WGMMA_R2 GEN5_WGMMA_R1 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define GEN5_WGMMA_R3 GEN5_WGMMA_R2 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define GEN5_WGMMA_R4 GEN5_WGMMA_R3 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define GEN5_WGMMA_R5 GEN5_WGMMA_R4 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define GEN5_WGMMA_R6 \
  GEN5_WGMMA_R5 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define GEN5_WGMMA_R7 \
  GEN5_WGMMA_R6 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define GEN5_WGMMA_4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define GEN5_WGMMA_D0(d) GEN5_WGMMA_4(d, 0), GEN5_WGMMA_4(d, 4), GEN5_WGMMA_4(d, 8), GEN5_WGMMA_4(d, 12)
#define GEN5_WGMMA_D1(d) \
  GEN5_WGMMA_D0(d), GEN5_WGMMA_4(d, 16), GEN5_WGMMA_4(d, 20), GEN5_WGMMA_4(d, 24), GEN5_WGMMA_4(d, 28)
#define GEN5_WGMMA_D2(d) \
  GEN5_WGMMA_D1(d), GEN5_WGMMA_4(d, 32), GEN5_WGMMA_4(d, 36), GEN5_WGMMA_4(d, 40), GEN5_WGMMA_4(d, 44)
#define GEN5_WGMMA_D3(d) \
  GEN5_WGMMA_D2(d), GEN5_WGMMA_4(d, 48), GEN5_WGMMA_4(d, 52), GEN5_WGMMA_4(d, 56), GEN5_WGMMA_4(d, 60)
#define GEN5_WGMMA_D4(d) \
  GEN5_WGMMA_D3(d), GEN5_WGMMA_4(d, 64), GEN5_WGMMA_4(d, 68), GEN5_WGMMA_4(d, 72), GEN5_WGMMA_4(d, 76)
#define GEN5_WGMMA_D5(d) \
  GEN5_WGMMA_D4(d), GEN5_WGMMA_4(d, 80), GEN5_WGMMA_4(d, 84), GEN5_WGMMA_4(d, 88), GEN5_WGMMA_4(d, 92)
#define GEN5_WGMMA_D6(d) \
  GEN5_WGMMA_D5(d), GEN5_WGMMA_4(d, 96), GEN5_WGMMA_4(d, 100), GEN5_WGMMA_4(d, 104), GEN5_WGMMA_4(d, 108)
#define GEN5_WGMMA_D7(d) \
  GEN5_WGMMA_D6(d), GEN5_WGMMA_4(d, 112), GEN5_WGMMA_4(d, 116), GEN5_WGMMA_4(d, 120), GEN5_WGMMA_4(d, 124)

// The instruction for one N, whose accumulator is N / 32 times sixteen registers, the last of them `last`. Operands
// behind the registers: a, b, accumulate.
#define GEN5_WGMMA_M64K16(N, type, last, a, b, accumulate)                                                  \
  asm volatile(GEN5_PTX_TAKES_P(accumulate, "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type \
                                            " {" GEN5_WGMMA_R##last "}, " a ", " b ", p, 1, 1, 0, 0;")      \
               : GEN5_WGMMA_D##last(d)                                                                      \
               : "l"(descriptor_a), "l"(descriptor_b), "r"(p))
// Operands of a byte are K-major without a choice: there are no immediates for it.
#define GEN5_WGMMA_M64K32(N, type, last, a, b, accumulate)                                                  \
  asm volatile(GEN5_PTX_TAKES_P(accumulate, "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32." type "." type \
                                            " {" GEN5_WGMMA_R##last "}, " a ", " b ", p, 1, 1;")            \
               : GEN5_WGMMA_D##last(d)                                                                      \
               : "l"(descriptor_a), "l"(descriptor_b), "r"(p))
#define GEN5_WGMMA_N(N, last, a, b, accumulate)           \
  if constexpr (kN == N && Type == WgmmaType::bf16)       \
    GEN5_WGMMA_M64K16(N, "bf16", last, a, b, accumulate); \
  else if constexpr (kN == N && Type == WgmmaType::f16)   \
    GEN5_WGMMA_M64K16(N, "f16", last, a, b, accumulate);  \
  else if constexpr (kN == N)                             \
  GEN5_WGMMA_M64K32(N, "e4m3", last, a, b, accumulate)
#define GEN5_WGMMA_EVERY_N                      \
  GEN5_WGMMA_N(32, 0, "%16", "%17", "%18");     \
  GEN5_WGMMA_N(64, 1, "%32", "%33", "%34");     \
  GEN5_WGMMA_N(96, 2, "%48", "%49", "%50");     \
  GEN5_WGMMA_N(128, 3, "%64", "%65", "%66");    \
  GEN5_WGMMA_N(160, 4, "%80", "%81", "%82");    \
  GEN5_WGMMA_N(192, 5, "%96", "%97", "%98");    \
  GEN5_WGMMA_N(224, 6, "%112", "%113", "%114"); \
  GEN5_WGMMA_N(256, 7, "%128", "%129", "%130")

/// D[64 × kN] = A[64 × 16] · B[16 × kN] (+ D): A and B in shared memory by descriptor, K-major. Thread t of the
/// warpgroup holds in d[4j + 2h + i] row 16 (t / 32) + t % 32 / 4 + 8 h, column 8 j + 2 (t % 4) + i.
template <int kN, WgmmaType Type>
GEN5_PTX void wgmma_m64k16(float (&d)[kN / 2], uint64_t descriptor_a, uint64_t descriptor_b, bool accumulate) {
  static_assert(kN % 32 == 0 && kN >= 32 && kN <= 256, "other sizes are not written out");
  static_assert(Type != WgmmaType::e4m3, "wgmma_m64k32 multiplies bytes");
  const uint32_t p = accumulate;
  GEN5_WGMMA_EVERY_N;
}

/// The same with operands of a byte, twice as many along K: D[64 × kN] = A[64 × 32] · B[32 × kN] (+ D).
template <int kN, WgmmaType Type = WgmmaType::e4m3>
GEN5_PTX void wgmma_m64k32(float (&d)[kN / 2], uint64_t descriptor_a, uint64_t descriptor_b, bool accumulate) {
  static_assert(kN % 32 == 0 && kN >= 32 && kN <= 256, "other sizes are not written out");
  static_assert(Type == WgmmaType::e4m3, "wgmma_m64k16 multiplies elements of 16 bits");
  const uint32_t p = accumulate;
  GEN5_WGMMA_EVERY_N;
}

#undef GEN5_WGMMA_R0
#undef GEN5_WGMMA_D0
#undef GEN5_WGMMA_R1
#undef GEN5_WGMMA_D1
#undef GEN5_WGMMA_R2
#undef GEN5_WGMMA_D2
#undef GEN5_WGMMA_R3
#undef GEN5_WGMMA_D3
#undef GEN5_WGMMA_R4
#undef GEN5_WGMMA_D4
#undef GEN5_WGMMA_R5
#undef GEN5_WGMMA_D5
#undef GEN5_WGMMA_R6
#undef GEN5_WGMMA_D6
#undef GEN5_WGMMA_R7
#undef GEN5_WGMMA_D7
#undef GEN5_WGMMA_4
#undef GEN5_WGMMA_M64K16
#undef GEN5_WGMMA_M64K32
#undef GEN5_WGMMA_N
#undef GEN5_WGMMA_EVERY_N

}  // namespace gen5::ptx
