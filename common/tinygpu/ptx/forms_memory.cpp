#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

std::span<const Form> memory_forms() { return {}; }

}  // namespace tinygpu::ptx::forms
