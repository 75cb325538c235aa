// wgmma (PTX ISA 9.7.15): sm_90a only.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
// A comes from registers or, as B does, through a descriptor. Of integers, ptxas takes no odd multiple of 8 above 24 for
// N. K is twice as deep where A is sparse.
#define WGMMA_SHAPE(K) "sync aligned shape=m64n(8..256/8)" K " "
#define WGMMA_INTEGER(K) "sync aligned shape=m64n(8..32/8)" K "|m64n(48..256/16)" K " "
#define DENSE_A ""
#define SPARSE_A ", metadata:b32!, selector:imm(0..3)"
#define SCALES ", scale_d:pred, imm_scale_a:imm(-1|1), imm_scale_b:imm(-1|1)"
#define TRANSPOSE_A ", imm_trans_a:imm(0|1)"
#define TRANSPOSE_B ", imm_trans_b:imm(0|1)"
#define WGMMA_ROWS(OPCODE, MODIFIERS, D, META, SMEM, REGISTERS)                     \
  {OPCODE, MODIFIERS, "{d=" D "}, a:b64, b:b64" META SMEM, {8, 0}, kSm90a},         \
  {OPCODE, MODIFIERS, "{d=" D "}, {a:b32*4}, b:b64" META REGISTERS, {8, 0}, kSm90a}
#define WGMMA_HALF(OPCODE, MODIFIERS, D, META) WGMMA_ROWS(OPCODE, MODIFIERS, D, META, SCALES TRANSPOSE_A TRANSPOSE_B, SCALES TRANSPOSE_B)
#define MMA_ROWS(OPCODE, META, K8, K16, K32)                                                                                      \
  WGMMA_HALF(OPCODE, WGMMA_SHAPE(K16) "f16 <f16 <f16", "b32*shape/4", META),                                                      \
  WGMMA_HALF(OPCODE, WGMMA_SHAPE(K16) "f32 <f16 <f16", "f32*shape/2", META),                                                      \
  WGMMA_HALF(OPCODE, WGMMA_SHAPE(K16) "f32 <bf16 <bf16", "f32*shape/2", META),                                                    \
  WGMMA_ROWS(OPCODE, WGMMA_SHAPE(K8) "f32 <tf32 <tf32", "f32*shape/2", META, SCALES, SCALES),                                     \
  WGMMA_ROWS(OPCODE, WGMMA_SHAPE(K32) "f16 <e4m3|e5m2 <e4m3|e5m2", "b32*shape/4", META, SCALES, SCALES),                          \
  WGMMA_ROWS(OPCODE, WGMMA_SHAPE(K32) "f32 <e4m3|e5m2 <e4m3|e5m2", "f32*shape/2", META, SCALES, SCALES),                          \
  WGMMA_ROWS(OPCODE, WGMMA_INTEGER(K32) "[satfinite] s32 <s8|u8 <s8|u8", "s32*shape/2", META, ", scale_d:pred", ", scale_d:pred")

namespace {

constexpr Form kWgmmaForms[] = {
    {wgmma_fence, "sync aligned", "", {8, 0}, kSm90a},
    {wgmma_commit_group, "sync aligned", "", {8, 0}, kSm90a},
    {wgmma_wait_group, "sync aligned", "n:imm(0..7)", {8, 0}, kSm90a},
    MMA_ROWS(wgmma_mma_async, DENSE_A, "k8", "k16", "k32"),
    WGMMA_ROWS(wgmma_mma_async, WGMMA_INTEGER("k256") "s32 <b1 <b1 and popc", "s32*shape/2", DENSE_A, ", scale_d:pred", ", scale_d:pred"),
    MMA_ROWS(wgmma_mma_async_sp, SPARSE_A, "k16", "k32", "k64"),
};
// clang-format on

}  // namespace

std::span<const Form> wgmma_forms() { return kWgmmaForms; }

}  // namespace tinygpu::ptx::forms
