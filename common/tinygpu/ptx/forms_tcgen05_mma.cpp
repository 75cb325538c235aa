// tcgen05.mma and its kin (PTX ISA 9.7.16.10). A comes from a shared-memory descriptor or from Tensor Memory; only the
// latter takes .ashift, and .ashift excludes filling and using the collector.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define CTA "cta=cta_group::1|cta_group::2 "
#define COLLECT " [collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard]"
#define SHIFTED " ashift [collector::a::lastuse|collector::a::discard]"
#define COLLECT_B                                                                                                \
  " [collector::b0::fill|collector::b0::use|collector::b0::lastuse|collector::b0::discard|collector::b1::fill|"  \
  "collector::b1::use|collector::b1::lastuse|collector::b1::discard|collector::b2::fill|collector::b2::use|"     \
  "collector::b2::lastuse|collector::b2::discard|collector::b3::fill|collector::b3::use|collector::b3::lastuse|" \
  "collector::b3::discard]"
// The mask of disabled output lanes: 128 lanes, or 256 of a CTA pair.
#define FROM_SMEM "[d:tmem], a:b64, b:b64, idesc:b32, {disable_output_lane:b32~*4*cta}?, enable_input_d:pred"
#define FROM_TMEM "[d:tmem], [a:tmem], b:b64, idesc:b32, {disable_output_lane:b32~*4*cta}?, enable_input_d:pred"
#define SCALED_SMEM "[d:tmem], a:b64, b:b64, idesc:b32, [scale_a:tmem], [scale_b:tmem], enable_input_d:pred"
#define SCALED_TMEM "[d:tmem], [a:tmem], b:b64, idesc:b32, [scale_a:tmem], [scale_b:tmem], enable_input_d:pred"
#define SP_FROM_SMEM "[d:tmem], a:b64, b:b64, [metadata:tmem], idesc:b32, {disable_output_lane:b32~*4*cta}?, enable_input_d:pred"
#define SP_FROM_TMEM "[d:tmem], [a:tmem], b:b64, [metadata:tmem], idesc:b32, {disable_output_lane:b32~*4*cta}?, enable_input_d:pred"
#define SP_SCALED_SMEM "[d:tmem], a:b64, b:b64, [metadata:tmem], idesc:b32, [scale_a:tmem], [scale_b:tmem], enable_input_d:pred"
#define SP_SCALED_TMEM "[d:tmem], [a:tmem], b:b64, [metadata:tmem], idesc:b32, [scale_a:tmem], [scale_b:tmem], enable_input_d:pred"
#define SCALE_D ", scale_input_d:imm(0..15)"
#define WS "a:b64, b:b64, idesc:b32, enable_input_d:pred, zero_column_mask:b64?"
#define WS_SP "a:b64, b:b64, [metadata:tmem], idesc:b32, enable_input_d:pred, zero_column_mask:b64?"

// One opcode's dense-operand rows, `S` and `T` being its operands from shared and from Tensor Memory.
#define KINDS(OPCODE, S, T)                                                       \
  {OPCODE, CTA "kind::f16|kind::tf32|kind::f8f6f4" COLLECT, S, {8, 6}, kTcgen05}, \
  {OPCODE, CTA "kind::f16|kind::tf32|kind::f8f6f4" COLLECT, T, {8, 6}, kTcgen05}, \
  {OPCODE, CTA "kind::f16|kind::tf32|kind::f8f6f4" SHIFTED, T, {8, 6}, kTcgen05}, \
  {OPCODE, CTA "kind::f16|kind::tf32" COLLECT, S SCALE_D, {8, 6}, kSm100Family},  \
  {OPCODE, CTA "kind::f16|kind::tf32" COLLECT, T SCALE_D, {8, 6}, kSm100Family},  \
  {OPCODE, CTA "kind::f16|kind::tf32" SHIFTED, T SCALE_D, {8, 6}, kSm100Family},  \
  {OPCODE, CTA "kind::i8" COLLECT, S, {8, 6}, kTcgen05Int8},                      \
  {OPCODE, CTA "kind::i8" COLLECT, T, {8, 6}, kTcgen05Int8},                      \
  {OPCODE, CTA "kind::i8" SHIFTED, T, {8, 6}, kTcgen05Int8}

// The assembler takes scale_d for kind::i8 too; of sparse ones only without a mask.
#define INT8_SCALE_D(OPCODE, S, T)                                   \
  {OPCODE, CTA "kind::i8" COLLECT, S SCALE_D, {8, 6}, kTcgen05Int8}, \
  {OPCODE, CTA "kind::i8" COLLECT, T SCALE_D, {8, 6}, kTcgen05Int8}, \
  {OPCODE, CTA "kind::i8" SHIFTED, T SCALE_D, {8, 6}, kTcgen05Int8}

// Without .scale_vec the block size is that of .block32, which is younger. Sparse fp4 has architecture-specific targets
// only.
#define SCALED_KINDS(OPCODE, S, T, FP4_TARGETS)                                                                \
  {OPCODE, CTA "kind::mxf8f6f4 block_scale" COLLECT, S, {8, 8}, kTcgen05},                                     \
  {OPCODE, CTA "kind::mxf8f6f4 block_scale" COLLECT, T, {8, 8}, kTcgen05},                                     \
  {OPCODE, CTA "kind::mxf8f6f4 block_scale scale_vec::1X" COLLECT, S, {8, 6}, kTcgen05Specific},               \
  {OPCODE, CTA "kind::mxf8f6f4 block_scale scale_vec::1X" COLLECT, T, {8, 6}, kTcgen05Specific},               \
  {OPCODE, CTA "kind::mxf8f6f4 block_scale block32" COLLECT, S, {8, 8}, kTcgen05},                             \
  {OPCODE, CTA "kind::mxf8f6f4 block_scale block32" COLLECT, T, {8, 8}, kTcgen05},                             \
  {OPCODE, CTA "kind::mxf4 block_scale" COLLECT, S, {8, 8}, FP4_TARGETS},                                      \
  {OPCODE, CTA "kind::mxf4 block_scale" COLLECT, T, {8, 8}, FP4_TARGETS},                                      \
  {OPCODE, CTA "kind::mxf4 block_scale scale_vec::2X" COLLECT, S, {8, 6}, kTcgen05Specific},                   \
  {OPCODE, CTA "kind::mxf4 block_scale scale_vec::2X" COLLECT, T, {8, 6}, kTcgen05Specific},                   \
  {OPCODE, CTA "kind::mxf4 block_scale block32" COLLECT, S, {8, 8}, FP4_TARGETS},                              \
  {OPCODE, CTA "kind::mxf4 block_scale block32" COLLECT, T, {8, 8}, FP4_TARGETS},                              \
  {OPCODE, CTA "kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X" COLLECT, S, {8, 7}, kTcgen05Specific}, \
  {OPCODE, CTA "kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X" COLLECT, T, {8, 7}, kTcgen05Specific}, \
  {OPCODE, CTA "kind::mxf4nvf4 block_scale block16|block32" COLLECT, S, {8, 8}, FP4_TARGETS},                  \
  {OPCODE, CTA "kind::mxf4nvf4 block_scale block16|block32" COLLECT, T, {8, 8}, FP4_TARGETS}

#define WS_KINDS(OPCODE, S, T)                                                               \
  {OPCODE, "cta_group::1 kind::f16|kind::tf32|kind::f8f6f4" COLLECT_B, S, {8, 6}, kTcgen05}, \
  {OPCODE, "cta_group::1 kind::f16|kind::tf32|kind::f8f6f4" COLLECT_B, T, {8, 6}, kTcgen05}, \
  {OPCODE, "cta_group::1 kind::i8" COLLECT_B, S, {8, 6}, kTcgen05Int8},                      \
  {OPCODE, "cta_group::1 kind::i8" COLLECT_B, T, {8, 6}, kTcgen05Int8}

namespace {

constexpr Form kTcgen05MmaForms[] = {
    KINDS(tcgen05_mma, FROM_SMEM, FROM_TMEM),
    INT8_SCALE_D(tcgen05_mma, FROM_SMEM, FROM_TMEM),
    SCALED_KINDS(tcgen05_mma, SCALED_SMEM, SCALED_TMEM, kTcgen05),
    KINDS(tcgen05_mma_sp, SP_FROM_SMEM, SP_FROM_TMEM),
    INT8_SCALE_D(tcgen05_mma_sp, "[d:tmem], a:b64, b:b64, [metadata:tmem], idesc:b32, enable_input_d:pred",
     "[d:tmem], [a:tmem], b:b64, [metadata:tmem], idesc:b32, enable_input_d:pred"),
    SCALED_KINDS(tcgen05_mma_sp, SP_SCALED_SMEM, SP_SCALED_TMEM, kTcgen05Specific),
    WS_KINDS(tcgen05_mma_ws, "[d:tmem], " WS, "[d:tmem], [a:tmem], b:b64, idesc:b32, enable_input_d:pred, zero_column_mask:b64?"),
    WS_KINDS(tcgen05_mma_ws_sp, "[d:tmem], " WS_SP,
     "[d:tmem], [a:tmem], b:b64, [metadata:tmem], idesc:b32, enable_input_d:pred, zero_column_mask:b64?"),
};
// clang-format on

}  // namespace

std::span<const Form> tcgen05_mma_forms() { return kTcgen05MmaForms; }

}  // namespace tinygpu::ptx::forms
