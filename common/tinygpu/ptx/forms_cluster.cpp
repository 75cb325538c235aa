// Clusters, launch control and what warps say about themselves (PTX ISA 9.7.9.23, 9.7.13.4, 9.7.13.17, 9.7.19).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define MBAR "mbarrier::complete_tx::bytes"
#define REMOTE_RED(MODIFIERS)                                                                                                    \
  {red_async, "relaxed cluster shared::cluster " MBAR " " MODIFIERS, "[dst:shared], value:T, [mbarrier:shared]", {8, 1}, kSm90}, \
  {red_async, "relaxed cluster " MBAR " " MODIFIERS, "[dst:shared], value:T, [mbarrier:shared]", {8, 1}, kSm90},                 \
  {red_async, "release gpu|sys [global] " MODIFIERS, "[dst:global], value:T", {8, 7}, kSm100}

namespace {

constexpr Form kClusterForms[] = {
    {barrier_cluster_arrive, "[release|relaxed] [aligned]", "", {7, 8}, kSm90},
    {barrier_cluster_wait, "[acquire] [aligned]", "", {7, 8}, kSm90},
    {mapa, "[shared::cluster] u32", "d=T, address:T@, rank:u32", {7, 8}, kSm90},
    {mapa, "[shared::cluster] u64", "d=T, address:T@, rank:u32", {7, 8}, kSm90},
    {getctarank, "[shared::cluster] u32|u64", "rank=b32, address:T@", {7, 8}, kSm90},
    {st_async, "[weak|cluster] [shared::cluster] " MBAR " b32|b64|u32|u64|s32|s64|f32|f64", "[dst:shared], value:T, [mbarrier:shared]",
     {8, 1}, kSm90},
    {st_async, "[weak|cluster] [shared::cluster] " MBAR " vec=v2 b32|b64|u32|u64|s32|s64|f32|f64",
     "[dst:shared], {value:T*vec}, [mbarrier:shared]", {8, 1}, kSm90},
    {st_async, "[weak|cluster] [shared::cluster] " MBAR " vec=v4 b32|u32|s32|f32", "[dst:shared], {value:T*vec}, [mbarrier:shared]",
     {8, 1}, kSm90},
    {st_async, "[weak|cluster] [shared::cluster] " MBAR " b128", "[dst:shared], value:T, [mbarrier:shared]", {9, 2}, kSm90},
    {st_async, "release gpu|sys [global] b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[dst:global], value:T+", {8, 7}, kSm100},
    REMOTE_RED("inc|dec u32"),
    REMOTE_RED("min|max u32|s32"),
    REMOTE_RED("and|or|xor b32"),
    REMOTE_RED("add u32|s32|u64"),
    REMOTE_RED("add s64"),
    {st_bulk, "[weak] [shared::cta]", "[dst:by], size:b64(0..16777216/8), zero:imm(0)", {8, 6}, kSm100},
    {griddepcontrol, "wait|launch_dependents", "", {7, 8}, kSm90},
    {setmaxnreg, "inc|dec sync aligned u32", "registers:imm(24..256/8)", {8, 0}, kHopperOrBlackwellSpecific},
    {elect_sync, "", "leader=b32_|chosen=pred, members:u32", {8, 0}, kSm90},
    {clusterlaunchcontrol_try_cancel, "async [shared::cta] " MBAR " b128", "[response:by], [mbarrier:by]", {8, 6}, kSm100},
    {clusterlaunchcontrol_try_cancel, "async [shared::cta] " MBAR " multicast::cluster::all b128", "[response:by], [mbarrier:by]",
     {8, 6}, kBlackwellSpecific},
    {clusterlaunchcontrol_query_cancel, "is_canceled pred b128", "canceled=pred, response:b128", {8, 6}, kSm100},
    {clusterlaunchcontrol_query_cancel, "get_first_ctaid v4 b32 b128", "{ctaid=b32_*4}, response:b128", {8, 6}, kSm100},
    {clusterlaunchcontrol_query_cancel, "get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z b32 b128", "ctaid=b32, response:b128",
     {8, 6}, kSm100},
};
// clang-format on

}  // namespace

std::span<const Form> cluster_forms() { return kClusterForms; }

}  // namespace tinygpu::ptx::forms
