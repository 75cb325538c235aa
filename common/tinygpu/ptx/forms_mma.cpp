// mma.sync and mma.sp.sync (PTX ISA 9.7.14.5, 9.7.14.6).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define FP8 "e4m3|e5m2 <e4m3|e5m2"
#define REGISTERS(D, A, B, C) "{d=" D "}, {a:b32*" A "}, {b:b32*" B "}, {c:" C "}"
#define MMA(SHAPE, TYPES, D, A, B, C, SINCE, ...)                                                         \
  {mma_sync, "aligned " SHAPE " row <col " TYPES, REGISTERS(D, A, B, C), SINCE __VA_OPT__(,) __VA_ARGS__}
// Volta's shape may have either matrix in either order.
#define VOLTA(TYPES, D, C) {mma_sync, "aligned m8n8k4 row|col <row|col " TYPES, REGISTERS(D, "2", "2", C), {6, 4}}
#define F64(SHAPE, D, A, B, ...)                                                                                                      \
  {mma_sync, "aligned " SHAPE " row <col [$round] f64 <f64 <f64 <f64", "{d=f64_*" D "}, {a:f64*" A "}, {b:f64*" B "}, {c:f64*" D "}", \
   __VA_ARGS__}
#define INTEGER(SHAPE, TYPES, D, A, B, SINCE) MMA(SHAPE, "[satfinite] s32 <" TYPES " <s32", "b32_*" D, A, B, "b32*" D, SINCE)
#define BITS(SHAPE, D, A, B) MMA(SHAPE, "s32 <b1 <b1 <s32 xor|and popc", "b32_*" D, A, B, "b32*" D, (Version{7, 1}))
#define FP8_ROWS(SHAPE, A, B, SINCE)                                                                          \
  MMA(SHAPE, "f32 <" FP8 " <f32", "f32_*4", A, B, "f32*4", SINCE),                                            \
  MMA(SHAPE, "f16 <" FP8 " <f16", "b32_*2", A, B, "b32*2", (Version{8, 7})),                                  \
  MMA(SHAPE, "kind::f8f6f4 f32 <" FP8 " <f32", "f32_*4", A, B, "f32*4", (Version{8, 6}), kBlackwellSpecific), \
  MMA(SHAPE, "kind::f8f6f4 f16 <" FP8 " <f16", "b32_*2", A, B, "b32*2", (Version{8, 6}), kBlackwellSpecific)
// The last operand says whose metadata counts: one thread of four, a pair of them, or all.
#define SPARSE(SHAPE, TYPES, D, A, C, SELECTORS, SINCE)                                                                            \
  {mma_sp_sync, "aligned " SHAPE " row <col " TYPES, REGISTERS(D, A, A, C) ", metadata:b32!, selector:imm(" SELECTORS ")", SINCE}, \
  {mma_sp_sync, "ordered_metadata aligned " SHAPE " row <col " TYPES,                                                              \
   REGISTERS(D, A, A, C) ", metadata:b32!, selector:imm(" SELECTORS ")", {8, 5}}
#define SPARSE_INTEGER(SHAPE, TYPES, A, SELECTORS) \
  SPARSE(SHAPE, "[satfinite] s32 <" TYPES " <s32", "b32_*4", A, "b32*4", SELECTORS, (Version{7, 1}))

namespace {

constexpr std::string_view kSm120Specific = "sm_120a sm_120f sm_121a sm_121f";

constexpr Form kMmaForms[] = {
    VOLTA("f32 <f16 <f16 <f32", "f32_*8", "f32*8"),
    VOLTA("f16 <f16 <f16 <f16", "f16x2_*4", "f16x2*4"),
    VOLTA("f32 <f16 <f16 <f16", "f32_*8", "f16x2*4"),
    MMA("m16n8k8", "f32 <f16 <f16 <f32", "f32_*4", "2", "1", "f32*4", (Version{6, 5})),
    MMA("m16n8k8", "f16 <f16 <f16 <f16", "f16x2_*2", "2", "1", "f16x2*2", (Version{6, 5})),
    MMA("m16n8k16", "f32 <f16 <f16 <f32", "f32_*4", "4", "2", "f32*4", (Version{7, 0})),
    MMA("m16n8k16", "f16 <f16 <f16 <f16", "f16x2_*2", "4", "2", "f16x2*2", (Version{7, 0})),
    MMA("m16n8k8", "f32 <bf16 <bf16 <f32", "f32_*4", "2", "1", "f32*4", (Version{7, 0})),
    MMA("m16n8k16", "f32 <bf16 <bf16 <f32", "f32_*4", "4", "2", "f32*4", (Version{7, 0})),
    MMA("m16n8k4", "f32 <tf32 <tf32 <f32", "f32_*4", "2", "1", "f32*4", (Version{7, 0})),
    MMA("m16n8k8", "f32 <tf32 <tf32 <f32", "f32_*4", "4", "2", "f32*4", (Version{7, 0})),
    FP8_ROWS("m16n8k16", "2", "1", (Version{8, 7})),
    FP8_ROWS("m16n8k32", "4", "2", (Version{8, 4})),
    F64("m8n8k4", "2", "1", "1", {7, 0}),
    F64("m16n8k4", "4", "2", "1", {7, 8}, kSm90),
    F64("m16n8k8", "4", "4", "2", {7, 8}, kSm90),
    F64("m16n8k16", "4", "8", "4", {7, 8}, kSm90),
    INTEGER("m8n8k16", "s8|u8 <s8|u8", "2", "1", "1", (Version{6, 5})),
    INTEGER("m16n8k16", "s8|u8 <s8|u8", "4", "2", "1", (Version{7, 0})),
    INTEGER("m16n8k32", "s8|u8 <s8|u8", "4", "4", "2", (Version{7, 0})),
    INTEGER("m8n8k32", "s4|u4 <s4|u4", "2", "1", "1", (Version{6, 5})),
    INTEGER("m16n8k32", "s4|u4 <s4|u4", "4", "2", "1", (Version{7, 0})),
    INTEGER("m16n8k64", "s4|u4 <s4|u4", "4", "4", "2", (Version{7, 0})),
    BITS("m8n8k128", "2", "1", "1"),
    BITS("m16n8k128", "4", "2", "1"),
    BITS("m16n8k256", "4", "4", "2"),
    // What sm_120 alone has: six and four bits, and scales. sm_100 has them in tcgen05.mma.
    {mma_sync, "aligned m16n8k32 row <col kind::f8f6f4 f32|f16 <e4m3|e5m2|e3m2|e2m3|e2m1 <e4m3|e5m2|e3m2|e2m3|e2m1 <f32|f16", "*",
     {8, 7}, kSm120Specific},
    {mma_sync,
     "aligned m16n8k32|m16n8k64 row <col kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4 block_scale " "[scale_vec::1X|scale_vec::2X|scale_vec::4X] f32 <e4m3|e5m2|e3m2|e2m3|e2m1 <e4m3|e5m2|e3m2|e2m3|e2m1 <f32 " "<ue8m0|ue4m3",
     "*", {8, 7}, kSm120Specific},
    SPARSE("m16n8k16", "f32 <f16 <f16 <f32", "f32_*4", "2", "f32*4", "0..3", (Version{7, 1})),
    SPARSE("m16n8k16", "f16 <f16 <f16 <f16", "f16x2_*2", "2", "f16x2*2", "0..3", (Version{7, 1})),
    SPARSE("m16n8k16", "f32 <bf16 <bf16 <f32", "f32_*4", "2", "f32*4", "0..3", (Version{7, 1})),
    SPARSE("m16n8k32", "f32 <f16 <f16 <f32", "f32_*4", "4", "f32*4", "0..1", (Version{7, 1})),
    SPARSE("m16n8k32", "f16 <f16 <f16 <f16", "f16x2_*2", "4", "f16x2*2", "0..1", (Version{7, 1})),
    SPARSE("m16n8k32", "f32 <bf16 <bf16 <f32", "f32_*4", "4", "f32*4", "0..1", (Version{7, 1})),
    SPARSE("m16n8k8", "f32 <tf32 <tf32 <f32", "f32_*4", "2", "f32*4", "0..3", (Version{7, 1})),
    SPARSE("m16n8k16", "f32 <tf32 <tf32 <f32", "f32_*4", "4", "f32*4", "0..1", (Version{7, 1})),
    SPARSE("m16n8k64", "f32 <" FP8 " <f32", "f32_*4", "4", "f32*4", "0..0", (Version{8, 4})),
    {mma_sp_sync, "ordered_metadata aligned m16n8k64 row <col kind::f8f6f4 f32 <" FP8 " <f32",
     REGISTERS("f32_*4", "4", "4", "f32*4") ", metadata:b32!, selector:imm(0..0)", {8, 6}, kBlackwellSpecific},
    SPARSE_INTEGER("m16n8k32", "s8|u8 <s8|u8", "2", "0..1"),
    SPARSE_INTEGER("m16n8k64", "s8|u8 <s8|u8", "4", "0..0"),
    SPARSE_INTEGER("m16n8k64", "s4|u4 <s4|u4", "2", "0..1"),
    SPARSE_INTEGER("m16n8k128", "s4|u4 <s4|u4", "4", "0..0"),
    {mma_sp_sync,
     "ordered_metadata aligned m16n8k64|m16n8k128 row <col kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4 block_scale " "[scale_vec::1X|scale_vec::2X|scale_vec::4X] f32 <e4m3|e5m2|e3m2|e2m3|e2m1 <e4m3|e5m2|e3m2|e2m3|e2m1 <f32 " "<ue8m0|ue4m3",
     "*", {8, 7}, kSm120Specific},
};
// clang-format on

}  // namespace

std::span<const Form> mma_forms() { return kMmaForms; }

}  // namespace tinygpu::ptx::forms
