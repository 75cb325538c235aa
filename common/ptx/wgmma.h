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

enum class WgmmaType { bf16, f16 };

// The registers of an accumulator in the text of an instruction, and as its operands.
#define GEN5_WGMMA_0_TO_63                   \
  "%0, %1, %2, %3, %4, %5, %6, %7, "         \
  "%8, %9, %10, %11, %12, %13, %14, %15, "   \
  "%16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63"
#define GEN5_WGMMA_64_TO_127                         \
  "%64, %65, %66, %67, %68, %69, %70, %71, "         \
  "%72, %73, %74, %75, %76, %77, %78, %79, "         \
  "%80, %81, %82, %83, %84, %85, %86, %87, "         \
  "%88, %89, %90, %91, %92, %93, %94, %95, "         \
  "%96, %97, %98, %99, %100, %101, %102, %103, "     \
  "%104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, " \
  "%120, %121, %122, %123, %124, %125, %126, %127"
#define GEN5_WGMMA_4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define GEN5_WGMMA_16(d, i) \
  GEN5_WGMMA_4(d, i), GEN5_WGMMA_4(d, (i) + 4), GEN5_WGMMA_4(d, (i) + 8), GEN5_WGMMA_4(d, (i) + 12)
#define GEN5_WGMMA_64(d, i) \
  GEN5_WGMMA_16(d, i), GEN5_WGMMA_16(d, (i) + 16), GEN5_WGMMA_16(d, (i) + 32), GEN5_WGMMA_16(d, (i) + 48)

// The instruction for one N and one type of A and B. `registers` names D's; the operands behind them are a, b,
// accumulate.
#define GEN5_WGMMA_M64K16(N, type, registers, a, b, accumulate)                                                       \
  GEN5_PTX_TAKES_P(accumulate, "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type " {" registers "}, " a \
                               ", " b ", p, 1, 1, 0, 0;")

/// D[64 × N] = A[64 × 16] · B[16 × N] (+ D): A and B in shared memory by descriptor, K-major. Thread t of the warpgroup
/// holds in d[4j + 2h + i] row 16 (t / 32) + t % 32 / 4 + 8 h, column 8 j + 2 (t % 4) + i.
template <int N, WgmmaType Type>
GEN5_PTX void wgmma_m64k16(float (&d)[N / 2], uint64_t a, uint64_t b, bool accumulate) {
  static_assert(N == 128 || N == 256, "other sizes are not written out");
  const uint32_t p = accumulate;
  if constexpr (N == 128 && Type == WgmmaType::bf16)
    asm volatile(GEN5_WGMMA_M64K16(128, "bf16", GEN5_WGMMA_0_TO_63, "%64", "%65", "%66")
                 : GEN5_WGMMA_64(d, 0)
                 : "l"(a), "l"(b), "r"(p));
  else if constexpr (N == 128)
    asm volatile(GEN5_WGMMA_M64K16(128, "f16", GEN5_WGMMA_0_TO_63, "%64", "%65", "%66")
                 : GEN5_WGMMA_64(d, 0)
                 : "l"(a), "l"(b), "r"(p));
  else if constexpr (Type == WgmmaType::bf16)
    asm volatile(GEN5_WGMMA_M64K16(256, "bf16", GEN5_WGMMA_0_TO_63 ", " GEN5_WGMMA_64_TO_127, "%128", "%129", "%130")
                 : GEN5_WGMMA_64(d, 0), GEN5_WGMMA_64(d, 64)
                 : "l"(a), "l"(b), "r"(p));
  else
    asm volatile(GEN5_WGMMA_M64K16(256, "f16", GEN5_WGMMA_0_TO_63 ", " GEN5_WGMMA_64_TO_127, "%128", "%129", "%130")
                 : GEN5_WGMMA_64(d, 0), GEN5_WGMMA_64(d, 64)
                 : "l"(a), "l"(b), "r"(p));
}

#undef GEN5_WGMMA_0_TO_63
#undef GEN5_WGMMA_64_TO_127
#undef GEN5_WGMMA_4
#undef GEN5_WGMMA_16
#undef GEN5_WGMMA_64
#undef GEN5_WGMMA_M64K16

}  // namespace gen5::ptx
