// Control flow, barriers and fences (PTX ISA 9.7.12, 9.7.13.1 - 9.7.13.6).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define BARRIER_ROWS(BASE, ALIGNED)                                                                          \
  {BASE##_sync, ALIGNED, "barrier:u32(0..15), threads:u32(0..4294967295/32)?"},                              \
  {BASE##_arrive, ALIGNED, "barrier:u32(0..15), threads:u32(0..4294967295/32)"},                             \
  {BASE##_red, ALIGNED " popc u32", "d=u32, barrier:u32(0..15), threads:u32(0..4294967295/32)?, p:pred"},    \
  {BASE##_red, ALIGNED " and|or pred", "d=pred, barrier:u32(0..15), threads:u32(0..4294967295/32)?, p:pred"}

namespace {

constexpr Form kControlForms[] = {
    {bra, "[uni]", "target:label"},
    {brx_idx, "[uni]", "index:u32, targets:label"},
    {call, "[uni]", "*"},
    {ret, "[uni]", ""},
    {exit, "", ""},
    {trap, "", ""},
    {brkpt, "", ""},
    {nanosleep, "u32", "t:u32", {6, 3}},
    {pmevent, "[mask]", "a:imm"},
    {alloca, "u32|u64",
     "pointer=T, size:T, " "align:imm(1|2|4|8|16|32|64|128|256|512|1024|2048|4096|8192|16384|32768|65536|131072|262144|524288|1048576|" "2097152|4194304|8388608)?",
     {7, 3}},
    {stacksave, "u32|u64", "pointer=T", {7, 3}},
    {stackrestore, "u32|u64", "pointer:T!", {7, 3}},

    BARRIER_ROWS(bar, ""),
    BARRIER_ROWS(bar_cta, ""),
    BARRIER_ROWS(barrier, "[aligned]"),
    BARRIER_ROWS(barrier_cta, "[aligned]"),
    {bar_warp_sync, "", "members:u32", {6, 0}},

    {membar, "cta|gl|sys", ""},
    {membar_proxy, "alias", "", {7, 5}},
    {fence, "[sc|acq_rel] $scope", "", {6, 0}},
    {fence, "acquire|release $scope", "", {8, 6}, kSm90},
    {fence, "acquire sync_restrict::shared::cluster cluster", "", {8, 6}, kSm90},
    {fence, "release sync_restrict::shared::cta cluster", "", {8, 6}, kSm90},
    {fence_mbarrier_init, "release cluster", "", {8, 0}, kSm90},
    {fence_proxy, "alias", "", {7, 5}},
    {fence_proxy, "async [global|shared::cta|shared::cluster]", "", {8, 0}, kSm90},
    {fence_proxy, "async::generic acquire sync_restrict::shared::cluster cluster", "", {8, 6}, kSm90},
    {fence_proxy, "async::generic release sync_restrict::shared::cta cluster", "", {8, 6}, kSm90},
    {fence_proxy, "tensormap::generic release $scope", "", {8, 3}, kSm90},
    {fence_proxy, "tensormap::generic acquire $scope", "[map:generic], size:imm(128)", {8, 3}, kSm90},
};
// clang-format on

}  // namespace

std::span<const Form> control_forms() { return kControlForms; }

}  // namespace tinygpu::ptx::forms
