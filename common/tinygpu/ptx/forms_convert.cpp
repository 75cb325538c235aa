// Moves and conversions (PTX ISA 9.7.9.4, 9.7.9.20 - 22).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define INT8 "u8|u16|u32|u64|s8|s16|s32|s64"
#define TO_INT "rni|rzi|rmi|rpi"

namespace {

constexpr Form kConvertForms[] = {
    {mov, "pred|$bits|$int|f32|f64|b128", "d=T, a:T@"},
    {mov, "b16", "{d=b8_*2}, a:T"},
    {mov, "b16", "d=T, {a:b8*2}"},
    {mov, "b32", "{d=b16_*2}, a:T"},
    {mov, "b32", "d=T, {a:b16*2}"},
    {mov, "b32", "{d=b8_*4}, a:T"},
    {mov, "b32", "d=T, {a:b8*4}"},
    {mov, "b64", "{d=b32_*2}, a:T"},
    {mov, "b64", "d=T, {a:b32*2}"},
    {mov, "b64", "{d=b16_*4}, a:T"},
    {mov, "b64", "d=T, {a:b16*4}"},
    {mov, "b128", "{d=b64_*2}, a:T!", {8, 3}},
    {mov, "b128", "d=T, {a:b64*2}", {8, 3}},
    {mov, "b128", "{d=b32_*4}, a:T!", {8, 3}},
    {mov, "b128", "d=T, {a:b32*4}", {8, 3}},
    {cvta, "global|$all_shared|local|const|param|param::entry u64", "d=T, a:T@"},
    {cvta, "to <global|$all_shared|local|const|param|param::entry u64", "d=T, a:T@"},
    {isspacep, "global|$all_shared|local|const|param|param::entry", "p=pred, a:any"},
    {istypep, "texref|samplerref|surfref", "p=pred, a:b64!"},

    // Between integers, and between integers and floats.
    {cvt, "[sat] " INT8 " <" INT8, "d=T+, a:T1+%"},
    {cvt, TO_INT " [ftz] [sat] " INT8 " <f32", "d=T+, a:T1"},
    {cvt, TO_INT " [sat] " INT8 " <f16|f64", "d=T+, a:T1"},
    {cvt, TO_INT " " INT8 " <bf16", "d=T+, a:T1!", {7, 8}, kSm90},
    {cvt, "$round [sat] f16|f32|f64 <" INT8, "d=T+, a:T1+"},
    {cvt, "$round bf16 <" INT8, "d=T+, a:T1+", {7, 8}, kSm90},
    // Between f16, f32 and f64. From f16 to bf16 and back ptxas asks for no rounding, and means .rn (SASS of 13.0).
    {cvt, "[ftz] [sat] f32 <f16", "d=T, a:T1"},
    {cvt, "[ftz] [sat] f64 <f32", "d=T, a:T1"},
    {cvt, "[sat] f64 <f16", "d=T, a:T1"},
    {cvt, "[ftz] f32 <bf16", "d=T, a:T1!", {7, 1}},
    {cvt, "f64 <bf16", "d=T, a:T1!", {7, 8}, kSm90},
    {cvt, "$round [ftz] [sat] f32 <f64", "d=T, a:T1"},
    {cvt, "$round [sat] f16 <f64", "d=T+, a:T1"},
    {cvt, "$round [ftz] [sat] f16 <f32", "d=T+, a:T1"},
    {cvt, "rn|rz [satfinite] [relu] f16 <f32", "d=T+, a:T1", {8, 1}},
    {cvt, "$round [ftz] bf16 <f32", "d=T+, a:T1", {7, 0}},
    {cvt, "rn|rz [satfinite] [relu] bf16 <f32", "d=T+, a:T1", {7, 0}},
    {cvt, "$round bf16 <f64", "d=T, a:T1", {7, 8}, kSm90},
    {cvt, "[rni|rzi|rmi|rpi] [sat] f16 <f16", "d=T+, a:T1"},
    {cvt, "[$round] f16 <bf16", "d=T+, a:T1!", {7, 8}, kSm90},
    {cvt, "[$round] bf16 <f16", "d=T+, a:T1", {7, 8}, kSm90},
    {cvt, "[rni|rzi|rmi|rpi] bf16 <bf16", "d=T+, a:T1!", {7, 8}, kSm90},
    {cvt, "[rni|rzi|rmi|rpi] [ftz] [sat] f32 <f32", "d=T, a:T1"},
    {cvt, "[rni|rzi|rmi|rpi] [sat] f64 <f64", "d=T, a:T1"},
    // Packed pairs of f32.
    {cvt, "rn|rz [satfinite] [relu] f16x2|bf16x2 <f32", "d=b32, a:f32, b:f32", {7, 0}},
    {cvt, "rs [satfinite] [relu] f16x2|bf16x2 <f32", "d=b32, a:f32, b:f32, random:b32!", {8, 7}, kSm100aOr103a},
    // tf32
    {cvt, "rna [satfinite] tf32 <f32", "d=tf32, a:f32", {7, 0}},
    {cvt, "rn|rz [satfinite] [relu] tf32 <f32", "d=tf32, a:f32", {7, 8}, kSm90},
    // 8, 6 and 4 bits
    {cvt, "rn satfinite [relu] e4m3x2|e5m2x2 <f32", "d=T, a:f32, b:f32", {7, 8}},
    {cvt, "rn satfinite [relu] e4m3x2|e5m2x2 <f16x2", "d=T, a:T1!", {7, 8}},
    {cvt, "rn [relu] f16x2 <e4m3x2|e5m2x2", "d=T, a:T1!", {7, 8}},
    {cvt, "rn satfinite [relu] e2m3x2|e3m2x2|e2m1x2 <f32", "d=T, a:f32, b:f32", {8, 6}, kBlackwellSpecific},
    {cvt, "rn [relu] f16x2 <e2m3x2|e3m2x2|e2m1x2", "d=T, a:T1!", {8, 6}, kBlackwellSpecific},
    {cvt, "rn satfinite [relu] e2m3x2|e3m2x2|e2m1x2 <f16x2|bf16x2", "d=T, a:T1!", {9, 1}, kBlackwellSpecific},
    {cvt, "rn satfinite [relu] e4m3x2|e5m2x2 <bf16x2", "d=T, a:T1!", {9, 1}, kBlackwellSpecific},
    {cvt, "rn [relu] bf16x2 <e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2", "d=T, a:T1!", {9, 2}, kBlackwellSpecific},
    {cvt, "rz|rp [satfinite] ue8m0x2 <f32", "d=T, a:f32, b:f32", {8, 6}, kBlackwellSpecific},
    {cvt, "rz|rp [satfinite] ue8m0x2 <bf16x2", "d=T, a:T1!", {8, 6}, kBlackwellSpecific},
    {cvt, "rn bf16x2 <ue8m0x2", "d=T, a:T1!", {8, 6}, kBlackwellSpecific},
    {cvt, "rs satfinite [relu] e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4 <f32", "d=T, {a:f32*4}, random:b32!", {8, 7}, kSm100aOr103a},
    {cvt_pack, "sat u16|s16 <s32", "d=b32, a:s32, b:s32", {6, 5}},
    {cvt_pack, "sat u8|s8|u4|s4|u2|s2 <s32 <b32", "d=b32, a:s32, b:s32, c:b32", {6, 5}},
};
// clang-format on

}  // namespace

std::span<const Form> convert_forms() { return kConvertForms; }

}  // namespace tinygpu::ptx::forms
