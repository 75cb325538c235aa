// What the library that makes a graph's conditions and the machine that executes kernels agree on.
#pragma once

namespace tinygpu {

/// The name of the allocation that is a condition: its address is the handle.
constexpr const char* kGraphCondition = "condition of a graph";

}  // namespace tinygpu
