// The names of a module, as linking has settled them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "common/tinygpu/ptx/module.h"

namespace tinygpu {

/// A variable of .global or .const space after loading.
struct LoadedVariable {
  const ptx::Variable* source = nullptr;
  uint64_t address = 0;  // device address
  uint64_t size = 0;
};

struct ModuleScope {
  std::shared_ptr<const ptx::Module> module;
  std::unordered_map<std::string, uint32_t> functions;        // defined or declared here → index in the program
  std::unordered_map<std::string, LoadedVariable> variables;  // .global and .const
  std::unordered_map<std::string, const ptx::Variable*> shared;
};

}  // namespace tinygpu
