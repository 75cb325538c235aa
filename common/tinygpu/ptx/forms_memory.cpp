// Loads, stores, atomics, prefetches (PTX ISA 9.7.9, 9.7.13.12 - 14).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

#define TYPES "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
#define HINT "[L2::cache_hint]"
#define POLICY ", policy:b64?L2::cache_hint"
#define SPACES "[global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func]"
#define LOAD_ORDER "[weak|relaxed|acquire|volatile|mmio] [$scope] " SPACES
#define STORE_ORDER "[weak|relaxed|release|volatile|mmio] [$scope] " SPACES
#define CACHE "[$l1] [$l2] " HINT " [$l2pre]"
#define ATOM_ORDER "[relaxed|acquire|release|acq_rel] [$scope] [global|$all_shared]"
#define RED_ORDER "[relaxed|release] [$scope] [global|$all_shared]"

#define ATOM_ROWS(OPERATION)                                                 \
  {"atom", ATOM_ORDER " " OPERATION " " HINT, "d=T_, [a:by], b:T" POLICY}, { \
    "red", RED_ORDER " " OPERATION " " HINT, "[a:by], b:T" POLICY            \
  }
#define ATOM_VECTOR_ROWS(OPERATION, SINCE)                                                             \
  {"atom", ATOM_ORDER " " OPERATION " " HINT, "{d=T_*vec}, [a:by], {b:T*vec}" POLICY, SINCE, kSm90}, { \
    "red", RED_ORDER " " OPERATION " " HINT, "[a:by], {b:T*vec}" POLICY, SINCE, kSm90                  \
  }

namespace {

constexpr Form kForms[] = {
    {"ld", LOAD_ORDER " [ca|cg|cs|lu|cv] " CACHE " [unified] " TYPES, "d=T+, [a:by]" POLICY},
    {"ld", LOAD_ORDER " " CACHE " b128", "d=T, [a:by]" POLICY, {8, 3}},
    {"ld", LOAD_ORDER " [ca|cg|cs|lu|cv] " CACHE " vec=v2|v4 " TYPES, "{d=T+_*vec}, [a:by]" POLICY},
    {"ld", LOAD_ORDER " " CACHE " vec=v8 b32|u32|s32|f32", "{d=T+_*vec}, [a:by]" POLICY, {8, 8}, kSm100},
    {"ld", "[weak] global [ca|cg|cs] nc " CACHE " " TYPES "|b128", "d=T+, [a:by]" POLICY},
    {"ld", "[weak] global [ca|cg|cs] nc " CACHE " vec=v2|v4 " TYPES, "{d=T+_*vec}, [a:by]" POLICY},
    {"ld", "[weak] global nc " CACHE " vec=v8 b32|u32|s32|f32", "{d=T+_*vec}, [a:by]" POLICY, {8, 8}, kSm100},
    {"ldu", "[global] " TYPES "|b128", "d=T+, [a:by]"},
    {"ldu", "[global] vec=v2|v4 " TYPES, "{d=T+*vec}, [a:by]"},
    {"st", STORE_ORDER " [wb|cg|cs|wt] " CACHE " " TYPES, "[a:by], b:T+" POLICY},
    {"st", STORE_ORDER " " CACHE " b128", "[a:by], b:T" POLICY, {8, 3}},
    {"st", STORE_ORDER " [wb|cg|cs|wt] " CACHE " vec=v2|v4 " TYPES, "[a:by], {b:T+*vec}" POLICY},
    {"st", STORE_ORDER " " CACHE " vec=v8 b32|u32|s32|f32", "[a:by], {b:T+_*vec}" POLICY, {8, 8}, kSm100},

    ATOM_ROWS("and|or|xor b32|b64"),
    ATOM_ROWS("add u32|s32|u64|f32|f64"),
    ATOM_ROWS("add noftz f16|f16x2|bf16|bf16x2"),
    ATOM_ROWS("inc|dec u32"),
    ATOM_ROWS("min|max u32|s32|u64|s64"),
    {"atom", ATOM_ORDER " exch b32|b64|b128 " HINT, "d=T_, [a:by], b:T" POLICY},
    {"atom", ATOM_ORDER " cas b16|b32|b64|b128 " HINT, "d=T_, [a:by], b:T, c:T" POLICY},
    ATOM_VECTOR_ROWS("add vec=v2|v4 f32", (Version{8, 1})),
    ATOM_VECTOR_ROWS("add|min|max noftz vec=v2|v4|v8 f16|bf16", (Version{8, 1})),
    ATOM_VECTOR_ROWS("add|min|max noftz vec=v2|v4 f16x2|bf16x2", (Version{8, 1})),

    {"prefetch", "[global|local] L1|L2", "[a:by]"},
    {"prefetch", "global L2::evict_last|L2::evict_normal", "[a:by]", {7, 4}},
    {"prefetch", "[const|param] tensormap", "[map:by]", {8, 0}, kSm90},
    {"prefetchu", "L1", "[a:generic]"},
    {"applypriority", "[global] L2::evict_normal", "[a:by], size:imm(128)", {7, 4}},
    {"discard", "[global] L2", "[a:by], size:imm(128)", {7, 4}},
    {"createpolicy",
     "fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "[L2::evict_first|L2::evict_unchanged] b64",
     "policy=b64, fraction:f32?",
     {7, 4}},
    {"createpolicy",
     "range [global] L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "[L2::evict_first|L2::evict_unchanged] b64",
     "policy=b64, [a:by], primary_size:b32, total_size:b32",
     {7, 4}},
    {"createpolicy", "cvt L2 b64", "policy=b64, access_property:b64", {7, 4}},
};

}  // namespace

std::span<const Form> memory_forms() { return kForms; }

}  // namespace tinygpu::ptx::forms
