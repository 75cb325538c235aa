// tcgen05 but for the MMAs (PTX ISA 9.7.16).
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define CTA "cta=cta_group::1|cta_group::2"
#define REDUCE "min|max"

namespace {

constexpr Form kTcgen05Forms[] = {
    {tcgen05_alloc, CTA " sync aligned [shared::cta] b32", "[result:by], columns:b32(32|64|128|256|512)", {8, 6}, kTcgen05},
    {tcgen05_dealloc, CTA " sync aligned b32", "address:b32, columns:b32(0..4294967295/32)", {8, 6}, kTcgen05},
    {tcgen05_relinquish_alloc_permit, CTA " sync aligned", "", {8, 6}, kTcgen05},

    {tcgen05_ld, "sync [aligned] 32x32b num=x1|x2|x4|x8|x16|x32|x64|x128 [pack::16b] b32", "{r=b32*num}, [address:tmem]", {8, 6},
     kTcgen05},
    {tcgen05_ld, "sync [aligned] 16x64b num=x1|x2|x4|x8|x16|x32|x64|x128 [pack::16b] b32", "{r=b32*num}, [address:tmem]", {8, 6},
     kTcgen05},
    {tcgen05_ld, "sync [aligned] 16x128b num=x1|x2|x4|x8|x16|x32|x64 [pack::16b] b32", "{r=b32*num*2}, [address:tmem]", {8, 6}, kTcgen05},
    {tcgen05_ld, "sync [aligned] 16x256b num=x1|x2|x4|x8|x16|x32 [pack::16b] b32", "{r=b32*num*4}, [address:tmem]", {8, 6}, kTcgen05},
    {tcgen05_ld, "sync [aligned] 16x32bx2 num=x1|x2|x4|x8|x16|x32|x64|x128 [pack::16b] b32",
     "{r=b32*num}, [address:tmem], split_offset:imm", {8, 6}, kTcgen05},
    {tcgen05_ld_red, "sync [aligned] 32x32b num=x2|x4|x8|x16|x32|x64|x128 " REDUCE " [abs] [NaN] f32",
     "{r=T*num}, reduced=T, [address:tmem]", {8, 6}, kLoadReduce},
    {tcgen05_ld_red, "sync [aligned] 16x32bx2 num=x2|x4|x8|x16|x32|x64|x128 " REDUCE " [abs] [NaN] f32",
     "{r=T*num}, reduced=T, [address:tmem], split_offset:imm", {8, 6}, kLoadReduce},
    {tcgen05_ld_red, "sync [aligned] 32x32b num=x2|x4|x8|x16|x32|x64|x128 " REDUCE " u32|s32", "{r=T*num}, reduced=T, [address:tmem]",
     {8, 6}, kLoadReduce},
    {tcgen05_ld_red, "sync [aligned] 16x32bx2 num=x2|x4|x8|x16|x32|x64|x128 " REDUCE " u32|s32",
     "{r=T*num}, reduced=T, [address:tmem], split_offset:imm", {8, 6}, kLoadReduce},

    {tcgen05_st, "sync [aligned] 32x32b num=x1|x2|x4|x8|x16|x32|x64|x128 [unpack::16b] b32", "[address:tmem], {r:b32~*num}", {8, 6},
     kTcgen05},
    {tcgen05_st, "sync [aligned] 16x64b num=x1|x2|x4|x8|x16|x32|x64|x128 [unpack::16b] b32", "[address:tmem], {r:b32~*num}", {8, 6},
     kTcgen05},
    {tcgen05_st, "sync [aligned] 16x128b num=x1|x2|x4|x8|x16|x32|x64 [unpack::16b] b32", "[address:tmem], {r:b32~*num*2}", {8, 6},
     kTcgen05},
    {tcgen05_st, "sync [aligned] 16x256b num=x1|x2|x4|x8|x16|x32 [unpack::16b] b32", "[address:tmem], {r:b32~*num*4}", {8, 6}, kTcgen05},
    {tcgen05_st, "sync [aligned] 16x32bx2 num=x1|x2|x4|x8|x16|x32|x64|x128 [unpack::16b] b32",
     "[address:tmem], split_offset:imm, {r:b32~*num}", {8, 6}, kTcgen05},
    {tcgen05_wait, "ld|st sync aligned", "", {8, 6}, kTcgen05},

    {tcgen05_cp, CTA " 128x256b|4x256b|128x128b [b8x16&b6x16_p32|b4x16_p64] [b6x16_p32|b4x16_p64&b8x16]",
     "[address:tmem], descriptor:b64", {8, 6}, kTcgen05},
    {tcgen05_cp, CTA " 64x128b warpx2::02_13|warpx2::01_23 [b8x16&b6x16_p32|b4x16_p64] [b6x16_p32|b4x16_p64&b8x16]",
     "[address:tmem], descriptor:b64", {8, 6}, kTcgen05},
    {tcgen05_cp, CTA " 32x128b warpx4 [b8x16&b6x16_p32|b4x16_p64] [b6x16_p32|b4x16_p64&b8x16]", "[address:tmem], descriptor:b64", {8, 6},
     kTcgen05},
    {tcgen05_shift, CTA " down", "[address:tmem]", {8, 6}, kTcgen05Specific},

    {tcgen05_commit, CTA " mbarrier::arrive::one [shared::cluster] [multicast::cluster] b64",
     "[mbarrier:shared], mask:b16!?multicast::cluster", {8, 6}, kTcgen05},
    {tcgen05_fence, "before_thread_sync|after_thread_sync", "", {8, 6}, kTcgen05},
};
// clang-format on

}  // namespace

std::span<const Form> tcgen05_forms() { return kTcgen05Forms; }

}  // namespace tinygpu::ptx::forms
