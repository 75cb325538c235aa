// Warp-level matrices: ldmatrix, stmatrix, movmatrix, mma.sync (PTX ISA 9.7.14). Shapes of mma.sync beyond those of
// tensor-core kernels are left to the syntax.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

// clang-format off: a table reads by its columns
namespace {

constexpr Form kForms[] = {
    {"ldmatrix", "sync aligned m8n8 num=x1|x2|x4 [trans] [$shared] b16", "{r=b32*num}, [address:by]", {6, 5}},
    {"ldmatrix",
     "sync aligned m8n16 num=x1|x2|x4 [$shared] b8x16 b6x16_p32|b4x16_p64",
     "{r=b32*num}, [address:by]",
     {8, 6},
     kBlackwellSpecific},
    {"ldmatrix",
     "sync aligned m16n16 num=x1|x2 trans [$shared] b8",
     "{r=b32*num*2}, [address:by]",
     {8, 6},
     kBlackwellSpecific},
    {"ldmatrix",
     "sync aligned m16n16 num=x1|x2 trans [$shared] b8x16 b6x16_p32|b4x16_p64",
     "{r=b32*num*2}, [address:by]",
     {8, 6},
     kBlackwellSpecific},
    {"stmatrix", "sync aligned m8n8 num=x1|x2|x4 [trans] [$shared] b16", "[address:by], {r:b32*num}", {7, 8}, kSm90},
    {"stmatrix",
     "sync aligned m16n8 num=x1|x2|x4 trans [$shared] b8",
     "[address:by], {r:b32*num}",
     {8, 6},
     kBlackwellSpecific},
    {"movmatrix", "sync aligned m8n8 trans b16", "d=b32, a:b32!", {7, 8}},
};
// clang-format on

}  // namespace

std::span<const Form> matrix_forms() { return kForms; }

}  // namespace tinygpu::ptx::forms
