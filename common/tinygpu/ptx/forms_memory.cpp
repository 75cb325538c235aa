// Loads, stores, atomics, prefetches (PTX ISA 9.7.9, 9.7.13.12 - 14).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define TYPES "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
#define HINT "[L2::cache_hint]"
#define POLICY ", policy:b64?L2::cache_hint"
#define OTHER_SPACE "$all_shared|local|const|param|param::entry|param::func"
#define SMALL "b8|b16|b32|u8|u16|u32|s8|s16|s32|f32"
#define LARGE "b64|u64|s64|f64"
#define CACHE "[$l1] " HINT " [$l2pre]"
#define CACHE_WIDE "[$l1] [$l2] " HINT " [$l2pre]"
#define CACHE_WIDE_STORE "[$l1] [$l2] " HINT

// Loads and stores of up to 128 bits.
#define LOADS(ORDER, HINTS)                                                \
  {ld, ORDER " " HINTS " " TYPES, "d=T+, [a:by]" POLICY},                  \
  {ld, ORDER " " HINTS " b128", "d=T, [a:by]" POLICY, {8, 3}},             \
  {ld, ORDER " " HINTS " vec=v2|v4 " SMALL, "{d=T+_*vec}, [a:by]" POLICY}, \
  {ld, ORDER " " HINTS " vec=v2 " LARGE, "{d=T+_*vec}, [a:by]" POLICY}
#define STORES(ORDER, HINTS)                                              \
  {st, ORDER " " HINTS " " TYPES, "[a:by], b:T+" POLICY},                 \
  {st, ORDER " " HINTS " b128", "[a:by], b:T!" POLICY, {8, 3}},           \
  {st, ORDER " " HINTS " vec=v2|v4 " SMALL, "[a:by], {b:T+*vec}" POLICY}, \
  {st, ORDER " " HINTS " vec=v2 " LARGE, "[a:by], {b:T+*vec}" POLICY}
// Thread-private memory has them since PTX 9.1.
#define VOLATILE_LOCAL                                                    \
  {ld, "volatile local " TYPES, "d=T+, [a:by]", {9, 1}},                  \
  {ld, "volatile local b128", "d=T, [a:by]", {9, 1}},                     \
  {ld, "volatile local vec=v2|v4 " SMALL, "{d=T+_*vec}, [a:by]", {9, 1}}, \
  {ld, "volatile local vec=v2 " LARGE, "{d=T+_*vec}, [a:by]", {9, 1}},    \
  {st, "volatile local " TYPES, "[a:by], b:T+", {9, 1}},                  \
  {st, "volatile local b128", "[a:by], b:T!", {9, 1}},                    \
  {st, "volatile local vec=v2|v4 " SMALL, "[a:by], {b:T+*vec}", {9, 1}},  \
  {st, "volatile local vec=v2 " LARGE, "[a:by], {b:T+*vec}", {9, 1}}
// 256 bits, global memory only.
#define WIDE_LOADS(ORDER)                                                                             \
  {ld, ORDER " " CACHE_WIDE " vec=v8 b32|u32|s32|f32", "{d=T+_*vec}, [a:by]" POLICY, {8, 8}, kSm100}, \
  {ld, ORDER " " CACHE_WIDE " vec=v4 " LARGE, "{d=T+_*vec}, [a:by]" POLICY, {8, 8}, kSm100}
#define WIDE_STORES(ORDER)                                                                                  \
  {st, ORDER " " CACHE_WIDE_STORE " vec=v8 b32|u32|s32|f32", "[a:by], {b:T+_*vec}" POLICY, {8, 8}, kSm100}, \
  {st, ORDER " " CACHE_WIDE_STORE " vec=v4 " LARGE, "[a:by], {b:T+_*vec}" POLICY, {8, 8}, kSm100}
#define ATOM_ORDER "[relaxed|acquire|release|acq_rel] [$scope] "
#define RED_ORDER "[relaxed|release] [$scope] "

#define ATOM_ROWS(OPERATION)                                                     \
  {atom, ATOM_ORDER "[global] " OPERATION " " HINT, "d=T_, [a:by], b:T" POLICY}, \
  {atom, ATOM_ORDER "$all_shared " OPERATION, "d=T_, [a:by], b:T"},              \
  {red, RED_ORDER "[global] " OPERATION " " HINT, "[a:by], b:T" POLICY},         \
  {red, RED_ORDER "$all_shared " OPERATION, "[a:by], b:T"}
#define ATOM_VECTOR_ROWS(OPERATION, SINCE)                                                                 \
  {atom, ATOM_ORDER "[global] " OPERATION " " HINT, "{d=T_*vec}, [a:by], {b:T*vec}" POLICY, SINCE, kSm90}, \
  {red, RED_ORDER "[global] " OPERATION " " HINT, "[a:by], {b:T*vec}" POLICY, SINCE, kSm90}

namespace {

constexpr Form kMemoryForms[] = {
    LOADS("[weak] [global]", "[ca|cg|cs|lu|cv|$l1] " HINT " [$l2pre]"),
    LOADS("[weak] " OTHER_SPACE, "[ca|cg|cs|lu|cv]"),
    LOADS("global nc", "[ca|cg|cs|$l1] " HINT " [$l2pre]"),
    LOADS("relaxed|acquire $scope [global]", CACHE),
    LOADS("relaxed|acquire $scope $all_shared", ""),
    LOADS("volatile [global|$all_shared]", ""),
    {ld, "mmio relaxed sys [global] " TYPES, "d=T+, [a:by]", {8, 2}},
    WIDE_LOADS("[weak] [global]"),
    WIDE_LOADS("global nc"),
    WIDE_LOADS("relaxed|acquire $scope [global]"),
    {ldu, "[global] " TYPES "|b128", "d=T+, [a:by]"},
    {ldu, "[global] vec=v2|v4 " SMALL, "{d=T+*vec}, [a:by]"},
    {ldu, "[global] vec=v2 " LARGE, "{d=T+*vec}, [a:by]"},
    STORES("[weak] [global]", "[wb|cg|cs|wt|$l1] " HINT),
    STORES("[weak] $all_shared|local|param|param::func", "[wb|cg|cs|wt]"),
    STORES("relaxed|release $scope [global]", "[$l1] " HINT),
    STORES("relaxed|release $scope $all_shared", ""),
    STORES("volatile [global|$all_shared]", ""),
    VOLATILE_LOCAL,
    {st, "mmio relaxed sys [global] " TYPES, "[a:by], b:T+", {8, 2}},
    WIDE_STORES("[weak] [global]"),
    WIDE_STORES("relaxed|release $scope [global]"),

    ATOM_ROWS("and|or|xor b32|b64"),
    ATOM_ROWS("add u32|s32|u64|f32|f64"),
    ATOM_ROWS("add noftz f16|f16x2|bf16|bf16x2"),
    ATOM_ROWS("inc|dec u32"),
    ATOM_ROWS("min|max u32|s32|u64|s64"),
    {atom, ATOM_ORDER "[global] exch b32|b64 " HINT, "d=T_, [a:by], b:T" POLICY},
    {atom, ATOM_ORDER "$all_shared exch b32|b64", "d=T_, [a:by], b:T"},
    {atom, ATOM_ORDER "[global|$all_shared] exch b128", "d=T_, [a:by], b:T!", {8, 3}, kSm90},
    {atom, ATOM_ORDER "[global|$all_shared] cas b16|b32|b64", "d=T_, [a:by], b:T, c:T"},
    {atom, ATOM_ORDER "[global|$all_shared] cas b128", "d=T_, [a:by], b:T!, c:T!", {8, 3}, kSm90},
    ATOM_VECTOR_ROWS("add vec=v2|v4 f32", (Version{8, 1})),
    ATOM_VECTOR_ROWS("add|min|max noftz vec=v2|v4|v8 f16|bf16", (Version{8, 1})),
    ATOM_VECTOR_ROWS("add|min|max noftz vec=v2|v4 f16x2|bf16x2", (Version{8, 1})),

    {prefetch, "[global|local] L1|L2", "[a:by]"},
    {prefetch, "global L2::evict_last|L2::evict_normal", "[a:by]", {7, 4}},
    {prefetch, "[const|param] tensormap", "[map:by]", {8, 0}, kSm90},
    {prefetchu, "L1", "[a:generic]"},
    {applypriority, "[global] L2::evict_normal", "[a:by], size:imm(128)", {7, 4}},
    {discard, "[global] L2", "[a:by], size:imm(128)", {7, 4}},
    {createpolicy,
     "fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged " "[L2::evict_first|L2::evict_unchanged] b64",
     "policy=b64, fraction:f32?", {7, 4}},
    {createpolicy,
     "range [global] L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged " "[L2::evict_first|L2::evict_unchanged] b64",
     "policy=b64, [a:by], primary_size:b32, total_size:b32", {7, 4}},
    {createpolicy, "cvt <L2 b64", "policy=b64, access_property:b64", {7, 4}},
};
// clang-format on

}  // namespace

std::span<const Form> memory_forms() { return kMemoryForms; }

}  // namespace tinygpu::ptx::forms
