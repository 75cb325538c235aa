// Votes, shuffles, reductions within a warp (PTX ISA 9.7.9.6, 9.7.13.8 - 11).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
namespace {

/// Without .sync: gone with threads that run on their own (PTX 6.4).
constexpr std::string_view kBeforeVolta = "sm_30 sm_32 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62";

constexpr Form kWarpForms[] = {
    {shfl, "up|down|bfly|idx b32", "d=b32|?p=pred, a:b32, b:u32, c:u32", {3, 0}, kBeforeVolta},
    {vote, "all|any|uni pred", "d=pred, a:pred", {1, 2}, kBeforeVolta},
    {vote, "ballot b32", "d=b32, a:pred", {2, 0}, kBeforeVolta},
    {shfl_sync, "up|down|bfly|idx b32", "d=b32|?p=pred, a:b32, b:u32, c:u32, members:u32", {6, 0}},
    {vote_sync, "all|any|uni pred", "d=pred, a:pred, members:u32", {6, 0}},
    {vote_sync, "ballot b32", "d=b32, a:pred, members:u32", {6, 0}},
    {match_sync, "any b32|b64", "d=b32, a:T, members:u32", {6, 0}},
    {match_sync, "all b32|b64", "d=b32|?p=pred, a:T, members:u32", {6, 0}},
    {redux_sync, "add|min|max u32|s32", "d=T, a:T, members:u32", {7, 0}},
    {redux_sync, "and|or|xor b32", "d=T, a:T, members:u32", {7, 0}},
    {redux_sync, "min|max [abs] [NaN] f32", "d=T, a:T, members:u32", {8, 6}, kSm100Family},
    {activemask, "b32", "d=b32", {6, 2}},
};
// clang-format on

}  // namespace

std::span<const Form> warp_forms() { return kWarpForms; }

}  // namespace tinygpu::ptx::forms
