// wgmma (PTX ISA 9.7.15): sm_90a only.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

// A table reads by its columns.
// clang-format off
// Operands: the accumulator's registers, A from registers or a descriptor, B's descriptor, scale-d and the immediates.
// Of integers, ptxas takes no odd multiple of 8 above 24 for N. K is twice as deep where A is sparse.
#define MMA_ROWS(OPCODE, K8, K16, K32)                                                                                   \
  {OPCODE, "sync aligned m64n(8..256/8)" K16 " f16|f32 <f16 <f16", "*", {8, 0}, kSm90a},                                 \
  {OPCODE, "sync aligned m64n(8..256/8)" K16 " f32 <bf16 <bf16", "*", {8, 0}, kSm90a},                                   \
  {OPCODE, "sync aligned m64n(8..256/8)" K8 " f32 <tf32 <tf32", "*", {8, 0}, kSm90a},                                    \
  {OPCODE, "sync aligned m64n(8..256/8)" K32 " f16|f32 <e4m3|e5m2 <e4m3|e5m2", "*", {8, 0}, kSm90a},                     \
  {OPCODE, "sync aligned m64n(8..32/8)" K32 "|m64n(48..256/16)" K32 " [satfinite] s32 <s8|u8 <s8|u8", "*", {8, 0}, kSm90a}

namespace {

constexpr Form kWgmmaForms[] = {
    {"wgmma.fence", "sync aligned", "", {8, 0}, kSm90a},
    {"wgmma.commit_group", "sync aligned", "", {8, 0}, kSm90a},
    {"wgmma.wait_group", "sync aligned", "n:imm(0..7)", {8, 0}, kSm90a},
    MMA_ROWS("wgmma.mma_async", "k8", "k16", "k32"),
    {"wgmma.mma_async", "sync aligned m64n(8..32/8)k256|m64n(48..256/16)k256 s32 <b1 <b1 and popc", "*", {8, 0}, kSm90a},
    MMA_ROWS("wgmma.mma_async.sp", "k16", "k32", "k64"),
};
// clang-format on

}  // namespace

std::span<const Form> wgmma_forms() { return kWgmmaForms; }

}  // namespace tinygpu::ptx::forms
