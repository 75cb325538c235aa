// Warp-level matrices: ldmatrix, stmatrix, movmatrix, wmma (PTX ISA 9.7.14); forms_mma.cpp has mma.sync.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
// wmma's shapes, by how the registers of A and B are shared out.
#define WMMA_SHAPES "m16n16k16|m8n32k16|m32n8k16"
#define WMMA_LAYOUTS "row|col <row|col"
#define WMMA_SPACE "[global|shared|shared::cta]"
#define LOAD(MATRIX, SHAPE, TYPE, REGISTERS)                                                                                          \
  {wmma_load, MATRIX " sync aligned " SHAPE " row|col " WMMA_SPACE " " TYPE, "{r=" REGISTERS "}, [address:by+], stride:u32?", {6, 3}}
#define MMA_HALF(DC, D, C)                                                                                              \
  {wmma_mma, "sync aligned " WMMA_LAYOUTS " " WMMA_SHAPES " " DC, "{d=" D "}, {a:b32*8}, {b:b32*8}, {c:" C "}", {6, 0}}
#define MMA_TYPES(SHAPE, A, B)                                                                                                      \
  {wmma_mma, "sync aligned " WMMA_LAYOUTS " " SHAPE " f32 <bf16 <bf16 <f32", "{d=f32_*8}, {a:b32*" A "}, {b:b32*" B "}, {c:f32*8}", \
   {7, 0}}
#define MMA_BYTES(SHAPE, A, B)                                                       \
  {wmma_mma, "sync aligned " WMMA_LAYOUTS " " SHAPE " s32 <s8 <s8 <s32 [satfinite]", \
   "{d=b32_*8}, {a:b32*" A "}, {b:b32*" B "}, {c:b32*8}", {6, 3}},                   \
  {wmma_mma, "sync aligned " WMMA_LAYOUTS " " SHAPE " s32 <u8 <u8 <s32 [satfinite]", \
   "{d=b32_*8}, {a:b32*" A "}, {b:b32*" B "}, {c:b32*8}", {6, 3}}

namespace {

constexpr Form kMatrixForms[] = {
    LOAD("a|b", WMMA_SHAPES, "f16", "b32_*8"),
    LOAD("a|b", "m16n16k16", "bf16", "b32_*4"),
    LOAD("a", "m8n32k16", "bf16", "b32_*2"),
    LOAD("b", "m8n32k16", "bf16", "b32_*8"),
    LOAD("a", "m32n8k16", "bf16", "b32_*8"),
    LOAD("b", "m32n8k16", "bf16", "b32_*2"),
    LOAD("a|b", "m16n16k16", "s8|u8", "b32_*2"),
    LOAD("a", "m8n32k16", "s8|u8", "b32_*1"),
    LOAD("b", "m8n32k16", "s8|u8", "b32_*4"),
    LOAD("a", "m32n8k16", "s8|u8", "b32_*4"),
    LOAD("b", "m32n8k16", "s8|u8", "b32_*1"),
    LOAD("a|b", "m16n16k8", "tf32", "b32_*4"),
    LOAD("a|b", "m8n8k4", "f64", "f64_*1"),
    {wmma_load, "a sync aligned m8n8k32 row " WMMA_SPACE " s4|u4", "{r=b32_*1}, [address:by+], stride:u32?", {6, 3}},
    {wmma_load, "b sync aligned m8n8k32 col " WMMA_SPACE " s4|u4", "{r=b32_*1}, [address:by+], stride:u32?", {6, 3}},
    {wmma_load, "a sync aligned m8n8k128 row " WMMA_SPACE " b1", "{r=b32_*1}, [address:by+], stride:u32?", {6, 3}},
    {wmma_load, "b sync aligned m8n8k128 col " WMMA_SPACE " b1", "{r=b32_*1}, [address:by+], stride:u32?", {6, 3}},
    LOAD("c", WMMA_SHAPES, "f16", "b32_*4"),
    LOAD("c", WMMA_SHAPES "|m16n16k8", "f32", "f32_*8"),
    LOAD("c", WMMA_SHAPES, "s32", "b32_*8"),
    LOAD("c", "m8n8k32|m8n8k128", "s32|f32", "b32_*2"),
    LOAD("c", "m8n8k4", "f64", "f64_*2"),
#define STORE(SHAPE, TYPE, REGISTERS)                                                                                            \
  {wmma_store, "d sync aligned " SHAPE " row|col " WMMA_SPACE " " TYPE, "[address:by+], {r:" REGISTERS "}, stride:u32?", {6, 3}}
    STORE(WMMA_SHAPES, "f16", "b32*4"),
    STORE(WMMA_SHAPES "|m16n16k8", "f32", "f32*8"),
    STORE(WMMA_SHAPES, "s32", "b32*8"),
    STORE("m8n8k32|m8n8k128", "s32|f32", "b32*2"),
    STORE("m8n8k4", "f64", "f64*2"),
    MMA_HALF("f16 <f16", "b32_*4", "b32*4"),
    MMA_HALF("f16 <f32", "b32_*4", "f32*8"),
    MMA_HALF("f32 <f16", "f32_*8", "b32*4"),
    MMA_HALF("f32 <f32", "f32_*8", "f32*8"),
    MMA_TYPES("m16n16k16", "4", "4"),
    MMA_TYPES("m8n32k16", "2", "8"),
    MMA_TYPES("m32n8k16", "8", "2"),
    MMA_BYTES("m16n16k16", "2", "2"),
    MMA_BYTES("m8n32k16", "1", "4"),
    MMA_BYTES("m32n8k16", "4", "1"),
    {wmma_mma, "sync aligned " WMMA_LAYOUTS " m16n16k8 f32 <tf32 <tf32 <f32", "{d=f32_*8}, {a:b32*4}, {b:b32*4}, {c:f32*8}", {7, 0}},
    {wmma_mma, "sync aligned " WMMA_LAYOUTS " m8n8k4 [$round] f64 <f64 <f64 <f64", "{d=f64_*2}, {a:f64*1}, {b:f64*1}, {c:f64*2}", {7, 0}},
    {wmma_mma, "sync aligned row <col m8n8k32 s32 <s4 <s4 <s32 [satfinite]", "{d=b32_*2}, {a:b32*1}, {b:b32*1}, {c:b32*2}", {6, 3}},
    {wmma_mma, "sync aligned row <col m8n8k32 s32 <u4 <u4 <s32 [satfinite]", "{d=b32_*2}, {a:b32*1}, {b:b32*1}, {c:b32*2}", {6, 3}},
    {wmma_mma, "xor|and popc sync aligned row <col m8n8k128 s32 <b1 <b1 <s32", "{d=b32_*2}, {a:b32*1}, {b:b32*1}, {c:b32*2}", {6, 3}},
    {ldmatrix, "sync aligned m8n8 num=x1|x2|x4 [trans] [$shared] b16", "{r=b32*num}, [address:by]", {6, 5}},
    {ldmatrix, "sync aligned m8n16 num=x1|x2|x4 [$shared] b8x16 b6x16_p32|b4x16_p64", "{r=b32*num}, [address:by]", {8, 6},
     kBlackwellSpecific},
    {ldmatrix, "sync aligned m16n16 num=x1|x2 trans [$shared] b8", "{r=b32*num*2}, [address:by]", {8, 6}, kBlackwellSpecific},
    {ldmatrix, "sync aligned m16n16 num=x1|x2 trans [$shared] b8x16 b6x16_p32|b4x16_p64", "{r=b32*num*2}, [address:by]", {8, 6},
     kBlackwellSpecific},
    {stmatrix, "sync aligned m8n8 num=x1|x2|x4 [trans] [$shared] b16", "[address:by], {r:b32*num}", {7, 8}, kSm90},
    {stmatrix, "sync aligned m16n8 num=x1|x2|x4 trans [$shared] b8", "[address:by], {r:b32*num}", {8, 6}, kBlackwellSpecific},
    {movmatrix, "sync aligned m8n8 trans b16", "d=b32, a:b32!", {7, 8}},
};
// clang-format on

}  // namespace

std::span<const Form> matrix_forms() { return kMatrixForms; }

}  // namespace tinygpu::ptx::forms
