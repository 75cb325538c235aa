#include "common/tinygpu/ptx/form_check.h"

namespace tinygpu::ptx::forms {

void Checker::begin(const Function&) {}

void Checker::check(const Function&, const Instruction&, const Spelling&, const Report&) {}

}  // namespace tinygpu::ptx::forms
