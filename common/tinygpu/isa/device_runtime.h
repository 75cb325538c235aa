// Functions of the device runtime (libcudadevrt) that the machine provides: kernels launched by kernels, their streams,
// and the conditions of graphs.
#pragma once
#include <string_view>

#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// The executor of a call of `name`, or nullptr if it is none of these.
ExecFn device_runtime_function(std::string_view name);

}  // namespace tinygpu::isa
