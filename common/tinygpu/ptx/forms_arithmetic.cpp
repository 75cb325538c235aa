// Arithmetic, logic, comparison (PTX ISA 9.7.1 - 9.7.8).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define BINARY "d=T, a:T, b:T"
#define TERNARY "d=T, a:T, b:T, c:T"
#define BINARY_WORDS "d=b32, a:b32, b:b32"
#define ROUND "[$round]"
#define INT_COMPARE "eq|ne|lt|le|gt|ge"
#define UNSIGNED_COMPARE "lo|ls|hi|hs"
#define FLOAT_COMPARE "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"
#define SIGNED_OR_NOT "u16|u32|u64|s16|s32|s64"

#define ADD_ROWS(OPCODE)                                                   \
  {OPCODE, SIGNED_OR_NOT, BINARY},                                         \
  {OPCODE, "sat s32", BINARY},                                             \
  {OPCODE, "cc u32|s32|u64|s64", BINARY},                                  \
  {OPCODE, ROUND " [ftz] [sat] f32", BINARY},                              \
  {OPCODE, ROUND " f64", BINARY},                                          \
  {OPCODE, ROUND " [ftz] f32x2", BINARY, {8, 6}, kSm100},                  \
  {OPCODE, "[rn] [ftz] [sat] f16|f16x2", BINARY, {4, 2}},                  \
  {OPCODE, "[rn] bf16|bf16x2", BINARY, {7, 8}, kSm90},                     \
  {OPCODE, ROUND " [sat] f32 <f16|bf16", "d=T, a:T1, c:T", {8, 6}, kSm100}

#define SETP_ROWS(COMPARE, TYPES)                                            \
  {setp, COMPARE " " TYPES, "p=pred_|?q=pred_, a:T, b:T"},                   \
  {setp, COMPARE " and|or|xor " TYPES, "p=pred_|?q=pred_, a:T, b:T, c:pred"}

#define SET_ROWS(COMPARE, TYPES)                                              \
  {set, COMPARE " u32|s32|f32 <" TYPES, "d=T, a:T1, b:T1"},                   \
  {set, COMPARE " and|or|xor u32|s32|f32 <" TYPES, "d=T, a:T1, b:T1, c:pred"}

namespace {

constexpr std::string_view kByteArithmetic = "sm_107a sm_107f sm_120a sm_120f sm_121a sm_121f";

constexpr Form kArithmeticForms[] = {
    ADD_ROWS(add),
    {add, "u16x2|s16x2", BINARY, {8, 0}, kSm90},
    ADD_ROWS(sub),
    // Bytes: known by name; no chip that is modelled has them.
    {add, "[sat] u8x4|s8x4", BINARY_WORDS, {9, 2}, kByteArithmetic},
    {sub, "[sat] u8x4|s8x4", BINARY_WORDS, {9, 2}, kByteArithmetic},
    {min, "u8x4|s8x4", BINARY_WORDS, {9, 2}, kByteArithmetic},
    {max, "u8x4|s8x4", BINARY_WORDS, {9, 2}, kByteArithmetic},
    {neg, "s8x4", "d=b32, a:b32", {9, 2}, kByteArithmetic},
    {add, "sat u16x2|s16x2|u32", BINARY, {9, 2}, kByteArithmetic},
    {addc, "[cc] u32|s32|u64|s64", BINARY},
    {subc, "[cc] u32|s32|u64|s64", BINARY},
    {mul, "hi|lo <" SIGNED_OR_NOT, BINARY},
    {mul, "wide <u16|u32|s16|s32", "d=W, a:T, b:T"},
    {mul, ROUND " [ftz] [sat] f32", BINARY},
    {mul, ROUND " f64", BINARY},
    {mul, ROUND " [ftz] f32x2", BINARY, {8, 6}, kSm100},
    {mul, "[rn] [ftz] [sat] f16|f16x2", BINARY, {4, 2}},
    {mul, "[rn] bf16|bf16x2", BINARY, {7, 8}, kSm90},
    {mul24, "hi|lo <u32|s32", BINARY},
    {mad, "hi|lo <" SIGNED_OR_NOT, TERNARY},
    {mad, "hi sat s32", TERNARY},
    {mad, "hi|lo <cc <u32|s32|u64|s64", TERNARY},
    {mad, "wide <u16|u32|s16|s32", "d=W, a:T, b:T, c:W"},
    {mad, "$round [ftz] [sat] f32", TERNARY},
    {mad, "$round f64", TERNARY},
    {mad24, "hi|lo <u32|s32", TERNARY},
    {mad24, "hi sat s32", TERNARY},
    {madc, "hi|lo [cc] u32|s32|u64|s64", TERNARY},
    {fma, "$round [ftz] [sat] f32", TERNARY},
    {fma, "$round f64", TERNARY},
    {fma, "$round [ftz] f32x2", TERNARY, {8, 6}, kSm100},
    {fma, "rn [ftz] [sat] f16|f16x2", TERNARY, {4, 2}},
    {fma, "rn [ftz] relu f16|f16x2", TERNARY, {7, 0}},
    {fma, "rn [relu] bf16|bf16x2", TERNARY, {7, 0}},
    {fma, "rn oob [relu] f16|f16x2|bf16|bf16x2", TERNARY, {8, 1}, kSm90},
    {fma, "$round [sat] f32 <f16|bf16", "d=T, a:T1, b:T1, c:T", {8, 6}, kSm100},
    {sad, SIGNED_OR_NOT, TERNARY},
    {div, SIGNED_OR_NOT, BINARY},
    {div, "$round|approx|full [ftz] f32", BINARY},
    {div, "$round f64", BINARY},
    {rem, SIGNED_OR_NOT, BINARY},
    {abs, "s16|s32|s64|f64", "d=T, a:T"},
    {abs, "[ftz] f32|f16|f16x2", "d=T, a:T"},
    {abs, "bf16|bf16x2", "d=T, a:T", {7, 0}},
    {neg, "s16|s32|s64|f64", "d=T, a:T"},
    {neg, "[ftz] f32|f16|f16x2", "d=T, a:T"},
    {neg, "bf16|bf16x2", "d=T, a:T", {7, 0}},

#define MIN_ROWS(OPCODE)                                             \
  {OPCODE, SIGNED_OR_NOT "|f64", BINARY},                            \
  {OPCODE, "u16x2|s16x2", BINARY, {8, 0}, kSm90},                    \
  {OPCODE, "relu s16x2|s32", BINARY, {8, 0}, kSm90},                 \
  {OPCODE, "[ftz] [NaN] f32|f16|f16x2", BINARY},                     \
  {OPCODE, "[ftz] [NaN] xorsign abs f32|f16|f16x2", BINARY, {7, 2}}, \
  {OPCODE, "[ftz] [NaN] [abs] f32", TERNARY, {8, 8}, kSm100},        \
  {OPCODE, "[NaN] bf16|bf16x2", BINARY, {7, 0}},                     \
  {OPCODE, "[NaN] xorsign abs bf16|bf16x2", BINARY, {7, 2}}
    MIN_ROWS(min),
    MIN_ROWS(max),

    {rcp, "$round|approx [ftz] f32", "d=T, a:T"},
    {rcp, "$round f64", "d=T, a:T"},
    {rcp, "approx ftz f64", "d=T, a:T"},
    {sqrt, "$round|approx [ftz] f32", "d=T, a:T"},
    {sqrt, "$round f64", "d=T, a:T"},
    {rsqrt, "approx [ftz] f32|f64", "d=T, a:T"},
    {sin, "approx [ftz] f32", "d=T, a:T"},
    {cos, "approx [ftz] f32", "d=T, a:T"},
    {lg2, "approx [ftz] f32", "d=T, a:T"},
    {ex2, "approx [ftz] f32", "d=T, a:T"},
    {ex2, "approx f16|f16x2", "d=T, a:T", {7, 0}},
    {ex2, "approx ftz bf16|bf16x2", "d=T, a:T", {7, 8}, kSm90},
    {tanh, "approx f32|f16|f16x2", "d=T, a:T", {7, 0}},
    {tanh, "approx bf16|bf16x2", "d=T, a:T", {7, 8}, kSm90},
    {copysign, "f32|f64", BINARY},
    {testp, "finite|infinite|number|notanumber|normal|subnormal f32|f64", "p=pred, a:T"},

    {and_, "pred|$bits", BINARY},
    {or_, "pred|$bits", BINARY},
    {xor_, "pred|$bits", BINARY},
    {not_, "pred|$bits", "d=T, a:T"},
    {cnot, "$bits", "d=T, a:T"},
    {shl, "$bits", "d=T, a:T, n:b32"},
    {shr, "$bits|$int", "d=T, a:T, n:b32"},
    {shf, "l|r clamp|wrap b32", "d=b32, a:b32, b:b32, n:b32"},
    {lop3, "b32", "d=b32, a:b32, b:b32, c:b32, table:imm"},
    {lop3, "and|or b32", "d=b32_|p=pred, a:b32, b:b32, c:b32, table:imm, q:pred", {8, 2}},
    {bfe, "u32|u64|s32|s64", "d=T, a:T, position:b32, length:b32"},
    {bfi, "b32|b64", "d=T, a:T, b:T, position:b32, length:b32"},
    {bfind, "[shiftamt] u32|u64|s32|s64", "d=b32, a:T"},
    {brev, "b32|b64", "d=T, a:T"},
    {clz, "b32|b64", "d=b32, a:T"},
    {popc, "b32|b64", "d=b32, a:T"},
    {bmsk, "clamp|wrap b32", "d=b32, a:b32, b:b32", {7, 6}},
    {szext, "clamp|wrap u32|s32", "d=T, a:T, n:b32", {7, 6}},
    {fns, "b32", "d=b32, mask:b32, base:b32, offset:b32", {6, 0}},
    {prmt, "b32 [f4e|b4e|rc8|ecl|ecr|rc16]", "d=b32, a:b32, b:b32, selector:b32"},
    {dp4a, "u32|s32 <u32|s32", "d=b32, a:b32, b:b32, c:b32"},
    {dp2a, "lo|hi u32|s32 <u32|s32", "d=b32, a:b32, b:b32, c:b32"},

    SETP_ROWS(INT_COMPARE, SIGNED_OR_NOT),
    SETP_ROWS(UNSIGNED_COMPARE, "u16|u32|u64"),
    SETP_ROWS("eq|ne", "$bits"),
    SETP_ROWS(FLOAT_COMPARE, "[ftz] f32"),
    SETP_ROWS(FLOAT_COMPARE, "f64"),
    {setp, FLOAT_COMPARE " [ftz] f16", "p=pred, a:T, b:T"},
    {setp, FLOAT_COMPARE " and|or|xor [ftz] f16", "p=pred, a:T, b:T, c:pred"},
    {setp, FLOAT_COMPARE " bf16", "p=pred, a:T!, b:T!", {7, 8}, kSm90},
    {setp, FLOAT_COMPARE " and|or|xor bf16", "p=pred, a:T!, b:T!, c:pred", {7, 8}, kSm90},
    {setp, FLOAT_COMPARE " [ftz] f16x2", "p=pred_|q=pred_, a:T, b:T"},
    {setp, FLOAT_COMPARE " and|or|xor [ftz] f16x2", "p=pred_|q=pred_, a:T, b:T, c:pred"},
    {setp, FLOAT_COMPARE " bf16x2", "p=pred_|q=pred_, a:T, b:T", {7, 8}, kSm90},
    {setp, FLOAT_COMPARE " and|or|xor bf16x2", "p=pred_|q=pred_, a:T, b:T, c:pred", {7, 8}, kSm90},
    SET_ROWS(INT_COMPARE, SIGNED_OR_NOT),
    SET_ROWS(UNSIGNED_COMPARE, "u16|u32|u64"),
    SET_ROWS("eq|ne", "$bits"),
    SET_ROWS(FLOAT_COMPARE " [ftz]", "f32"),
    SET_ROWS(FLOAT_COMPARE, "f64"),
    {set, FLOAT_COMPARE " [and|or|xor] [ftz] u16|s16|f16|u32|s32 <f16", "*"},
    {set, FLOAT_COMPARE " [and|or|xor] [ftz] f16x2|u32|s32 <f16x2", "*"},
    {set, FLOAT_COMPARE " [and|or|xor] u16|s16|bf16|u32|s32 <bf16", "*", {7, 8}, kSm90},
    {set, FLOAT_COMPARE " [and|or|xor] bf16x2|u32|s32 <bf16x2", "*", {7, 8}, kSm90},
    {selp, "$num", "d=T, a:T, b:T, p:pred"},
    {slct, "$num <s32", "d=T, a:T, b:T, c:s32"},
    {slct, "[ftz] $num <f32", "d=T, a:T, b:T, c:f32"},
};
// clang-format on

}  // namespace

std::span<const Form> arithmetic_forms() { return kArithmeticForms; }

}  // namespace tinygpu::ptx::forms
