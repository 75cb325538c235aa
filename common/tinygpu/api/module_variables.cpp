#include "common/tinygpu/api/module_variables.h"

#include "common/tinygpu/ptx/module.h"

namespace tinygpu::api {

std::vector<std::string> variables_of(const ModuleSource& source) {
  std::vector<std::string> names;
  for (const auto& m : source.ptx)
    for (const ptx::Variable& v : m->variables)
      if (v.space == ptx::Space::global || v.space == ptx::Space::constant) names.push_back(v.name);
  return names;
}

}  // namespace tinygpu::api
