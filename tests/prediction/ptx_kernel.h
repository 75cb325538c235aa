// Kernels that lie beside their arguments as PTX, loaded through the driver API.
#pragma once
#include <cuda.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/prediction/cases.h"

#define GEN5_DRIVER(function) reinterpret_cast<decltype(&function)>(gen5::harness::driver_function(#function))

namespace prediction {

/// The text of a file. `made_by`: what to do where it is missing.
inline std::string read(const std::string& path, const char* made_by) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + " cannot be read: " + made_by);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The kernel of a PTX text, which stays loaded.
inline CUfunction load(const std::string& ptx, const std::string& name, int shared) {
  GEN5_CUDA(cudaFree(nullptr));  // the runtime's context is the current one
  CUmodule module;
  CUfunction function;
  GEN5_CUDA(GEN5_DRIVER(cuModuleLoadData)(&module, ptx.c_str()));
  GEN5_CUDA(GEN5_DRIVER(cuModuleGetFunction)(&function, module, name.c_str()));
  if (shared > 48 * 1024)
    GEN5_CUDA(GEN5_DRIVER(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared));
  return function;
}

}  // namespace prediction
