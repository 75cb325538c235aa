// multimem (PTX ISA 9.7.9.14): loads, stores and reductions of memory that several GPUs share.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define FP8_VECTOR "e4m3x2|e5m2x2"
#define FP8_WORD "e4m3x4|e5m2x4"
#define LOAD_ORDER "[weak] [global]"
#define STRONG_LOAD "relaxed|acquire $scope [global]"
#define STORE_ORDER "[weak] [global]"
#define STRONG_STORE "relaxed|release $scope [global]"
#define RED_ORDER "[global]"
#define LOADS(WHAT, D, SINCE, TARGETS)                                         \
  {multimem_ld_reduce, LOAD_ORDER " " WHAT, D ", [a:global]", SINCE, TARGETS}, \
  {multimem_ld_reduce, STRONG_LOAD " " WHAT, D ", [a:global]", SINCE, TARGETS}
#define STORES(WHAT, B, SINCE, TARGETS)                                  \
  {multimem_st, STORE_ORDER " " WHAT, "[a:global], " B, SINCE, TARGETS}, \
  {multimem_st, STRONG_STORE " " WHAT, "[a:global], " B, SINCE, TARGETS}
#define REDUCTIONS(WHAT, B, SINCE)                                      \
  {multimem_red, RED_ORDER " " WHAT, "[a:global], " B, SINCE, kSm90},   \
  {multimem_red, STRONG_STORE " " WHAT, "[a:global], " B, SINCE, kSm90}
#define BULK "[dst:global], [src:shared], size:u32(0..4294967295/16)"
#define V8_1 (Version{8, 1})
#define V8_6 (Version{8, 6})

namespace {

constexpr std::string_view kFp8 = "sm_100a sm_100f sm_101a sm_101f sm_103a sm_103f sm_110a sm_110f sm_120a sm_121a";

constexpr Form kMultimemForms[] = {
    LOADS("add|min|max u32|s32|u64", "d=T", V8_1, kSm90),
    LOADS("min|max s64", "d=T", V8_1, kSm90),
    LOADS("and|or|xor b32|b64", "d=T", V8_1, kSm90),
    LOADS("add f32|f64", "d=T", V8_1, kSm90),
    LOADS("add vec=v2|v4 f32", "{d=T*vec}", V8_1, kSm90),
    LOADS("add [acc::f32] f16x2|bf16x2", "d=T", V8_1, kSm90),
    LOADS("min|max f16x2|bf16x2", "d=T", V8_1, kSm90),
    LOADS("add [acc::f32] vec=v2|v4 f16x2|bf16x2", "{d=T*vec}", V8_1, kSm90),
    LOADS("min|max vec=v2|v4 f16x2|bf16x2", "{d=T*vec}", V8_1, kSm90),
    LOADS("add [acc::f32] vec=v2|v4|v8 f16|bf16", "{d=T*vec}", V8_1, kSm90),
    LOADS("min|max vec=v2|v4|v8 f16|bf16", "{d=T*vec}", V8_1, kSm90),
    LOADS("add [acc::f16] " FP8_WORD, "d=T", V8_6, kFp8),
    LOADS("min|max " FP8_WORD, "d=T", V8_6, kFp8),
    LOADS("add [acc::f16] vec=v2|v4 " FP8_WORD, "{d=T*vec}", V8_6, kFp8),
    LOADS("min|max vec=v2|v4 " FP8_WORD, "{d=T*vec}", V8_6, kFp8),
    LOADS("add [acc::f16] vec=v2|v4|v8 " FP8_VECTOR, "{d=T*vec}", V8_6, kFp8),
    LOADS("min|max vec=v2|v4|v8 " FP8_VECTOR, "{d=T*vec}", V8_6, kFp8),
    LOADS("add [acc::f16] vec=v4|v8 e4m3|e5m2", "{d=T*vec}", V8_6, kFp8),
    LOADS("min|max vec=v4|v8 e4m3|e5m2", "{d=T*vec}", V8_6, kFp8),
    STORES("b32|u32|s32|b64|u64|s64|f32|f64|f16x2|bf16x2", "b:T", V8_1, kSm90),
    STORES("vec=v2|v4 f32|f16x2|bf16x2", "{b:T*vec}", V8_1, kSm90),
    STORES("vec=v2|v4|v8 f16|bf16", "{b:T*vec}", V8_1, kSm90),
    STORES(FP8_WORD, "b:T", V8_6, kFp8),
    STORES("vec=v2|v4 " FP8_WORD, "{b:T*vec}", V8_6, kFp8),
    STORES("vec=v2|v4|v8 " FP8_VECTOR, "{b:T*vec}", V8_6, kFp8),
    STORES("vec=v4|v8 e4m3|e5m2", "{b:T*vec}", V8_6, kFp8),
    REDUCTIONS("add|min|max u32|s32|u64", "b:T", V8_1),
    REDUCTIONS("min|max s64", "b:T", V8_1),
    REDUCTIONS("and|or|xor b32|b64", "b:T", V8_1),
    REDUCTIONS("add f32|f64|f16x2|bf16x2", "b:T", V8_1),
    REDUCTIONS("add vec=v2|v4 f32", "{b:T*vec}", V8_1),
    REDUCTIONS("add|min|max vec=v2|v4 f16x2|bf16x2", "{b:T*vec}", V8_1),
    REDUCTIONS("add|min|max vec=v2|v4|v8 f16|bf16", "{b:T*vec}", V8_1),
    {multimem_cp_async_bulk, "bulk_group global <shared::cta", BULK, {9, 1}, kSm90},
    {multimem_cp_async_bulk, "bulk_group global <shared::cta cp_mask", BULK ", byte_mask:b16", {9, 1}, kSm100},
    {multimem_cp_reduce_async_bulk, "bulk_group global <shared::cta and|or|xor b32|b64", BULK, {9, 1}, kSm90},
    {multimem_cp_reduce_async_bulk, "bulk_group global <shared::cta add u32|s32|u64|f32|f64", BULK, {9, 1}, kSm90},
    {multimem_cp_reduce_async_bulk, "bulk_group global <shared::cta add noftz f16|bf16", BULK, {9, 1}, kSm90},
    {multimem_cp_reduce_async_bulk, "bulk_group global <shared::cta inc|dec u32", BULK, {9, 1}, kSm90},
    {multimem_cp_reduce_async_bulk, "bulk_group global <shared::cta min|max f16|bf16|u32|s32|u64|s64", BULK, {9, 1}, kSm90},
};
// clang-format on

}  // namespace

std::span<const Form> multimem_forms() { return kMultimemForms; }

}  // namespace tinygpu::ptx::forms
