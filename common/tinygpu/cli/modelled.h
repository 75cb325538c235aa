// Whether the machine has an executor for what a module's kernel holds.
#pragma once
#include "common/tinygpu/ptx/module.h"

namespace tinygpu::cli {

/// True if every instruction of the module's kernel `k` decodes to an executor. The module has no initialised
/// variables.
bool executes(ptx::Module module);

}  // namespace tinygpu::cli
