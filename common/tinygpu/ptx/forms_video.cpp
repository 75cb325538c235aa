// Video instructions (PTX ISA 9.7.18): bytes, halves and words of registers, and lanes of two halves or four bytes.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define THREE "u32|s32 <u32|s32 <u32|s32"
#define COMPARE "eq|ne|lt|le|gt|ge"

// A second operation takes c whole; without one, c is what lies around the part of d that is written.
#define SCALAR_ROWS(OPCODE, MODIFIERS)                                  \
  {OPCODE, MODIFIERS " [sat]", "d=T, a:T1^1, b:T2^1"},                  \
  {OPCODE, MODIFIERS " [sat] add|min|max", "d=T, a:T1^1, b:T2^1, c:T"}, \
  {OPCODE, MODIFIERS " [sat]", "d=T^1, a:T1^1, b:T2^1, c:T"}
#define LANE_ROWS(OPCODE, LANES)                                                             \
  {OPCODE, THREE " [sat]", "d=T^" LANES ", a:T1!^" LANES ", b:T2!^" LANES ", c:T!", {3, 0}}, \
  {OPCODE, THREE " add", "d=T^" LANES ", a:T1!^" LANES ", b:T2!^" LANES ", c:T!", {3, 0}}
#define LANE_FAMILY(LANES)                                                                                                   \
  LANE_ROWS(vadd##LANES, #LANES),                                                                                            \
  LANE_ROWS(vsub##LANES, #LANES),                                                                                            \
  LANE_ROWS(vavrg##LANES, #LANES),                                                                                           \
  LANE_ROWS(vabsdiff##LANES, #LANES),                                                                                        \
  LANE_ROWS(vmin##LANES, #LANES),                                                                                            \
  LANE_ROWS(vmax##LANES, #LANES),                                                                                            \
  {vset##LANES, "u32|s32 <u32|s32 " COMPARE " [add]", "d=u32^" #LANES ", a:T!^" #LANES ", b:T1!^" #LANES ", c:u32!", {3, 0}}

namespace {

constexpr Form kVideoForms[] = {
    SCALAR_ROWS(vadd, THREE),
    SCALAR_ROWS(vsub, THREE),
    SCALAR_ROWS(vabsdiff, THREE),
    SCALAR_ROWS(vmin, THREE),
    SCALAR_ROWS(vmax, THREE),
    SCALAR_ROWS(vshl, "u32|s32 <u32|s32 <u32 clamp|wrap"),
    SCALAR_ROWS(vshr, "u32|s32 <u32|s32 <u32 clamp|wrap"),
    // Either the product or c is subtracted; of a and b both may be negated, or one.
    {vmad, THREE " [sat] [shr7|shr15]", "d=T, a:T1^1-, b:T2^1-, c:T"},
    {vmad, THREE " [sat] [shr7|shr15]", "d=T, a:T1^1, b:T2^1, c:T--"},
    {vmad, THREE " [sat] [shr7|shr15]", "d=T, a:T1^1--, b:T2^1--, c:T--"},
    {vmad, THREE " po [sat] [shr7|shr15]", "d=T, a:T1^1, b:T2^1, c:T"},
    {vset, "u32|s32 <u32|s32 " COMPARE, "d=u32, a:T^1, b:T1^1"},
    {vset, "u32|s32 <u32|s32 " COMPARE " add|min|max", "d=u32, a:T^1, b:T1^1, c:u32"},
    {vset, "u32|s32 <u32|s32 " COMPARE, "d=u32^1, a:T^1, b:T1^1, c:u32"},
    LANE_FAMILY(2),
    LANE_FAMILY(4),
};
// clang-format on

}  // namespace

std::span<const Form> video_forms() { return kVideoForms; }

}  // namespace tinygpu::ptx::forms
