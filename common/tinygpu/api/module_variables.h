// The variables that a module's PTX declares.
#pragma once
#include <string>
#include <vector>

#include "common/tinygpu/api/module.h"

namespace tinygpu::api {

/// Names of those in global and constant memory.
std::vector<std::string> variables_of(const ModuleSource& source);

}  // namespace tinygpu::api
