// Third step of the pipeline: virtual registers, constants and temporaries get their slots, ops their places.
#pragma once
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/lower.h"

namespace tinygpu {

struct Placement {
  std::vector<uint32_t> slot;      // by register
  std::vector<uint32_t> first_op;  // by place in the code, and of its end: an instruction's own op is its last
};

/// Fills the slots and ops of `f`; `code` keeps its touches. Throws LinkError if the function is too large.
Placement allocate(Function& f, LoweredFunction& code);

}  // namespace tinygpu
