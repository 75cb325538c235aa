// Asynchronous copies: cp.async, bulk copies, tensor copies and tensor maps (PTX ISA 9.7.9.25 - 9.7.9.28).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define MBAR "mbarrier::complete_tx::bytes"
#define HINT "[L2::cache_hint]"
#define POLICY ", policy:b64?L2::cache_hint"
#define DIMS "dim=1d|2d|3d|4d|5d "
#define SIZE "size:u32(0..4294967295/16)"
#define GROUP " [cta_group::1|cta_group::2]"
#define ONE_GROUP " cta_group::1|cta_group::2"

// Tensor loads: MODE with the operands it adds, for both destinations, with and without .cta_group.
#define TENSOR_LOAD(DIM, MODE, COORDINATES, OFFSETS, SINCE, CTA_TARGETS, CLUSTER_TARGETS)                                          \
  {cp_async_bulk_tensor, DIM " shared::cta <global " MODE " " MBAR " " HINT,                                                       \
   "[dst:shared], [map:global, " COORDINATES "], [mbarrier:shared]" OFFSETS POLICY, (Version{8, 6}), CTA_TARGETS},                 \
  {cp_async_bulk_tensor, DIM " shared::cluster <global " MODE " " MBAR " [multicast::cluster] " HINT,                              \
   "[dst:shared], [map:global, " COORDINATES "], [mbarrier:shared]" OFFSETS ", mask:b16?multicast::cluster" POLICY, SINCE,         \
   CLUSTER_TARGETS},                                                                                                               \
  {cp_async_bulk_tensor, DIM " shared::cta <global " MODE " " MBAR " " HINT ONE_GROUP,                                             \
   "[dst:shared], [map:global, " COORDINATES "], [mbarrier:shared]" OFFSETS POLICY, Version{8, 6}, kTcgen05},                      \
  {cp_async_bulk_tensor, DIM " shared::cluster <global " MODE " " MBAR " [multicast::cluster] " HINT ONE_GROUP,                    \
   "[dst:shared], [map:global, " COORDINATES "], [mbarrier:shared]" OFFSETS ", mask:b16?multicast::cluster" POLICY, Version{8, 6}, \
   kTcgen05}

#define TENSOR_PREFETCH(DIM, MODE, COORDINATES, OFFSETS, SINCE, TARGETS)                                                           \
  {cp_async_bulk_prefetch_tensor, DIM " L2 global " MODE " " HINT, "[map:global, " COORDINATES "]" OFFSETS POLICY, SINCE, TARGETS}

#define TENSOR_STORE(OPCODE, OPERATION)                                                                                                   \
  {OPCODE, DIMS "global <shared::cta " OPERATION "[tile] bulk_group " HINT, "[map:global, {c:b32*dim}], [src:shared]" POLICY, {8, 0},     \
   kSm90},                                                                                                                                \
  {OPCODE, "dim=3d|4d|5d global <shared::cta " OPERATION "im2col_no_offs bulk_group " HINT,                                               \
   "[map:global, {c:b32*dim}], [src:shared]" POLICY, {8, 0}, kSm90},                                                                      \
  {OPCODE, "2d global <shared::cta " OPERATION "tile::scatter4 bulk_group " HINT, "[map:global, {c:b32*5}], [src:shared]" POLICY, {8, 6}, \
   kTcgen05}

#define REDUCE_TO_SHARED(MODIFIERS)                                                                                                     \
  {cp_reduce_async_bulk, "shared::cluster <shared::cta " MBAR " " MODIFIERS, "[dst:shared], [src:shared], " SIZE ", [mbarrier:shared]", \
   {8, 0}, kSm90}
#define REDUCE_TO_GLOBAL(MODIFIERS)                                                                                                       \
  {cp_reduce_async_bulk, "global <shared::cta bulk_group " HINT " " MODIFIERS, "[dst:global], [src:shared], " SIZE POLICY, {8, 0}, kSm90}

#define MAP_FIELD(FIELD, TYPE, OPERANDS)                                                                                            \
  {tensormap_replace, "tile " FIELD " [global|shared::cta] b1024 " TYPE, "[map:by], " OPERANDS, {8, 3}, kHopperOrBlackwellSpecific}

namespace {

constexpr Form kCopyForms[] = {
    {cp_async, "ca $shared <global " HINT " [$l2pre]", "[dst:shared], [src:global], bytes:imm(4|8|16), src_size:u32?" POLICY, {7, 0}},
    {cp_async, "ca $shared <global " HINT " [$l2pre]", "[dst:shared], [src:global], bytes:imm(4|8|16), ignore_src:pred" POLICY, {8, 3}},
    {cp_async, "cg $shared <global " HINT " [$l2pre]", "[dst:shared], [src:global], bytes:imm(16), src_size:u32?" POLICY, {7, 0}},
    {cp_async, "cg $shared <global " HINT " [$l2pre]", "[dst:shared], [src:global], bytes:imm(16), ignore_src:pred" POLICY, {8, 3}},
    {cp_async_commit_group, "", "", {7, 0}},
    {cp_async_wait_group, "", "n:imm", {7, 0}},
    {cp_async_wait_all, "", "", {7, 0}},

    {cp_async_bulk, "shared::cta <global " MBAR " " HINT, "[dst:shared], [src:global], " SIZE ", [mbarrier:shared]" POLICY, {8, 6},
     kSm90},
    {cp_async_bulk, "shared::cta <global " MBAR " " HINT " ignore_oob",
     "[dst:shared], [src:global], " SIZE ", ignore_left:u32(0..15), ignore_right:u32(0..15), [mbarrier:shared]" POLICY, {9, 2}, kSm90},
    {cp_async_bulk, "shared::cluster <global " MBAR " [multicast::cluster] " HINT,
     "[dst:shared], [src:global], " SIZE ", [mbarrier:shared], mask:b16?multicast::cluster" POLICY, {8, 0}, kSm90},
    {cp_async_bulk, "shared::cluster <shared::cta " MBAR, "[dst:shared], [src:shared], " SIZE ", [mbarrier:shared]", {8, 0}, kSm90},
    {cp_async_bulk, "global <shared::cta bulk_group " HINT, "[dst:global], [src:shared], " SIZE POLICY, {8, 0}, kSm90},
    {cp_async_bulk, "global <shared::cta bulk_group cp_mask " HINT, "[dst:global], [src:shared], " SIZE POLICY ", byte_mask:b16", {8, 6},
     kSm100},
    {cp_async_bulk_prefetch, "L2 global " HINT, "[src:global], " SIZE POLICY, {8, 0}, kSm90},
    {cp_async_bulk_commit_group, "", "", {8, 0}, kSm90},
    {cp_async_bulk_wait_group, "[read]", "n:imm", {8, 0}, kSm90},

    REDUCE_TO_SHARED("and|or|xor b32"),
    REDUCE_TO_SHARED("add u32|s32|u64"),
    REDUCE_TO_SHARED("inc|dec u32"),
    REDUCE_TO_SHARED("min|max u32|s32"),
    REDUCE_TO_GLOBAL("and|or|xor b32|b64"),
    REDUCE_TO_GLOBAL("add u32|s32|u64|f32|f64"),
    REDUCE_TO_GLOBAL("add noftz f16|bf16"),
    REDUCE_TO_GLOBAL("inc|dec u32"),
    REDUCE_TO_GLOBAL("min|max f16|bf16|u32|s32|u64|s64"),

    TENSOR_LOAD(DIMS, "[tile]", "{c:b32*dim}", "", (Version{8, 0}), kSm90, kSm90),
    TENSOR_LOAD("2d", "tile::gather4", "{c:b32*5}", "", (Version{8, 6}), kSm100, kTcgen05),
    TENSOR_LOAD("dim=3d|4d|5d", "im2col", "{c:b32*dim}", ", {offset:b16*dim-2}", (Version{8, 0}), kSm90, kSm90),
    TENSOR_LOAD("dim=3d|4d|5d", "im2col::w", "{c:b32*dim}", ", {offset:b16*2}", (Version{8, 6}), kSm100, kTcgen05),
    TENSOR_LOAD("dim=3d|4d|5d", "im2col::w::128", "{c:b32*dim}", ", {offset:b16*2}", (Version{8, 6}), kTcgen05, kTcgen05),
    TENSOR_STORE(cp_async_bulk_tensor, ""),
    TENSOR_PREFETCH(DIMS, "[tile]", "{c:b32*dim}", "", (Version{8, 0}), kSm90),
    TENSOR_PREFETCH("2d", "tile::gather4", "{c:b32*5}", "", (Version{8, 6}), kTcgen05),
    TENSOR_PREFETCH("dim=3d|4d|5d", "im2col", "{c:b32*dim}", ", {offset:b16*dim-2}", (Version{8, 0}), kSm90),
    TENSOR_PREFETCH("dim=3d|4d|5d", "im2col::w|im2col::w::128", "{c:b32*dim}", ", {offset:b16*2}", (Version{8, 6}), kTcgen05),
    TENSOR_STORE(cp_reduce_async_bulk_tensor, "add|min|max|inc|dec|and|or|xor "),

    MAP_FIELD("global_address", "b64", "value:b64"),
    MAP_FIELD("rank", "b32", "value:b32"),
    MAP_FIELD("box_dim|global_dim|element_stride", "b32", "dimension:imm(0..4), value:b32"),
    MAP_FIELD("global_stride", "b64", "dimension:imm(0..4), value:b64"),
    MAP_FIELD("elemtype", "b32", "value:imm(0..12)"),
    {tensormap_replace, "tile elemtype [global|shared::cta] b1024 b32", "[map:by], value:imm(0..15)", {8, 7}, kBlackwellSpecific},
    MAP_FIELD("interleave_layout", "b32", "value:imm(0..2)"),
    MAP_FIELD("swizzle_mode", "b32", "value:imm(0..3)"),
    {tensormap_replace, "tile swizzle_mode [global|shared::cta] b1024 b32", "[map:by], value:imm(4)", {8, 8}, kSm103a},
    {tensormap_replace, "tile swizzle_atomicity [global|shared::cta] b1024 b32", "[map:by], value:imm(0..3)", {8, 6}, kBlackwellSpecific},
    MAP_FIELD("fill_mode", "b32", "value:imm(0..1)"),
    {tensormap_cp_fenceproxy, "global <shared::cta tensormap::generic release $scope sync aligned",
     "[dst:global], [src:shared], size:imm(128)", {8, 3}, kSm90},
};
// clang-format on

}  // namespace

std::span<const Form> copy_forms() { return kCopyForms; }

}  // namespace tinygpu::ptx::forms
