// wgmma (PTX ISA 9.7.15): sm_90a only.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

// clang-format off: a table reads by its columns
namespace {

constexpr Form kForms[] = {
    {"wgmma.fence", "sync aligned", "", {8, 0}, kSm90a},
    {"wgmma.commit_group", "sync aligned", "", {8, 0}, kSm90a},
    {"wgmma.wait_group", "sync aligned", "n:imm(0..7)", {8, 0}, kSm90a},
};
// clang-format on

}  // namespace

std::span<const Form> wgmma_forms() { return kForms; }

}  // namespace tinygpu::ptx::forms
