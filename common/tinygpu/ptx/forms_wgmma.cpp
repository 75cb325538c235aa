// wgmma (PTX ISA 9.7.15): sm_90a only.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

// clang-format off: a table reads by its columns
// Operands: the accumulator's registers, A from registers or a descriptor, B's descriptor, scale-d and the immediates.
#define MMA_ROWS(OPCODE)                                                                   \
  {OPCODE, "sync aligned m64n* f16|f32 <f16 <f16", "*", {8, 0}, kSm90a},                   \
      {OPCODE, "sync aligned m64n* f32 <bf16 <bf16", "*", {8, 0}, kSm90a},                 \
      {OPCODE, "sync aligned m64n* f32 <tf32 <tf32", "*", {8, 0}, kSm90a},                 \
      {OPCODE, "sync aligned m64n* f16|f32 <e4m3|e5m2 <e4m3|e5m2", "*", {8, 0}, kSm90a},   \
      {OPCODE, "sync aligned m64n* [satfinite] s32 <s8|u8 <s8|u8", "*", {8, 0}, kSm90a}, { \
    OPCODE, "sync aligned m64n* s32 <b1 <b1 and popc", "*", {8, 0}, kSm90a                 \
  }

namespace {

constexpr Form kForms[] = {
    {"wgmma.fence", "sync aligned", "", {8, 0}, kSm90a},
    {"wgmma.commit_group", "sync aligned", "", {8, 0}, kSm90a},
    {"wgmma.wait_group", "sync aligned", "n:imm(0..7)", {8, 0}, kSm90a},
    MMA_ROWS("wgmma.mma_async"),
    MMA_ROWS("wgmma.mma_async.sp"),
};
// clang-format on

}  // namespace

std::span<const Form> wgmma_forms() { return kForms; }

}  // namespace tinygpu::ptx::forms
