// A function's frame in the local memory of a thread: what lies where, from the frame's begin.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/program/function.h"

namespace tinygpu {

struct LocalLayout {
  std::vector<ParamInfo> params, returns;             // of a function; a kernel has its parameters in its bank
  std::unordered_map<std::string, uint32_t> offsets;  // by name: of these, and of variables
  uint64_t bytes = 0;                                 // of all
  uint64_t variables = 0;                             // of those that .local declares
};

/// Parameters first, then results, then variables in order of declaration. Throws LinkError if there is more than a
/// thread may have.
LocalLayout lay_out_local(const Function& f);

}  // namespace tinygpu
